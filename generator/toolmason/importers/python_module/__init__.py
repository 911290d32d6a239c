"""Create a manifest and handlers from the functions of a Python module or the tools of a FastMCP server."""
