"""Tools of other MCP servers, served as tools of this one."""
