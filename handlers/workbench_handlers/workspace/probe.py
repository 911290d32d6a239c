"""Look at a path that may come from an argument. `pathlib` raises for names that the system refuses; these do not.

A name of 256 bytes, a path of 5,000, a circle of links or a NUL is no file, no directory and no link, and does not
exist. `roots.locate` refuses such a path with the reason; these functions also serve names that are derived from one.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from toolmason_runtime import ToolError

from workbench_handlers.workspace.roots import Located


def check_size(located: Located, limit: int, advice: str) -> None:
    """Refuse a file with more than `limit` bytes, by its apparent size: a sparse file of 50 GB needs no disk.

    Raises:
        ToolError: it is larger. The message ends with `advice`.
    """
    try:
        status = os.stat(located.path)  # noqa: PTH116  see above
    except (OSError, ValueError):
        return  # who opens it reports the reason
    if stat.S_ISREG(status.st_mode) and status.st_size > limit:
        message = f"`{located.shown}` has {status.st_size:,} bytes, more than the limit of {limit:,}: {advice}"
        raise ToolError(message, code="TOO_LARGE")


def exists(path: Path | str) -> bool:
    """Return whether an entry exists; links are followed."""
    return os.path.exists(path)  # noqa: PTH110  see above


def is_file(path: Path | str) -> bool:
    """Return whether a path is a regular file; links are followed."""
    return os.path.isfile(path)  # noqa: PTH113  see above


def is_directory(path: Path | str) -> bool:
    """Return whether a path is a directory; links are followed."""
    return os.path.isdir(path)  # noqa: PTH112  see above


def is_link(path: Path | str) -> bool:
    """Return whether a path is a symbolic link."""
    return os.path.islink(path)  # noqa: PTH114  see above
