"""Manifest: TOML text to checked tables with positions."""
