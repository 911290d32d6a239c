"""The command line of a child process that executes a module of ours."""

from __future__ import annotations

import sys


def child_command(module: str) -> list[str]:
    """Return the command that calls the function `main` of `module`, with this process's import path."""
    # `-P` keeps the working directory, often the project, off the import path.
    return [sys.executable, "-P", "-c", f"import sys; sys.path[:] = {sys.path!r}; import {module} as m; m.main()"]
