"""Checks of the setup: research tools, reviews, the isolation of programs, and the server's registration."""
