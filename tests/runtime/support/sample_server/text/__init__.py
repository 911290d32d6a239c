"""The `text` tools."""
