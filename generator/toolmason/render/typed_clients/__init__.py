"""Typed clients of MCP servers in Python and TypeScript: the facts that their templates print."""
