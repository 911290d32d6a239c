"""Generate MCP servers from one manifest: `load -> validate -> resolve -> plan -> render -> write | check`."""
