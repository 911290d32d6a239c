"""Questions about a whole project that are answered in facts: asked of the model, then held against the files.

A module for each tool, whose `run(params, ask, root)` asks the model and gives the result as a dict. It knows nothing
of MCP. What the model says is checked before it is handed on: paths that do not exist, lines that are not there,
answers that were left out and text that is no JSON are said to be so.
"""
