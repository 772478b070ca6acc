"""The ReAct loop, written by hand: ask the model, carry out its calls, tell it what came back, until it reports."""
