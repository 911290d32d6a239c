"""The resolved model: what a manifest means."""
