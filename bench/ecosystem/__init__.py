"""`toolmason schema check` over published MCP servers: the tables of docs/ecosystem.md."""
