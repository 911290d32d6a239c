"""The `odd` tools."""
