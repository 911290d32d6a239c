"""Results of earlier runs by the hash of their input, such as parsed tables, converted schemas and formatted Python.

An edit of the manifest leaves most of them valid. A project has one file in the user's cache directory. Its first line
has a hash of the toolkit and a hash of the entries; if either differs, the file is ignored. Each further line is an
entry.

In CI, the file may come from any earlier job, also of a stranger's change, and decides whether `check` passes. It is
used there only if `TOOLMASON_CI_CACHE` is `1`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from toolmason.project import Project
from toolmason.write.cache import is_ci, is_toolkit_unchanged, project_path, toolkit_fingerprint
from toolmason.write.user_cache import read_cached, remove_old, write_cached

CI_VARIABLE: Final = "TOOLMASON_CI_CACHE"
"""Environment variable that permits the cache in CI."""
MAX_BYTES: Final = 256 * 1024 * 1024
"""Maximum size of the file; about 8 MB are used for 1,000 tools."""


class ContentCache:
    """The entries of one project: those of earlier runs and those that this run adds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stored = _load(path)
        self._used: dict[str, str] = {}

    def get(self, key: str, /) -> str | None:
        """Return the text of `key`; None if it is not stored."""
        text = self._used.get(key) or self._stored.get(key)
        if text is not None:
            self._used[key] = text
        return text

    def __setitem__(self, key: str, text: str, /) -> None:
        """Store a text without line breaks. The key must determine it, together with the toolkit."""
        self._used[key] = text

    def save(self) -> None:
        """Write the entries if there are new ones. Errors of the file system are ignored.

        Entries that this run has not used, such as those of another branch, are kept up to the size of the used ones.
        """
        if self._used.keys() <= self._stored.keys():
            return
        lines = [f"{key}\t{text}" for key, text in self._used.items()]
        remaining = sum(map(len, lines))
        for key, text in self._stored.items():
            remaining -= 0 if key in self._used else len(key) + len(text)
            if remaining < 0:
                break
            if key not in self._used:
                lines.append(f"{key}\t{text}")
        with suppress(OSError):
            if not is_toolkit_unchanged():
                return
            body = "\n".join(lines).encode("utf-8", "surrogatepass")
            if len(body) < MAX_BYTES:
                write_cached(self._path, f"{_header(body)}\n".encode() + body)
                remove_old(self._path.parent, "content-", "run-")


def content_cache(project: Project) -> ContentCache | None:
    """Return the cache of `project`; None without a cache directory and, unless permitted, in CI."""
    path = content_cache_path(project)
    return ContentCache(path) if path else None


def content_cache_path(project: Project) -> Path | None:
    """Return the path of the file with the entries of `project`; None without a cache directory or permission."""
    is_permitted = not is_ci() or os.environ.get(CI_VARIABLE) == "1"
    return project_path(project, "content") if is_permitted else None


def _load(path: Path) -> dict[str, str]:
    """Return the entries of a file; none if it is damaged or of another version of the toolkit."""
    with suppress(OSError, ValueError):
        header, _, body = read_cached(path, max_bytes=MAX_BYTES).partition(b"\n")
        if header.decode() == _header(body):
            # Not `splitlines`: JSON escapes line feeds, but no other line ends.
            lines = body.decode("utf-8", "surrogatepass").split("\n")
            return {key: text for key, _, text in (line.partition("\t") for line in lines)}
    return {}


def _header(body: bytes) -> str:
    return f"{toolkit_fingerprint()} {sha256(body).hexdigest()}"
