"""MCP over standard input and output, with one of two engines (`--engine`).

`sdk` serves with the official SDK. `lean` serves with the standard library alone; its docstring defines its three
phases. `reserved_streams` and `descriptors` belong to both; all other modules are parts of `lean`.
"""
