"""Results of earlier runs by the hash of their input, such as parsed tables, converted schemas and formatted Python.

An edit of the manifest leaves most of them valid. A project has one file in the user's cache directory. Its first line
has a hash of the toolkit and a hash of the entries; if either differs, the file is ignored. Each further line is an
entry.

In CI, the file may come from any earlier job, also of a stranger's change, and decides whether `check` passes. It is
used there only if `TOOLMASON_CI_CACHE` is `1`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Final

from toolmason.project import Project
from toolmason.user_directory import is_ci
from toolmason.write.cache import project_path, toolkit_fingerprint
from toolmason.write.user_cache import read_cached, remove_old, write_cached

CI_VARIABLE: Final = "TOOLMASON_CI_CACHE"
"""Environment variable that permits the cache in CI."""
MAX_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of the file; about 9 MB are used for 1,000 tools."""


class ContentCache:
    """The entries of one project: those of earlier runs and those that this run adds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stored = _load(path)
        """The lines of the file, by their key."""
        self._used: set[str] = set()
        """Keys of those lines that this run has used."""
        self._new: dict[str, bytes] = {}
        """The lines that this run adds, encoded as in the file, the only copy in memory."""

    def get(self, key: str, /) -> str | None:
        """Return the text of `key`; None if it is not stored."""
        if (line := self._new.get(key)) is None:
            if (line := self._stored.get(key)) is None:
                return None
            self._used.add(key)
        return line.partition(b"\t")[2].decode("utf-8", "surrogatepass")

    def use(self, key: str) -> bool:
        """Return whether `key` is stored, and keep it: `get` may be called later, or never."""
        if key in self._stored:
            self._used.add(key)
            return True
        return key in self._new

    def __setitem__(self, key: str, text: str, /) -> None:
        """Store a text without line breaks. The key must determine it, together with the toolkit."""
        self._new[key] = _line(key, text)

    def save(self) -> None:
        """Write the entries if there are new ones. Call this only if `is_toolkit_unchanged()` is true.

        Errors of the file system are ignored.

        Entries that this run has not used, such as those of another branch, are kept up to the size of the used ones.
        """
        if all(line == self._stored.get(key) for key, line in self._new.items()):
            return
        lines = [line for key, line in self._stored.items() if key in self._used and key not in self._new]
        lines += self._new.values()
        total = sum(map(len, lines)) + len(lines)
        remaining = min(total, MAX_BYTES - total - 1)
        for key, line in self._stored.items():
            if key in self._used or key in self._new:
                continue
            remaining -= len(line) + 1
            if remaining < 0:
                break
            lines.append(line)
            total += len(line) + 1
        with suppress(OSError):
            if total < MAX_BYTES:
                write_cached(self._path, _header(lines), *chain.from_iterable((b"\n", line) for line in lines))
                remove_old(self._path.parent, "content-", "run-")


def content_cache(project: Project) -> ContentCache | None:
    """Return the cache of `project`; None without a cache directory and, unless permitted, in CI."""
    path = content_cache_path(project)
    return ContentCache(path) if path else None


def content_cache_path(project: Project) -> Path | None:
    """Return the path of the file with the entries of `project`; None without a cache directory or permission."""
    is_permitted = not is_ci() or os.environ.get(CI_VARIABLE) == "1"
    return project_path(project, "content") if is_permitted else None


def _load(path: Path) -> dict[str, bytes]:
    """Return the lines of a file by their key; none if it is damaged or of another version of the toolkit.

    The lines are decoded when they are used, because the file of 10,000 tools has 90 MB.
    """
    with suppress(OSError, ValueError):
        # JSON escapes line feeds.
        header, *lines = read_cached(path, max_bytes=MAX_BYTES).split(b"\n")
        if header == _header(lines):
            return {line.partition(b"\t")[0].decode("utf-8", "surrogatepass"): line for line in lines}
    return {}


def _line(key: str, text: str) -> bytes:
    return f"{key}\t{text}".encode("utf-8", "surrogatepass")


def _header(lines: Iterable[bytes]) -> bytes:
    """Return the first line of a file with `lines`."""
    whole = sha256()
    for line in lines:
        whole.update(line)
        whole.update(b"\n")
    return f"{toolkit_fingerprint()} {whole.hexdigest()}".encode()
