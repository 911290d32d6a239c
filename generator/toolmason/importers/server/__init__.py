"""Convert the description of an MCP server to a manifest whose tools call that server, and compare the two later.

Parts of a server that a manifest cannot contain become notes.
"""
