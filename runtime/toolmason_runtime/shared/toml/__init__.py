"""Read TOML files into dataclasses and report every error with its line and column. Imports nothing heavy."""
