"""SQL tools: statements with bound parameters as typed tools, without handlers."""
