"""The interface to the store of texts that are too long for one answer; `chunks.store` implements it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptText:
    """The first part of a text, and how to get the others."""

    first: str = field(repr=False)
    key: str
    """Empty if the text fits into one part: then nothing is stored."""
    total: int
    """Number of parts."""
    chars: int
    """Characters of the whole text."""
    warnings: tuple[str, ...] = ()
    """About the store, for the reader of the first part."""
    next_call: str = ""
    """The call that returns the second part, as the model sends it; empty if there is only one."""


class TextStore(ABC):
    """Cuts long texts and stores their parts."""

    @abstractmethod
    async def keep(self, text: str | Iterable[str], *, max_part_bytes: int | None = None) -> KeptText:
        """Cut a text, or the pieces of one, and store it if it has more than one part."""

    @abstractmethod
    async def once(
        self, key: str, work: Callable[[], Awaitable[str]], *, keep_s: float, on_wanted: Callable[[], None]
    ) -> str:
        """Return the text of `work`, which one process does for all that are one server."""
