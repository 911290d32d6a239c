"""The interface of stores for results of earlier runs."""

from __future__ import annotations

from typing import Protocol


class Store(Protocol):
    """Texts by key, such as a dictionary or `write.content_cache`. A key contains a hash of the input of its text."""

    def get(self, key: str, /) -> str | None:
        """Return the text of `key`; None if it is not stored."""

    def __setitem__(self, key: str, text: str, /) -> None:
        """Store a text without line breaks."""
