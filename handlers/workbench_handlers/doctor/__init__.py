"""Checks of what research tools need: the program, its account, the model, and the server's registration."""
