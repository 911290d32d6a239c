"""Tasks of several steps, as single calls and as programs: turns, tokens and time."""
