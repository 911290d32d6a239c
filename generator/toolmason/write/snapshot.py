"""What stands in a generated folder, read once. Nothing is followed out of it and nothing is changed."""

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
"""Maximum size of a file that is compared, and of all of them. The others cannot be read."""


class DiskFailure(Exception):  # noqa: N818 - says what is the case
    """The disk refused: `path` and `reason`, in the words of the operating system."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ReadFailed(DiskFailure):
    """A folder could not be read. Nothing was changed."""


class MisplacedFolder(Exception):  # noqa: N818 - says what is the case
    """The generated folder or the lock is a link or a device: what is written there would go elsewhere."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class Kind(Enum):
    """What an entry of a folder is, links not followed."""

    FILE = auto()
    LINK = auto()
    FOLDER = auto()
    OTHER = auto()
    """A socket, a pipe or a device: never opened."""
    UNSEEN = auto()
    """A cache or a repository, which is never looked into."""


@dataclass(slots=True)
class Snapshot:
    """The entries below `folder`, each under its path as rendered files name it."""

    folder: Path
    kinds: dict[str, Kind] = field(default_factory=dict)
    contents: dict[str, bytes | None] = field(default_factory=dict)
    """What has been read so far, or what an interrupted run will yet write; None if it cannot be read."""

    unread_bytes: int = MAX_TOTAL_BYTES
    """How much may still be read."""

    def read(self, name: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
        """Return the bytes of the file `name`, read once; None if it cannot be read or is larger than `max_bytes`."""
        if name not in self.contents:
            data = None
            with suppress(OSError):
                bound = min(max_bytes, self.unread_bytes)
                data = read_input(locate(self.folder, name), self.folder, max_bytes=bound)
                self.unread_bytes -= len(data)
            self.contents[name] = data
        return self.contents[name]

    def put(self, name: str, content: bytes) -> None:
        """See `content` at `name`, whatever stands there."""
        for parent in PurePosixPath(name).parents[:-1]:
            self.kinds[parent.as_posix()] = Kind.FOLDER
        self.kinds[name] = Kind.FILE
        self.contents[name] = content

    def put_link(self, name: str) -> None:
        """See a symbolic link at `name`."""
        self.kinds[name] = Kind.LINK

    def drop(self, name: str) -> None:
        """See nothing at `name`."""
        self.kinds.pop(name, None)
        self.contents.pop(name, None)


def take_snapshot(folder: Path) -> Snapshot:
    """List `folder`, which need not exist.

    Raises:
        ReadFailed: it is no folder, or it or one below it cannot be listed.
    """
    snapshot = Snapshot(folder)
    pending = [""] if os.path.lexists(folder) else []
    # Not recursive: folders can be nested deeper than calls.
    while pending:
        prefix = pending.pop()
        kinds = _list(locate(folder, prefix), prefix)
        snapshot.kinds.update(kinds)
        pending += [f"{name}/" for name, kind in kinds.items() if kind is Kind.FOLDER]
    return snapshot


def require_real(folder: Path) -> None:
    """Check that `folder` is not a link.

    Raises:
        MisplacedFolder: it is one.
    """
    # On Windows a junction leads elsewhere too, and only Python 3.12 and later can name it.
    if folder.is_symlink() or getattr(os.path, "isjunction", lambda _: False)(folder):
        raise MisplacedFolder(folder, "it is a link")


def locate(folder: Path, name: str) -> Path:
    """Give the place of `name` in `folder`: in UTF-8, whatever the locale says."""
    return folder / os.fsdecode(name.encode("utf-8", "surrogateescape"))


def is_hidden(name: str) -> bool:
    """Whether `name` or a folder it lies in begins with a dot."""
    return name.startswith(".") or "/." in name


def _list(folder: Path, prefix: str) -> dict[str, Kind]:
    """Return the entries of one folder, or only the folder itself if it is a cache."""
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except FileNotFoundError:
        return {}  # Gone since its name was read.
    except OSError as error:
        raise ReadFailed(folder, error.strerror or str(error)) from error
    if prefix and any(entry.name == _CACHE_TAG for entry in found):
        return {prefix.removesuffix("/"): Kind.UNSEEN}
    return {prefix + os.fsencode(entry.name).decode("utf-8", "surrogateescape"): _kind(entry) for entry in found}


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return Kind.LINK
    if entry.name in SKIPPED_NAMES:
        return Kind.UNSEEN
    if entry.is_dir(follow_symlinks=False):
        return Kind.FOLDER
    return Kind.FILE if entry.is_file(follow_symlinks=False) else Kind.OTHER
