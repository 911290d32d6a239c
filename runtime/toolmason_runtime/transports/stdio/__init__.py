"""Serve MCP over standard input and output: with the standard library alone (`lean`), or with the SDK (`sdk`)."""
