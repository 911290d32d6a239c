"""HTTP tools: requests to an HTTP API as typed tools, without handlers."""
