"""The messages of MCP as JSON: requests, answers, results and content."""
