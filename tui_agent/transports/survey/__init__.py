"""The survey: a model without an LLM, which explores by rule and reports what it can compute."""
