"""Write files and create directories inside the roots: atomically, durably, and never through a link.

Invariant: every change is made relative to the descriptor of a directory that was opened from the root component by
component, see `workspace.open`. A file is replaced by a complete new one or stays as it was.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.atomic import (
    NO_SPACE,
    Entry,
    Metadata,
    locked,
    rename_new,
    replace,
    sync_directory,
    temporary_file,
)
from workbench_handlers.workspace.open import CAN_WALK, found, open_child, open_directory
from workbench_handlers.workspace.roots import FILE_SCHEME, Located, RefusedPathError, Root, locate, uri_proposal

MAX_EDIT_BYTES: Final = 10_000_000
"""Maximum size of a file that is edited or written."""
MAX_LEVELS: Final = 200
"""Maximum directories of a path below its root."""

_GIT_NAMES: Final = {".git", "git~1"}
_IGNORED_IN_NAMES: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that HFS+ ignores in names; git refuses them in `.git` for the same reason."""
_PATH_CHANGED: Final = {errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.EEXIST}


class FileChangedError(ToolError):
    """A file changed since it was read. `current` are its present bytes; None if it is missing."""

    def __init__(self, located: Located, current: bytes | None) -> None:
        change = "was removed" if current is None else "changed"
        super().__init__(
            f"`{located.shown}` {change} since it was read; nothing was written. Read it again, then send a new change",
            code="CONFLICT",
        )
        self.current = current


def locate_for_writing(path: str, roots: Sequence[Root]) -> Located:
    """Locate a file or directory that may be missing. Links are followed: a write changes the file at the real path.

    An existing path that differs by Unicode normalisation only is taken, so that no second one looks the same.

    Raises:
        RefusedPathError: it is outside of `roots`, is a root or a URI, is too deep, or is an internal file of a git
            repository.
    """
    located = found(locate(path, roots), roots)
    check_not_uri(path, located, roots)
    check_writable_path(path, located)
    return located


def check_not_uri(path: str, located: Located, roots: Sequence[Root]) -> None:
    """Refuse a `file:` URI for a missing path: a directory with the name `file:` would be created."""
    if path.strip().lower().startswith(FILE_SCHEME) and not os.path.lexists(located.path):
        message = f"`{path}` is a URI, and not a path{uri_proposal(path, roots)}"
        raise RefusedPathError(message, reason="Path is a URI", resolved=str(located.path))


def check_writable_path(path: str, located: Located) -> None:
    """Refuse a root, a path that is too deep, and the internal files of a git repository."""
    if not located.parts:
        message = f"`{path}` is an allowed directory itself: use a path below it"
        raise RefusedPathError(message, reason="Path is a root")
    if len(located.parts) > MAX_LEVELS:
        raise RefusedPathError(
            f"the path has more than {MAX_LEVELS} levels: use a shorter one", reason="Path is too deep"
        )
    steps = [(located.root.path.joinpath(*located.parts[:depth]), name) for depth, name in enumerate(located.parts)]
    is_named = any(map(_is_git_name, (*Path(path).parts, *located.path.parts)))
    if is_named or any(_is_git_directory(directory, name) for directory, name in steps):
        message = f"`{path}` belongs to the internal files of a git repository: use git commands to change them"
        raise RefusedPathError(message, reason="Path is inside a git directory")


def _is_git_name(name: str) -> bool:
    """Return whether a name means `.git` on some file system: any case, trailing dots, or its short name."""
    plain = _IGNORED_IN_NAMES.sub("", name).partition(":")[0].rstrip(" .")
    return plain.casefold() in _GIT_NAMES


def _is_git_directory(path: Path, added: str) -> bool:
    """Return whether git takes a directory for a repository, as it is or with an entry `added`.

    `.git` may be a link or a file that names another one, and git runs programs that a repository's `config` names.
    """
    # Not `Path.exists`: it raises for names that are too long and for directories that cannot be searched.
    head, common, objects, refs = (
        name.casefold() == added.casefold() or os.path.lexists(path / name)
        for name in ("HEAD", "commondir", "objects", "refs")
    )
    return head and (common or (objects and refs))


def is_directory(located: Located) -> bool:
    """Return whether a directory exists.

    Raises:
        ToolError: it is another kind of file, or cannot be read.
    """
    try:
        with open_directory(located):
            return True
    except ToolError as error:
        if error.code == "NOT_FOUND":
            return False
        raise


def read_for_editing(located: Located) -> bytes | None:
    """Return the content of a file that may be changed; None if it is missing.

    Raises:
        ToolError: it is not a regular file, is too large, has hard links, or cannot be read or changed.
    """
    try:
        with open_for_change(located) as directory:
            current = _read(located, directory)
    except ToolError as error:
        if error.code == "NOT_FOUND":
            return None
        raise
    return current[0] if current else None


def _read(located: Located, directory: int) -> tuple[bytes, Metadata] | None:
    try:
        with open_child(located, directory) as stream:
            metadata = Metadata.of(stream.fileno())
            data = stream.read(MAX_EDIT_BYTES + 1)
    except ToolError as error:
        if error.code == "NOT_FOUND":
            return None
        raise
    check_size(located, max(len(data), metadata.status.st_size))
    if metadata.status.st_nlink > 1:
        message = (
            f"`{located.shown}` has {metadata.status.st_nlink} hard links, and the others may be outside of the allowed"
            " directories: ask the user to replace it by a copy"
        )
        raise ToolError(message, code="HARD_LINKS")
    if not Entry.of(located, directory).is_writable():
        message = f"`{located.shown}` is read-only: ask the user to make it writable"
        raise ToolError(message, code="NO_PERMISSION")
    return data, metadata


def check_size(located: Located, size: int) -> None:
    """Refuse to write more than `MAX_EDIT_BYTES`."""
    if size > MAX_EDIT_BYTES:
        message = f"`{located.shown}` has more than {MAX_EDIT_BYTES:,} bytes, the maximum for changes"
        raise ToolError(message, code="TOO_LARGE")


def replace_file(located: Located, data: bytes, *, expected: bytes | None, walk: bool = CAN_WALK) -> None:
    """Replace the content of a file, or create it with its parents if `expected` is None.

    Mode, owner, extended attributes and ACL stay the same. After any error the file has its old content.

    Raises:
        FileChangedError: its content is not `expected`.
        ToolError: it cannot be written.
    """
    check_size(located, len(data))
    if expected is None:
        make_directory(located.parent, walk=walk)
    elif not is_directory(located.parent):
        raise FileChangedError(located, None)
    with open_for_change(located, walk=walk) as directory, locked(located, directory):
        metadata = _check_unchanged(located, directory, expected)
        with temporary_file(located, directory, data, metadata) as temporary:
            _check_unchanged(located, directory, expected)
            target = Entry.of(located, directory)
            if expected is not None:
                replace(temporary, target)
            else:
                _create(temporary, target, located, directory)
        sync_directory(directory)


def _check_unchanged(located: Located, directory: int, expected: bytes | None) -> Metadata | None:
    """Return the metadata of a file with the content `expected`; None if it is missing as expected."""
    data, metadata = _read(located, directory) or (None, None)
    if data != expected:
        raise FileChangedError(located, data)
    return metadata


def _create(temporary: Entry, target: Entry, located: Located, directory: int) -> None:
    try:
        rename_new(temporary, target)
    except FileExistsError:
        _check_unchanged(located, directory, None)
        raise


def make_directory(located: Located, *, walk: bool = CAN_WALK) -> bool:
    """Create a directory and its missing parents; return False if it exists.

    Raises:
        ToolError: a part of the path is not a directory, or it cannot be created.
    """
    if is_directory(located):
        return False
    for depth in range(1, len(located.parts) + 1):
        step = Located(located.root, located.parts[:depth], located.shown)
        with open_for_change(step, walk=walk) as directory:
            entry = Entry.of(step, directory)
            if entry.status() is None:
                with suppress(FileExistsError):  # another process created it
                    os.mkdir(entry.name, dir_fd=entry.directory)
                sync_directory(directory)
    return is_directory(located)


@contextmanager
def open_for_change(located: Located, *, walk: bool = CAN_WALK) -> Iterator[int]:
    """Open the directory of an entry and yield its descriptor; convert `OSError` of the change to `ToolError`."""
    with open_directory(located.parent, walk=walk) as directory:
        try:
            yield directory
        except OSError as error:
            raise _write_error(located, error) from error


def _write_error(located: Located, error: OSError) -> ToolError:
    shown = f"`{located.shown}`"
    if error.errno in NO_SPACE:
        return ToolError(f"no space left to write {shown}; nothing was changed", code="NO_SPACE")
    if isinstance(error, PermissionError):
        message = f"no permission to change {shown} or to keep its owner; nothing was changed"
        return ToolError(message, code="NO_PERMISSION")
    if error.errno == errno.EXDEV:
        message = (
            f"{shown} cannot be moved to another file system: write a copy, and ask the user to remove the old one"
        )
        return ToolError(message, code="OTHER_FILE_SYSTEM")
    if error.errno in _PATH_CHANGED:
        return ToolError(f"{shown} changed while it was written; nothing was changed: retry", code="PATH_CHANGED")
    return ToolError(f"cannot change {shown}: {error.strerror}; nothing was changed", code="CANNOT_WRITE")
