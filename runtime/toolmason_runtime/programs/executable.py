"""Which file is run and where, and in what words it is told that this cannot be."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from toolmason_runtime.protocol.errors import ToolError

_MAX_SHOWN_LENGTH: Final = 200
_REASONS: Final = {
    errno.ENOENT: ("cannot run: the interpreter that its first line names is missing", "NOT_EXECUTABLE"),
    errno.ENOEXEC: ("is no program of this system, nor a script whose first line says #!", "NOT_EXECUTABLE"),
}


def located(name: str, env: Mapping[str, str], *, skipped: Sequence[str] = ()) -> str:
    """Give the file that runs when `name` is called, where PATH is that of `env`. A path starts at the server's folder.

    A relative folder on that PATH is not looked into: it would let the files that are worked on choose the program.
    `skipped` are directories of a project that were on PATH, for the error.

    Raises:
        ToolError: it cannot run.
    """
    if Path(name).name == name:
        folders = [each for each in env.get("PATH", os.defpath).split(os.pathsep) if Path(each).is_absolute()]
        path, wanted = os.pathsep.join(folders), name
    else:
        path, wanted = None, str(Path(name).absolute())
    found = shutil.which(wanted, path=path)
    if found is None or not Path(found).is_absolute():
        raise _unlocated(name, wanted, path, skipped)
    if sys.platform == "win32" and found.lower().endswith((".bat", ".cmd")):
        message = f"{_shown(name)} is a batch file, which Windows gives to a shell: that is not done here"
        raise ToolError(message, code="NOT_EXECUTABLE")
    return found


def check_folder(cwd: str) -> None:
    """Make sure that a program can run in a folder.

    Raises:
        ToolError: it cannot.
    """
    mode = _mode(cwd)
    if mode is None:
        reason, code = "does not exist", "NOT_FOUND"
    elif not stat.S_ISDIR(mode):
        reason, code = "is not a folder", "NOT_A_DIRECTORY"
    elif not os.access(cwd, os.X_OK):
        reason, code = "may not be entered by this server", "PERMISSION_DENIED"
    else:
        return
    raise ToolError(f"the working directory {_shown(cwd)} {reason}: name a folder that is there", code=code)


def unstarted(argv: Sequence[str], error: OSError) -> ToolError:
    """Say why the system did not start `argv`, although its program was located."""
    if error.errno == errno.E2BIG:
        size = sum(len(os.fsencode(each)) + 1 for each in argv)
        message = (
            f"{_shown(argv[0])} was given a command line of {size:,} bytes, more than this system takes: send fewer or "
            f"shorter values, a few at a time, or send the text as standard input if the tool has a parameter for that"
        )
        return ToolError(message, code="TOO_LARGE")
    reason, code = _REASONS.get(error.errno or 0, (f"could not be started: {error.strerror}", "NOT_EXECUTABLE"))
    return ToolError(f"{_shown(argv[0])} {reason}", code=code)


def _unlocated(name: str, wanted: str, path: str | None, skipped: Sequence[str]) -> ToolError:
    if path is None and stat.S_ISDIR(_mode(wanted) or 0):
        return ToolError(f"{_shown(name)} is a folder, not a program", code="NOT_EXECUTABLE")
    if shutil.which(wanted, mode=os.F_OK, path=path):
        return ToolError(f"{_shown(name)} is there, but this server may not execute it", code="NOT_EXECUTABLE")
    if path is not None and (there := next((each for each in skipped if shutil.which(wanted, path=each)), "")):
        message = (
            f"program {_shown(name)} was found only in {_shown(there)}; PATH directories inside a project are skipped. "
            f"Ask the user to install it elsewhere or to set an absolute `command`."
        )
        return ToolError(message, code="NOT_INSTALLED")
    where = "there is no such file" if path is None else "no folder of PATH has it"
    return ToolError(f"the program {_shown(name)} is not installed on this server: {where}", code="NOT_INSTALLED")


def _mode(path: str) -> int | None:
    """Give the kind and permissions of a file; None if there is none, or none can have that name."""
    try:
        return Path(path).stat().st_mode
    except OSError:
        return None


def _shown(name: str) -> str:
    """Quote a name of bearable length."""
    return f'"{name}"' if len(name) <= _MAX_SHOWN_LENGTH else f'"{name[:_MAX_SHOWN_LENGTH]}..."'
