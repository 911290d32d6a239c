"""What stands in a generated folder, read once. Nothing is followed out of it and nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path, PurePosixPath

STAGING = ".toolwright-staging"
"""The folder, inside the generated one, in which a run prepares its files."""

_UNSEEN = frozenset({"__pycache__", ".git", STAGING})
_CACHE_TAG = "CACHEDIR.TAG"  # https://bford.info/cachedir/


class DiskFailure(Exception):  # noqa: N818 - says what is the case
    """The disk refused: `path` and `reason`, in the words of the operating system."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class ReadFailed(DiskFailure):
    """A folder could not be read. Nothing was changed."""


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

    def read(self, name: str) -> bytes | None:
        """Give the bytes of the file `name`, read once; None if it cannot be read."""
        if name not in self.contents:
            try:
                self.contents[name] = locate(self.folder, name).read_bytes()
            except OSError:
                self.contents[name] = None
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
    if os.path.lexists(folder):
        snapshot.kinds.update(_walk(folder, ""))
    return snapshot


def locate(folder: Path, name: str) -> Path:
    """Give the place of `name` in `folder`: in UTF-8, whatever the locale says."""
    return folder / os.fsdecode(name.encode("utf-8", "surrogateescape"))


def is_hidden(name: str) -> bool:
    """Whether `name` or a folder it lies in begins with a dot."""
    return name.startswith(".") or "/." in name


def _walk(folder: Path | str, prefix: str) -> Iterator[tuple[str, Kind]]:
    try:
        with os.scandir(folder) as entries:
            found = list(entries)
    except FileNotFoundError:
        return  # Gone since its name was read.
    except OSError as error:
        raise ReadFailed(Path(folder), error.strerror or str(error)) from error
    if prefix and any(entry.name == _CACHE_TAG for entry in found):
        yield prefix.removesuffix("/"), Kind.UNSEEN
        return
    for entry in found:
        name = prefix + os.fsencode(entry.name).decode("utf-8", "surrogateescape")
        kind = _kind(entry)
        yield name, kind
        if kind is Kind.FOLDER:
            yield from _walk(entry.path, f"{name}/")


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_symlink():
        return Kind.LINK
    if entry.name in _UNSEEN:
        return Kind.UNSEEN
    if entry.is_dir(follow_symlinks=False):
        return Kind.FOLDER
    return Kind.FILE if entry.is_file(follow_symlinks=False) else Kind.OTHER
