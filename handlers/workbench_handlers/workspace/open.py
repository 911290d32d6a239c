"""The only ways to open what was located: a step at a time from its root, without following a single link.

So what is swapped for a link between check and open is refused, not followed. A platform that cannot open relative to
a folder opens by path, and then makes sure that what is open is what stands within the root.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from toolmason_runtime import MAX_CHARS, ToolError, closest_matches

from workbench_handlers.workspace.roots import Located, Root, locate, real_path

CAN_WALK: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether the platform opens relative to a folder's descriptor; Windows does not."""

MAX_COMPARED: Final = 2_000
"""Names of a folder that are held against one that is missing."""

_LINKS: Final = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}
_FILE_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_FOLDER_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)


def existing(path: str, roots: Sequence[Root], *, suggest: bool = True) -> Located:
    """Give the place of `path`, which must exist. Looks at the disk, so it may block.

    Raises:
        RefusedPathError: it leads outside of `roots`.
        ToolError: there is nothing; similar names are offered, if `suggest` says so.
    """
    located = locate(path, roots)
    if not os.path.lexists(located.path):
        near = similar(located) if suggest else ""
        raise ToolError(f"no such file or directory: `{path}`{near}", code="NOT_FOUND")
    return located


def similar(located: Located) -> str:
    """Say which paths beside a missing one look like it, from its root, or nothing."""
    if not located.parts or len(located.parts[-1]) > MAX_CHARS:
        return ""
    folder = Located(located.root, located.parts[:-1], "")
    try:
        with open_folder(folder) as descriptor, _scanning(folder, descriptor) as entries:
            names = [entry.name for entry in islice(entries, MAX_COMPARED)]
    except (OSError, ToolError):
        return ""
    paths = ["/".join((*located.parts[:-1], name)) for name in closest_matches(located.parts[-1], sorted(names))]
    return f"; did you mean {' or '.join(f'`{path}`' for path in paths)}?" if paths else ""


@contextmanager
def open_folder(located: Located, *, walk: bool = CAN_WALK) -> Iterator[int]:
    """Open a folder and give its descriptor, or -1 where the platform has none for folders.

    Raises:
        ToolError: it is no folder, cannot be read, or a link took its place.
    """
    if not walk:
        with _readable(located):
            is_verified = _verified(located, located.path.stat())
        if not is_verified:
            raise _swapped(located)
        yield -1
        return
    descriptor = _descend(located)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_file(located: Located, *, walk: bool = CAN_WALK) -> Iterator[BinaryIO]:
    """Open a regular file for reading. Never waits: a pipe or a device is refused, not read.

    Raises:
        ToolError: it is no regular file, cannot be read, or a link took its place.
    """
    with _regular(located, _opener(located, walk=walk)) as stream:
        yield stream


@contextmanager
def open_child(located: Located, folder: int) -> Iterator[BinaryIO]:
    """Open a regular file in a folder that is open already; `folder` is what `open_folder` gave."""
    if folder < 0:
        with open_file(located, walk=False) as stream:
            yield stream
        return
    with _regular(located, lambda: os.open(located.parts[-1], _FILE_FLAGS | _NOFOLLOW, dir_fd=folder)) as stream:
        yield stream


@contextmanager
def open_subfolder(located: Located, folder: int) -> Iterator[int]:
    """Open a folder in a folder that is open already, unless a link took its place."""
    if folder < 0:
        with open_folder(located, walk=False) as descriptor:
            yield descriptor
        return
    with _readable(located):
        descriptor = os.open(located.parts[-1], _FOLDER_FLAGS | _NOFOLLOW, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _scanning(located: Located, descriptor: int) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    return os.scandir(descriptor if descriptor >= 0 else located.path)


def entries_of(located: Located, descriptor: int) -> list[os.DirEntry[str]]:
    """List a folder that is open, by name. Entries of an unreadable folder are none."""
    with suppress(OSError), _scanning(located, descriptor) as entries:
        return sorted(entries, key=lambda entry: entry.name)
    return []


def _opener(located: Located, *, walk: bool) -> Callable[[], int]:
    if walk:
        return lambda: _open_beneath(located)
    return lambda: _open_and_verify(located)


def _open_beneath(located: Located) -> int:
    if not located.parts:
        raise _no_file(located, stat.S_IFDIR)
    parent = _descend(Located(located.root, located.parts[:-1], located.shown))
    try:
        return os.open(located.parts[-1], _FILE_FLAGS | _NOFOLLOW, dir_fd=parent)
    finally:
        os.close(parent)


def _descend(located: Located) -> int:
    """Open the folder at `located` one step at a time, each relative to the one before and none through a link."""
    with _readable(located):
        current = os.open(located.root.path, _FOLDER_FLAGS)
        try:
            for part in located.parts:
                deeper = os.open(part, _FOLDER_FLAGS | _NOFOLLOW, dir_fd=current)
                os.close(current)
                current = deeper
        except BaseException:
            os.close(current)
            raise
        return current


def _open_and_verify(located: Located) -> int:
    """Open by path, then make sure that what is open is what stands at the real path within the root."""
    descriptor = os.open(located.path, _FILE_FLAGS)
    with suppress(OSError, ToolError):
        if _verified(located, os.fstat(descriptor)):
            return descriptor
    os.close(descriptor)
    raise _swapped(located)


def _verified(located: Located, opened: os.stat_result) -> bool:
    real = Path(real_path(located.path))
    return real.is_relative_to(located.root.path) and os.path.samestat(opened, real.stat())


@contextmanager
def _regular(located: Located, opener: Callable[[], int]) -> Iterator[BinaryIO]:
    with _readable(located):
        descriptor = opener()
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            raise _no_file(located, kind)
        stream = os.fdopen(descriptor, "rb", closefd=False)
        with stream:
            yield stream
    finally:
        os.close(descriptor)


@contextmanager
def _readable(located: Located) -> Iterator[None]:
    """Say in words why something cannot be opened."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"no such file or directory: `{located.shown}`", code="NOT_FOUND") from None
    except PermissionError:
        raise ToolError(f"no permission to read `{located.shown}`", code="NO_PERMISSION") from None
    except OSError as error:
        if error.errno in _LINKS:
            raise _not_as_checked(located) from None
        if error.errno in {errno.ENXIO, errno.ENODEV}:
            raise ToolError(f"`{located.shown}` is no regular file", code="NOT_A_FILE") from None
        raise ToolError(f"cannot read `{located.shown}`: {error.strerror}", code="CANNOT_READ") from None


def _not_as_checked(located: Located) -> ToolError:
    """Tell a file where a folder was asked for from a link on the way."""
    steps = [located.root.path.joinpath(*located.parts[: depth + 1]) for depth in range(len(located.parts))]
    if any(step.is_symlink() for step in steps):
        return _swapped(located)
    if steps and steps[-1].exists() and not steps[-1].is_file():
        message = f"`{located.shown}` is neither a file nor a directory, but a pipe, socket or device"
        return ToolError(message, code="NOT_A_DIRECTORY")
    return ToolError(f"`{located.shown}` is a file, not a directory", code="NOT_A_DIRECTORY")


def _swapped(located: Located) -> ToolError:
    message = f"`{located.shown}` leads in a circle, or became a link while it was being opened; call again if it did"
    return ToolError(message, code="PATH_CHANGED")


def _no_file(located: Located, kind: int) -> ToolError:
    if stat.S_ISDIR(kind):
        message = f"`{located.shown}` is a directory: list it with directory_tree or list_directory_with_sizes"
        return ToolError(message, code="NOT_A_FILE")
    return ToolError(f"`{located.shown}` is no regular file (a pipe, socket or device)", code="NOT_A_FILE")
