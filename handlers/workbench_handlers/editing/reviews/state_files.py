"""Files of the state directory: private, complete when they become visible, and safe between processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.atomic import NO_SPACE, lock

STATE_VARIABLE: Final = "WORKBENCH_STATE"
"""Environment variable with the state directory."""
_NAME: Final = "toolmason-workbench"


def reviews_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory of all reviews of this user; it may be missing.

    It is `reviews` in `$WORKBENCH_STATE`, else in the state directory of the platform.
    """
    if chosen := environ.get(STATE_VARIABLE, "").strip():
        return Path(os.path.abspath(os.path.expanduser(chosen)), "reviews")  # noqa: PTH100, PTH111  as in `Root.of`
    return Path(_platform_directory(environ), _NAME, "reviews")


def _platform_directory(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME") or os.path.expanduser("~"))  # noqa: PTH111  as in `Root.of`
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    # Not $XDG_STATE_HOME: many clients start servers with few variables, and the `review` command would look elsewhere.
    return home / ".local" / "state"


def make_private(directory: Path) -> None:
    """Create a directory that only its owner can access, and its parents.

    Raises:
        ToolError: it cannot be created, is not a directory, or belongs to another user.
    """
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.lstat()
        if directory.is_symlink() or (hasattr(os, "getuid") and status.st_uid != os.getuid()):
            raise ToolError(_unusable(directory, "it is a link, or belongs to another user"), code="NO_STATE_DIRECTORY")
        if status.st_mode & 0o777 != 0o700:
            directory.chmod(0o700)
    except OSError as error:
        raise ToolError(_unusable(directory, error.strerror or str(error)), code="NO_STATE_DIRECTORY") from None


def _unusable(directory: Path, reason: str) -> str:
    return (
        f"the directory of pending reviews, `{directory}`, cannot be used: {reason}. Ask the user to repair it, or to "
        f"set {STATE_VARIABLE} to a directory of their own"
    )


@contextmanager
def state_errors(directory: Path) -> Iterator[None]:
    """Convert an `OSError` of the state to `ToolError`, except that a review was removed meanwhile."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise ToolError(_unusable(directory, error.strerror or str(error)), code="NO_STATE_DIRECTORY") from error
        message = f"no space left for the pending reviews in `{directory}`: ask the user to free some, then send the "
        raise ToolError(f"{message}same call again", code="NO_SPACE") from error


def write_durably(path: Path, data: bytes) -> None:
    """Write a new file and flush it to the disk. The file is visible before it is complete; an error removes it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError:
        path.unlink()
        raise


def create_once(path: Path, data: bytes) -> bool:
    """Create a file with all of its content at once; return False if it exists. Of several processes, one succeeds."""
    temporary = path.with_name(f"tmp-{token_hex(8)}")
    write_durably(temporary, data)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    sync_directory(path.parent)
    return True


def sync_directory(directory: Path) -> None:
    """Flush the names of a directory to the disk, on platforms that can."""
    if os.name == "nt":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the exclusive lock of a file, among all threads and processes; a killed process releases it.

    Raises:
        ToolError: another process holds the lock for long, or there is no lock.
    """
    with state_errors(path.parent):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        with state_errors(path.parent):
            lock(descriptor, "the reviews of this file")
        yield
    finally:
        os.close(descriptor)
