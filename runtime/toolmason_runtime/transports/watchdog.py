"""End the process even if no Python code can run.

A regular expression in a handler holds the interpreter's lock until it has matched, so no other Python thread runs. If
it runs in the main thread, signal handlers still run. They start a thread in C here, which needs no lock.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
from pathlib import Path
from typing import BinaryIO, Final

_files: Final[list[BinaryIO]] = []


def end_in(seconds: float) -> None:
    """End the process silently with status 1 in `seconds`, unless it ends earlier.

    A later call replaces the time.
    """
    if not _files:
        atexit.register(faulthandler.cancel_dump_traceback_later)
        _files.append(Path(os.devnull).open("wb"))  # noqa: SIM115  stays open until the end
    faulthandler.dump_traceback_later(seconds, exit=True, file=_files[0])
