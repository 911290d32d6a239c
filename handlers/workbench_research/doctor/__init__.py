"""Checks of what research tools need: the program, its account and the model."""
