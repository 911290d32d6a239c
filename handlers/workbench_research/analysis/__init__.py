"""Tools that ask the model for facts about a project, and verify its answers.

One module per tool: `run(params, ask, root)` asks the model and returns the result as a dict, independent of MCP.
Answers are verified first: missing paths and lines, missing answers and invalid JSON are reported in the result.
"""
