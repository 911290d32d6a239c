"""The command line of a child process that executes a module of ours."""

from __future__ import annotations

import os
import sys
import time
from importlib import import_module
from threading import Thread
from typing import Final

_POLL_S: Final = 0.2


def child_command(module: str) -> list[str]:
    """Return the command that calls the function `main` of `module`, with this process's import path.

    The process ends soon after this one, even if this one is killed. On Windows it runs to its end.
    """
    # `-P` keeps the working directory, often the project, off the import path.
    code = f"import sys; sys.path[:] = {sys.path!r}; import {__name__} as m; m.run({module!r}, {os.getpid()})"
    return [sys.executable, "-P", "-c", code]


def run(module: str, parent: int) -> None:
    """Call `main` of `module`; end this process if `parent` ends before."""
    Thread(target=_end_with, args=(parent,), daemon=True).start()
    import_module(module).main()


def _end_with(parent: int) -> None:
    # On Windows, the id stays that of the ended process.
    while os.getppid() == parent:
        time.sleep(_POLL_S)
    os._exit(1)
