"""The store in this process: small texts in memory, large ones in temporary files, both bounded."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from toolmason_runtime.chunks.text import LongText, Part, expired

MAX_TEXTS: Final = 256
"""Texts in memory. Each has at most 256 KiB, which makes 64 MiB."""
MAX_FILES: Final = 32
MAX_FILE_BYTES: Final = 512 * 1024 * 1024
"""Bytes of all temporary files together."""


class MemoryStore:
    """Keeps texts until they expire, or until newer ones need the space; the least recently used go first.

    The newest text is kept whatever its size. `problem` says why this store replaces a better one; it becomes a warning
    of each text.
    """

    def __init__(
        self,
        *,
        max_texts: int = MAX_TEXTS,
        max_files: int = MAX_FILES,
        max_file_bytes: int = MAX_FILE_BYTES,
        clock: Callable[[], float] = time.time,
        problem: str = "",
    ) -> None:
        self._max_texts = max_texts
        self._max_files = max_files
        self._max_file_bytes = max_file_bytes
        self._clock = clock
        self._problem = problem
        self._texts: dict[str, LongText] = {}
        """By key, the least recently used first."""

    async def add(self, text: LongText) -> tuple[str, ...]:
        """See `Store.add`."""
        self._texts[text.key] = text
        self._make_room()
        return (self._problem,) if self._problem else ()

    async def get(self, key: str, index: int) -> Part:
        """See `Store.get`."""
        self._drop_expired()
        if key not in self._texts:
            raise expired(key)
        text = self._texts[key] = self._texts.pop(key)
        return text.part(index)

    async def check(self) -> str:
        """See `Store.check`."""
        return self._problem

    async def aclose(self) -> None:
        """See `Store.aclose`."""
        for key in list(self._texts):
            self._drop(key)

    def __contains__(self, key: object) -> bool:
        return key in self._texts

    def _make_room(self) -> None:
        self._drop_expired()
        small = [text for text in self._texts.values() if not text.is_in_file]
        files = [text for text in self._texts.values() if text.is_in_file]
        for text in small[: -self._max_texts]:
            self._drop(text.key)
        while len(files) > 1 and self._has_too_many(files):
            self._drop(files.pop(0).key)

    def _has_too_many(self, files: list[LongText]) -> bool:
        return len(files) > self._max_files or sum(text.size for text in files) > self._max_file_bytes

    def _drop_expired(self) -> None:
        now = self._clock()
        for key in [key for key, text in self._texts.items() if text.expires <= now]:
            self._drop(key)

    def _drop(self, key: str) -> None:
        self._texts.pop(key).close()
