"""Comparison of reviewed editing with fs-mcp: turns, tokens and lost bytes."""
