"""Find the executable of a program, and describe why it cannot start."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from toolmason_runtime.shared.errors import ToolError

_MAX_QUOTE_LENGTH: Final = 200
_REASONS: Final = {
    errno.ENOENT: ("cannot run: the interpreter in its first line is missing", "NOT_EXECUTABLE"),
    errno.ENOEXEC: ("is neither a program for this system nor a script that starts with #!", "NOT_EXECUTABLE"),
}


def find_executable(name: str, env: Mapping[str, str], *, skipped: Sequence[str] = ()) -> str:
    """Return the absolute path of a program, found on the PATH of `env` or relative to the server's directory.

    Relative directories on PATH are ignored: the files of a project could choose the program there. `skipped` are the
    directories of PATH inside a project, for the error.

    Raises:
        ToolError: it is missing, or cannot be executed.
    """
    if Path(name).name == name:
        directories = [
            directory for directory in env.get("PATH", os.defpath).split(os.pathsep) if Path(directory).is_absolute()
        ]
        path, target = os.pathsep.join(directories), name
    else:
        path, target = None, str(Path(name).absolute())
    executable = shutil.which(target, path=path)
    if executable is None or not Path(executable).is_absolute():
        raise _not_found_error(name, target, path, skipped)
    if sys.platform == "win32" and executable.lower().endswith((".bat", ".cmd")):
        message = f"{_quote(name)} is a batch file, which Windows runs with a shell; use an .exe"
        raise ToolError(message, code="NOT_EXECUTABLE")
    return executable


def check_directory(cwd: str) -> None:
    """Check that a program can run in a directory.

    Raises:
        ToolError: the directory is missing, is a file, or cannot be entered.
    """
    mode = _mode(cwd)
    if mode is None:
        reason, code = "does not exist", "NOT_FOUND"
    elif not stat.S_ISDIR(mode):
        reason, code = "is not a directory", "NOT_A_DIRECTORY"
    elif not os.access(cwd, os.X_OK):
        reason, code = "cannot be entered by this server", "PERMISSION_DENIED"
    else:
        return
    raise ToolError(f"the working directory {_quote(cwd)} {reason}; use an existing directory", code=code)


def start_error(argv: Sequence[str], error: OSError) -> ToolError:
    """Return the error for a program that exists and did not start."""
    if error.errno == errno.E2BIG:
        size = sum(len(os.fsencode(argument)) + 1 for argument in argv)
        message = (
            f"the command line of {_quote(argv[0])} has {size:,} bytes, which exceeds the limit of this system: send "
            f"fewer or shorter values, or send the text as standard input if the tool has a parameter for it"
        )
        return ToolError(message, code="TOO_LARGE")
    reason, code = _REASONS.get(error.errno or 0, (f"could not be started: {error.strerror}", "NOT_EXECUTABLE"))
    return ToolError(f"{_quote(argv[0])} {reason}", code=code)


def _not_found_error(name: str, target: str, path: str | None, skipped: Sequence[str]) -> ToolError:
    if path is None and stat.S_ISDIR(_mode(target) or 0):
        return ToolError(f"{_quote(name)} is a directory, not a program", code="NOT_EXECUTABLE")
    if shutil.which(target, mode=os.F_OK, path=path):
        return ToolError(
            f"{_quote(name)} exists, but this server has no permission to execute it", code="NOT_EXECUTABLE"
        )
    if path is not None and (only := next((entry for entry in skipped if shutil.which(target, path=entry)), "")):
        message = (
            f"program {_quote(name)} was found only in {_quote(only)}; PATH directories inside a project are skipped. "
            f"Ask the user to install it elsewhere or to set an absolute `command`."
        )
        return ToolError(message, code="NOT_INSTALLED")
    where = "no such file" if path is None else "no directory of PATH contains it"
    return ToolError(f"the program {_quote(name)} is not installed on this server: {where}", code="NOT_INSTALLED")


def _mode(path: str) -> int | None:
    """Return the mode of a file; None if it does not exist or the path is invalid."""
    try:
        return Path(path).stat().st_mode
    except OSError:
        return None


def _quote(name: str) -> str:
    """Quote a name, shortened if necessary."""
    return f'"{name}"' if len(name) <= _MAX_QUOTE_LENGTH else f'"{name[:_MAX_QUOTE_LENGTH]}..."'
