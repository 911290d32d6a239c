"""The specifications of programs, requests and other MCP servers, as generated code declares them."""
