"""Tasks: calls of tools that continue after their request, as in the extension `io.modelcontextprotocol/tasks`.

`engine` runs them, `context` is the context of a call that becomes a task, `record` has the stored state, and `store`
keeps it in memory, in files or in a shared Redis. https://modelcontextprotocol.io/seps/2663-tasks-extension
"""
