"""Programs of a model that call tools: the discovery style `code`.

`engine` runs a program in Monty, a sandboxed interpreter; every call passes the server's dispatcher. `check` reports
mistakes before the first call, `person` asks the user in the middle of a program, and `suspended` keeps it meanwhile.
"""
