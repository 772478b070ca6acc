"""What the model may do: schemas, validation, dispatch, the tools themselves. All of it only reads."""
