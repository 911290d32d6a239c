"""Open located files and directories, one path component at a time from the root, without following links.

Invariant: a component that is replaced by a link between check and open is refused, not followed. Each component is
opened relative to the descriptor of its parent with `O_NOFOLLOW`. Platforms without `dir_fd` open by path, and then
compare the open file with the real path inside the root.
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
from unicodedata import normalize

from toolmason_runtime import MAX_CHARS, ToolError, closest_matches

from workbench_handlers.workspace.probe import exists, is_file, is_link
from workbench_handlers.workspace.roots import Located, Root, locate, proposal, real_path

CAN_WALK: Final = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether the platform can open relative to a directory's descriptor; Windows cannot."""

MAX_COMPARED: Final = 2_000
"""Maximum names of a directory that are compared with a missing one."""

_LINKS: Final = {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}
_FILE_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)
_DIRECTORY_FLAGS: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)


def existing(path: str, roots: Sequence[Root], *, suggest: bool = True) -> Located:
    """Locate `path`, which must exist, in any normal form of Unicode. Accesses the disk, so it may block.

    Raises:
        RefusedPathError: it is outside of `roots`.
        ToolError: it does not exist; with `suggest`, the message has similar names.
    """
    located = found(locate(path, roots), roots)
    if not os.path.lexists(located.path):
        near = (proposal(path, roots) or similar(located)) if suggest else ""
        raise ToolError(f"no such file or directory: `{path}`{near}", code="NOT_FOUND")
    return located


def found(located: Located, roots: Sequence[Root]) -> Located:
    """Return the only entry whose path equals a missing one after Unicode normalisation; `located` itself without one.

    Some systems store `é` as one character, others as two, and models send the former.

    Raises:
        RefusedPathError: a link on the way leads out of `roots`.
    """
    if os.path.lexists(located.path) or located.path.as_posix().isascii():
        return located
    step = Located(located.root, (), ".")
    for part in located.parts:
        child = step.child(part)
        if not os.path.lexists(child.path):
            form = normalize("NFC", part)
            same = [name for name in _names(step) if normalize("NFC", name) == form]
            if len(same) != 1:
                return located
            child = step.child(same[0])
        step = child
    return locate(str(step.path), roots)


def near(located: Located) -> str:
    """Return a question with the path that was meant by a missing one, in another notation or misspelled; or empty."""
    return proposal("/".join(located.parts), (located.root,)) or similar(located)


def similar(located: Located) -> str:
    """Return a question with paths similar to a missing one, relative to its root; empty without any."""
    if not located.parts or len(located.parts[-1]) > MAX_CHARS:
        return ""
    names = _names(Located(located.root, located.parts[:-1], ""))
    paths = ["/".join((*located.parts[:-1], name)) for name in closest_matches(located.parts[-1], sorted(names))]
    return f"; did you mean {' or '.join(f'`{path}`' for path in paths)}?" if paths else ""


def _names(directory: Located) -> list[str]:
    """Return the first names of a directory; none if it cannot be read."""
    try:
        with open_directory(directory) as descriptor, _scanning(directory, descriptor) as entries:
            return [entry.name for entry in islice(entries, MAX_COMPARED)]
    except (OSError, ToolError):
        return []


@contextmanager
def open_directory(located: Located, *, walk: bool = CAN_WALK) -> Iterator[int]:
    """Open a directory and yield its descriptor; -1 on platforms without descriptors of directories.

    Raises:
        ToolError: it is not a directory, cannot be read, or was replaced by a link.
    """
    if not walk:
        with _translate_errors(located):
            is_same = _is_verified(located, located.path.stat())
        if not is_same:
            raise _changed_error(located)
        yield -1
        return
    descriptor = _open_each_step(located)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def open_file(located: Located, *, walk: bool = CAN_WALK) -> Iterator[BinaryIO]:
    """Open a regular file for reading. Never blocks: pipes and devices are refused.

    Raises:
        ToolError: it is not a regular file, cannot be read, or was replaced by a link.
    """
    with _open_regular(located, _opener(located, walk=walk)) as stream:
        yield stream


@contextmanager
def open_child(located: Located, directory: int) -> Iterator[BinaryIO]:
    """Open a regular file in an open directory; `directory` is the descriptor of `open_directory`."""
    if directory < 0:
        with open_file(located, walk=False) as stream:
            yield stream
        return
    with _open_regular(located, lambda: os.open(located.parts[-1], _FILE_FLAGS | NOFOLLOW, dir_fd=directory)) as stream:
        yield stream


@contextmanager
def open_subdirectory(located: Located, directory: int) -> Iterator[int]:
    """Open a directory in an open directory."""
    if directory < 0:
        with open_directory(located, walk=False) as descriptor:
            yield descriptor
        return
    with _translate_errors(located):
        descriptor = os.open(located.parts[-1], _DIRECTORY_FLAGS | NOFOLLOW, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _scanning(located: Located, descriptor: int) -> AbstractContextManager[Iterator[os.DirEntry[str]]]:
    return os.scandir(descriptor if descriptor >= 0 else located.path)


def entries_of(located: Located, descriptor: int) -> list[os.DirEntry[str]]:
    """Return the entries of an open directory by name; empty if it cannot be read."""
    with suppress(OSError), _scanning(located, descriptor) as entries:
        return sorted(entries, key=lambda entry: entry.name)
    return []


def _opener(located: Located, *, walk: bool) -> Callable[[], int]:
    if walk:
        return lambda: _open_beneath(located)
    return lambda: _open_and_verify(located)


def _open_beneath(located: Located) -> int:
    if not located.parts:
        raise _not_a_file_error(located, stat.S_IFDIR)
    parent = _open_each_step(located.parent)
    try:
        return os.open(located.parts[-1], _FILE_FLAGS | NOFOLLOW, dir_fd=parent)
    finally:
        os.close(parent)


def _open_each_step(located: Located) -> int:
    """Open a directory component by component, each relative to its parent and without following links."""
    with _translate_errors(located):
        current = os.open(located.root.path, _DIRECTORY_FLAGS)
        try:
            for part in located.parts:
                deeper = os.open(part, _DIRECTORY_FLAGS | NOFOLLOW, dir_fd=current)
                os.close(current)
                current = deeper
        except BaseException:
            os.close(current)
            raise
        return current


def _open_and_verify(located: Located) -> int:
    """Open by path, then check that the open file is the one at the real path inside the root."""
    descriptor = os.open(located.path, _FILE_FLAGS)
    with suppress(OSError, ToolError):
        if _is_verified(located, os.fstat(descriptor)):
            return descriptor
    os.close(descriptor)
    raise _changed_error(located)


def _is_verified(located: Located, opened: os.stat_result) -> bool:
    real = Path(real_path(located.path))
    return real.is_relative_to(located.root.path) and os.path.samestat(opened, real.stat())


@contextmanager
def _open_regular(located: Located, opener: Callable[[], int]) -> Iterator[BinaryIO]:
    with _translate_errors(located):
        descriptor = opener()
    try:
        kind = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(kind):
            raise _not_a_file_error(located, kind)
        stream = os.fdopen(descriptor, "rb", closefd=False)
        with stream:
            yield stream
    finally:
        os.close(descriptor)


@contextmanager
def _translate_errors(located: Located) -> Iterator[None]:
    """Convert `OSError` to `ToolError`."""
    try:
        yield
    except FileNotFoundError:
        raise ToolError(f"no such file or directory: `{located.shown}`", code="NOT_FOUND") from None
    except PermissionError:
        raise ToolError(f"no permission to read `{located.shown}`", code="NO_PERMISSION") from None
    except OSError as error:
        if error.errno in _LINKS:
            raise _not_a_directory_error(located) from None
        if error.errno in {errno.ENXIO, errno.ENODEV}:
            raise ToolError(f"`{located.shown}` is not a regular file", code="NOT_A_FILE") from None
        raise ToolError(f"cannot read `{located.shown}`: {error.strerror}", code="CANNOT_READ") from None


def _not_a_directory_error(located: Located) -> ToolError:
    """Return the error for a component that is a link, or not a directory."""
    steps = [located.root.path.joinpath(*located.parts[: depth + 1]) for depth in range(len(located.parts))]
    if any(is_link(step) for step in steps):
        return _changed_error(located)
    if steps and exists(steps[-1]) and not is_file(steps[-1]):
        message = f"`{located.shown}` is a pipe, socket or device, not a directory"
        return ToolError(message, code="NOT_A_DIRECTORY")
    return ToolError(f"`{located.shown}` is a file, not a directory", code="NOT_A_DIRECTORY")


def _changed_error(located: Located) -> ToolError:
    message = f"`{located.shown}` is a link loop, or was replaced by a link while it was opened; retry in that case"
    return ToolError(message, code="PATH_CHANGED")


def _not_a_file_error(located: Located, kind: int) -> ToolError:
    if stat.S_ISDIR(kind):
        message = f"`{located.shown}` is a directory: use directory_tree or list_directory_with_sizes"
        return ToolError(message, code="NOT_A_FILE")
    return ToolError(f"`{located.shown}` is not a regular file (a pipe, socket or device)", code="NOT_A_FILE")
