"""The interface of stores for results of earlier runs."""

from __future__ import annotations

from typing import Protocol


class Store(Protocol):
    """Texts by keys that determine them, such as a dictionary or the cache of earlier runs."""

    def get(self, key: str, /) -> str | None:
        """Return the text of `key`, None if there is none."""

    def __setitem__(self, key: str, text: str, /) -> None:
        """Store a text without line breaks."""
