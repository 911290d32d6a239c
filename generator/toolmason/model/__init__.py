"""The resolved model of a server."""
