"""Files of the state directory: private, complete when they become visible, and safe between processes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.atomic import NO_SPACE, lock

STATE_VARIABLE: Final = "WORKBENCH_STATE"
"""Environment variable with the state directory."""
TTL_S: Final = 86_400.0
"""Default seconds until a review without a decision expires."""
UNFINISHED: Final = "unfinished"
"""Directory with the ids of reviews whose files are being written."""
REVIEW_ID: Final = re.compile(r"rv_[0-9a-f]{20}")
_NAME: Final = "toolmason-workbench"


def reviews_directory(environ: Mapping[str, str]) -> Path:
    """Return the directory of all reviews of this user; it may be missing.

    It is `reviews` in `$WORKBENCH_STATE`, else in the state directory of the platform.
    """
    if chosen := environ.get(STATE_VARIABLE, "").strip():
        return Path(os.path.abspath(os.path.expanduser(chosen)), "reviews")  # noqa: PTH100, PTH111  as in `Root.of`
    return Path(_platform_directory(environ), _NAME, "reviews")


def unfinished_reviews(directory: Path) -> list[str]:
    """Return the ids of the reviews whose files are being written, or were when a process was killed."""
    with suppress(OSError):
        return sorted(path.name for path in (directory / UNFINISHED).iterdir() if REVIEW_ID.fullmatch(path.name))
    return []


def state_problem(environ: Mapping[str, str], roots: Sequence[Path] = ()) -> str:
    """Return the reason why the state directory cannot be trusted for servers with these roots; empty if it can.

    A review decides what is written. In a directory of a project, a clone could bring decisions of its own. The default
    directory may be in a root that the user gave, such as the home; nothing of a clone is there.
    """
    chosen = environ.get(STATE_VARIABLE, "").strip()
    if chosen and not Path(os.path.expanduser(chosen)).is_absolute():  # noqa: PTH111  as in `Root.of`
        return f"{STATE_VARIABLE} must be an absolute path, not `{chosen}`"
    state = Path(os.path.realpath(reviews_directory(environ)))
    for root in roots:
        real = Path(os.path.realpath(root))
        if _is_inside(real, state.parent):
            return f"the allowed directory `{root}` is inside the state directory, `{state.parent}`"
        if chosen and _is_inside(state.parent, _checkout(real)):
            return f"{STATE_VARIABLE} is `{state.parent}`, inside the allowed directory `{root}` or its repository"
    return ""


def check_state(environ: Mapping[str, str], roots: Sequence[Path] = ()) -> None:
    """Refuse a state directory that cannot be trusted.

    Raises:
        ToolError: it is relative, inside a root, or contains one.
    """
    if problem := state_problem(environ, roots):
        message = f"{problem}: a project could decide its own changes. Ask the user to remove {STATE_VARIABLE}, or to "
        raise ToolError(f"{message}set it to a directory outside of all projects", code="NO_STATE_DIRECTORY")


def _is_inside(path: Path, directory: Path) -> bool:
    """Return whether a real path is in a directory, by its names or by the identity of an existing ancestor.

    Names are not enough: the file systems of macOS and Windows ignore case, and a directory can be mounted twice.
    """
    if path.is_relative_to(directory):
        return True
    for ancestor in (path, *path.parents):
        with suppress(OSError):
            if os.path.samefile(ancestor, directory):  # noqa: PTH121  texts of any length
                return True
    return False


def _checkout(directory: Path) -> Path:
    """Return the repository around a directory, or the directory itself without one."""
    return next((path for path in (directory, *directory.parents) if os.path.lexists(path / ".git")), directory)


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
