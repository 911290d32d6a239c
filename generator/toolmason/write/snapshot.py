"""A snapshot of a generated directory. Links are not followed, and nothing is changed."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path, PurePosixPath
from typing import Final

from toolmason.manifest.input_files import read_input
from toolmason.model.parts import SKIPPED_NAMES

_CACHE_TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/
MAX_FILE_BYTES: Final = 16 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of one compared file and of all of them. Larger ones count as unreadable."""


class FileSystemError(Exception):
    """A file operation failed on `path`; `reason` is from the operating system."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ReadError(FileSystemError):
    """A directory cannot be read. Nothing was changed."""


class MisplacedDirectoryError(Exception):
    """The generated directory or the lock is a link or a device, so data would be written elsewhere."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Kind(Enum):
    """Kind of a directory entry. Links are not followed."""

    FILE = auto()
    LINK = auto()
    DIRECTORY = auto()
    OTHER = auto()
    """A socket, a pipe or a device: never opened."""
    SKIPPED = auto()
    """A cache or a repository: never listed."""


@dataclass(slots=True)
class Snapshot:
    """The entries below `directory` by their relative path with slashes."""

    directory: Path
    kinds: dict[str, Kind] = field(default_factory=dict)
    contents: dict[str, bytes | None] = field(default_factory=dict)
    """The contents read so far, and those that an interrupted run will write; None for an unreadable file."""

    unread_bytes: int = MAX_TOTAL_BYTES
    """Bytes that may still be read."""

    def read(self, name: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        """Return the bytes of the file `name`, read once; None if it cannot be read or is larger than `max_bytes`."""
        if name not in self.contents:
            data = None
            with suppress(OSError):
                bound = min(max_bytes, self.unread_bytes)
                data = read_input(locate(self.directory, name), self.directory, max_bytes=bound)
                self.unread_bytes -= len(data)
            self.contents[name] = data
        return self.contents[name]

    def put(self, name: str, content: bytes) -> None:
        """Replace the entry at `name` by a file with `content`."""
        for parent in PurePosixPath(name).parents[:-1]:
            self.kinds[parent.as_posix()] = Kind.DIRECTORY
        self.kinds[name] = Kind.FILE
        self.contents[name] = content

    def put_link(self, name: str) -> None:
        """Replace the entry at `name` by a symbolic link."""
        self.kinds[name] = Kind.LINK

    def drop(self, name: str) -> None:
        """Remove the entry at `name`."""
        self.kinds.pop(name, None)
        self.contents.pop(name, None)


def take_snapshot(directory: Path) -> Snapshot:
    """Return a snapshot of `directory`, empty if it does not exist.

    Raises:
        ReadError: it is not a directory, or it or a directory below it cannot be listed.
    """
    snapshot = Snapshot(directory)
    pending = [""] if os.path.lexists(directory) else []
    # Not recursive: directories can be nested deeper than the call stack allows.
    while pending:
        prefix = pending.pop()
        kinds = _list(locate(directory, prefix), prefix)
        snapshot.kinds.update(kinds)
        pending += [f"{name}/" for name, kind in kinds.items() if kind is Kind.DIRECTORY]
    return snapshot


def check_directory(directory: Path) -> None:
    """Check that `directory` is not a link.

    Raises:
        MisplacedDirectoryError: it is a link.
    """
    # A junction of Windows is a link too; `os.path.isjunction` is new in Python 3.12.
    if directory.is_symlink() or getattr(os.path, "isjunction", lambda _: False)(directory):
        raise MisplacedDirectoryError(directory, "it is a link")


def locate(directory: Path, name: str) -> Path:
    """Return the path of `name` in `directory`, encoded as UTF-8 in every locale."""
    return directory / os.fsdecode(name.encode("utf-8", "surrogateescape"))


def disk_state(path: Path) -> tuple[int, ...]:
    """Return mode, inode, size and times of a file: at least one changes if the file is changed or replaced.

    Raises:
        OSError: there is no file.
    """
    status = path.lstat()
    return status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_unchanged(path: Path, earlier: tuple[int, ...]) -> bool:
    """Return whether a file has the same `disk_state` as earlier; False if that is empty."""
    with suppress(OSError):
        return bool(earlier) and earlier == disk_state(path)
    return False


def is_hidden(name: str) -> bool:
    """Return whether `name` or one of its parents begins with a dot."""
    return name.startswith(".") or "/." in name


def _list(directory: Path, prefix: str) -> dict[str, Kind]:
    """Return the entries of one directory, or only the directory itself if it is a cache."""
    try:
        with os.scandir(directory) as entries:
            children = list(entries)
    except FileNotFoundError:
        return {}  # Removed since its parent was listed.
    except OSError as error:
        raise ReadError(directory, error.strerror or str(error)) from error
    if prefix and any(entry.name == _CACHE_TAG for entry in children):
        return {prefix.removesuffix("/"): Kind.SKIPPED}
    return {prefix + os.fsencode(entry.name).decode("utf-8", "surrogateescape"): _kind(entry) for entry in children}


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return Kind.LINK
    if entry.name in SKIPPED_NAMES:
        return Kind.SKIPPED
    if entry.is_dir(follow_symlinks=False):
        return Kind.DIRECTORY
    return Kind.FILE if entry.is_file(follow_symlinks=False) else Kind.OTHER
