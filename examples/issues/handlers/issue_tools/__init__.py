"""Handlers of the server `issues`."""
