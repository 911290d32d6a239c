"""Results of earlier runs by the hash of their input, such as parsed tables, converted schemas and formatted Python.

An edit of the manifest leaves most of them valid. A project has one file in the user's cache directory: a line with a
hash of the toolkit and the size of the index, the index with the key and the size of each entry, the texts of the
entries, and a checksum. If the hash or the checksum differs, the file is ignored. The texts stay on disk until they are
used: those of 10,000 tools have 90 MB.

In CI, the file may come from any earlier job, also of a stranger's change, and decides whether `check` passes. It is
used there only if `TOOLMASON_CI_CACHE` is `1`.
"""

from __future__ import annotations

import json
import os
import weakref
from binascii import crc32
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Final, NamedTuple

from toolmason.project import Project
from toolmason.user_directory import is_ci
from toolmason.write.cache import project_path, toolkit_fingerprint
from toolmason.write.user_cache import open_cached, remove_old, write_cached

CI_VARIABLE: Final = "TOOLMASON_CI_CACHE"
"""Environment variable that permits the cache in CI."""
MAX_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of the file; about 9 MB are used for 1,000 tools."""
MAX_NEW_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes of new entries in memory. If there are more, a temporary file contains them until they are saved."""
_CHUNK_BYTES: Final = 1024 * 1024
_CHECKSUM_BYTES: Final = 8
"""A CRC-32 in hexadecimal. It detects damage: only this user can write the file."""


class _Entry(NamedTuple):
    """The place of a text in a file."""

    start: int
    size: int


class ContentCache:
    """The entries of one project: those of earlier runs and those that this run adds. `save` closes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stored: Mapping[str, _Entry] = {}
        """The entries of earlier runs by their key."""
        self._file: IO[bytes] | None = None
        """The file with their texts."""
        with suppress(OSError, ValueError):
            self._file, self._stored = _open(path)
        self._used: set[str] = set()
        """Keys of those entries that this run has used."""
        self._new: dict[str, _Entry] = {}
        """The entries that this run adds."""
        self._new_file: IO[bytes] = SpooledTemporaryFile(MAX_NEW_BYTES)  # noqa: SIM115 - closed below
        self._new_bytes = 0
        self._is_disk_full = False
        """Whether an entry could not be stored. `save` then writes nothing."""
        self._close = weakref.finalize(self, _close_all, self._file, self._new_file)

    def get(self, key: str, /) -> str | None:
        """Return the text of `key`; None if it is not stored."""
        if (entry := self._new.get(key)) is not None:
            return self._read_new(entry).decode("utf-8", "surrogatepass")
        if self._file is None or (entry := self._stored.get(key)) is None:
            return None
        self._used.add(key)
        return _read(self._file, entry).decode("utf-8", "surrogatepass")

    def use(self, key: str) -> bool:
        """Return whether `key` is stored, and keep it: `get` may be called later, or never."""
        if key in self._stored:
            self._used.add(key)
            return True
        return key in self._new

    def __setitem__(self, key: str, text: str, /) -> None:
        """Store a text. The key must determine it, together with the toolkit."""
        if self._is_disk_full:
            return
        data = text.encode("utf-8", "surrogatepass")
        try:
            self._new_file.write(data)
            self._new_file.flush()  # The buffer of the file would report a full disk at a later read.
        except OSError:
            self._is_disk_full = True
            self._new.clear()  # The file may lack parts of them.
            _close_all(self._new_file)  # Others need the space.
            return
        self._new[key] = _Entry(self._new_bytes, len(data))
        self._new_bytes += len(data)

    def save(self) -> None:
        """Write the entries if there are new ones. Call this only if `is_toolkit_unchanged()` is true.

        Errors of the file system are ignored.

        Entries that this run has not used, such as those of another branch, are kept up to the size of the used ones.
        """
        with suppress(OSError):
            if not self._is_disk_full and any(self._is_new(key, entry) for key, entry in self._new.items()):
                self._write(self._kept())
        self._close()

    def _is_new(self, key: str, entry: _Entry) -> bool:
        stored = self._stored.get(key)
        return stored is None or self._file is None or _read(self._file, stored) != self._read_new(entry)

    def _read_new(self, entry: _Entry) -> bytes:
        data = _read(self._new_file, entry)
        self._new_file.seek(self._new_bytes)
        return data

    def _kept(self) -> dict[str, _Entry]:
        """Return the entries of earlier runs that are kept."""
        others = {key: entry for key, entry in self._stored.items() if key not in self._new}
        kept = {key: entry for key, entry in others.items() if key in self._used}
        total = _total(kept) + _total(self._new)
        remaining = min(total, MAX_BYTES - total)
        for key, entry in others.items():
            if key in kept:
                continue
            remaining -= entry.size
            if remaining < 0:
                break
            kept[key] = entry
        return kept

    def _write(self, kept: Mapping[str, _Entry]) -> None:
        sizes = {key: entry.size for entries in (kept, self._new) for key, entry in entries.items()}
        index = json.dumps([[*sizes], [*sizes.values()]]).encode()
        head = f"{toolkit_fingerprint()} {len(index)}\n".encode()
        if len(head) + len(index) + sum(sizes.values()) + _CHECKSUM_BYTES > MAX_BYTES:
            return

        def parts() -> Iterator[bytes]:
            yield from (head, index)
            for file, entries in ((self._file, kept), (self._new_file, self._new)):
                if file:
                    yield from _copied(file, entries.values())
            self._close()  # Windows does not replace an open file.

        write_cached(self._path, _with_checksum(parts()))
        remove_old(self._path.parent, "content-", "run-")


def content_cache(project: Project) -> ContentCache | None:
    """Return the cache of `project`; None without a cache directory and, unless permitted, in CI."""
    path = content_cache_path(project)
    return ContentCache(path) if path else None


def content_cache_path(project: Project) -> Path | None:
    """Return the path of the file with the entries of `project`; None without a cache directory or permission."""
    is_permitted = not is_ci() or os.environ.get(CI_VARIABLE) == "1"
    return project_path(project, "content") if is_permitted else None


def _open(path: Path) -> tuple[IO[bytes], dict[str, _Entry]]:
    """Return the open file of earlier runs, and its entries by their key.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged or of another version of the toolkit.
    """
    file = open_cached(path, max_bytes=MAX_BYTES)
    try:
        return file, _load(file)
    except BaseException:
        file.close()
        raise


def _load(file: IO[bytes]) -> dict[str, _Entry]:
    head = file.readline()
    fingerprint, _, index_bytes = head.decode().partition(" ")
    if fingerprint != toolkit_fingerprint():
        raise ValueError(fingerprint)
    index = file.read(min(int(index_bytes), MAX_BYTES))
    start = file.tell()
    end = file.seek(0, os.SEEK_END) - _CHECKSUM_BYTES
    checksum = crc32(index, crc32(head))
    for chunk in _chunks(file, start, end):
        checksum = crc32(chunk, checksum)
    if file.read() != _checksum_text(checksum):
        raise ValueError(checksum)
    keys, sizes = json.loads(index)
    places = accumulate(sizes, initial=start)
    return {key: _Entry(place, size) for key, place, size in zip(keys, places, sizes, strict=False)}


def _checksum_text(checksum: int) -> bytes:
    return f"{checksum:0{_CHECKSUM_BYTES}x}".encode()


def _with_checksum(parts: Iterable[bytes]) -> Iterator[bytes]:
    checksum = 0
    for part in parts:
        checksum = crc32(part, checksum)
        yield part
    yield _checksum_text(checksum)


def _read(file: IO[bytes], entry: _Entry) -> bytes:
    file.seek(entry.start)
    return file.read(entry.size)


def _chunks(file: IO[bytes], start: int, end: int) -> Iterator[bytes]:
    """Yield the content of a file between two places."""
    file.seek(start)
    while start < end and (chunk := file.read(min(_CHUNK_BYTES, end - start))):
        start += len(chunk)
        yield chunk


def _copied(file: IO[bytes], entries: Iterable[_Entry]) -> Iterator[bytes]:
    """Yield the texts of entries. Texts that follow one another in the file are read together."""
    start = end = 0
    for entry in entries:
        if entry.start != end:
            yield from _chunks(file, start, end)
            start = entry.start
        end = entry.start + entry.size
    yield from _chunks(file, start, end)


def _total(entries: Mapping[str, _Entry]) -> int:
    return sum(entry.size for entry in entries.values())


def _close_all(*files: IO[bytes] | None) -> None:
    for file in files:
        if file:
            with suppress(OSError):  # A full disk refuses what the buffer has.
                file.close()
