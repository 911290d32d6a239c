"""Check values against JSON Schemas in bounded time, and describe them in errors."""
