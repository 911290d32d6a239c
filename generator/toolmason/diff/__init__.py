"""Compare two contracts of a server: which calls, results and texts change, and what each change breaks.

`sides` loads a contract from a revision, a manifest, a file, a server or a package. `compare` returns the changes, each
with a rule of `rules.toml`. `containment` decides whether one schema accepts every value of another, and
`counterexamples` finds a value that it does not. `report` formats the changes.
"""
