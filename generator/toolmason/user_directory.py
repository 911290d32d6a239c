"""Find the user's private cache directory. Short commands import this module, so it does not import `pathlib`."""

from __future__ import annotations

import os
import sys


def is_ci() -> bool:
    """Return whether the environment is that of CI, where the directory may come from a stranger's job."""
    return os.environ.get("CI", "").lower() not in {"", "0", "false"}


def cache_directory(project: str) -> str:
    """Return the cache directory, which may not exist yet; empty if it is unknown, relative or in `project`."""
    base = _base()
    if not os.path.isabs(base):  # noqa: PTH117
        return ""
    directory = os.path.join(base, "toolmason")  # noqa: PTH118
    return "" if _is_inside(directory, _checkout(project)) else directory


def is_private(directory: str) -> bool:
    """Return whether no other user owns or can open the directory. On Windows it is always per user.

    Raises:
        OSError: it does not exist.
    """
    if sys.platform == "win32":
        return True
    status = os.lstat(directory)
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def _base() -> str:
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    if base := os.environ.get(variable):
        return base
    home = os.path.expanduser("~")  # noqa: PTH111
    if home.startswith("~"):  # No home directory is known.
        return ""
    parts = {"win32": ("AppData", "Local"), "darwin": ("Library", "Caches")}
    return os.path.join(home, *parts.get(sys.platform, (".cache",)))  # noqa: PTH118


def _checkout(project: str) -> str:
    """Return the repository with `project`, or `project` itself without one."""
    real = directory = os.path.realpath(project)
    while not os.path.lexists(os.path.join(directory, ".git")):  # noqa: PTH118
        parent = os.path.dirname(directory)  # noqa: PTH120
        if parent == directory:
            return real
        directory = parent
    return directory


def _is_inside(path: str, directory: str) -> bool:
    real, root = (os.path.normcase(os.path.realpath(name)) for name in (path, directory))
    return real == root or real.startswith(os.path.join(root, ""))  # noqa: PTH118
