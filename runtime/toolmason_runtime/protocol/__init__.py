"""MCP requests to results, independent of the transport."""
