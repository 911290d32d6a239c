"""`install`: add this server to the configuration file of an MCP client, and start it as that client does."""
