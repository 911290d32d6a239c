"""Values that are computed from the entry of a tool, and kept: each answer of a search needs those of several tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from toolmason_runtime.shared.catalogue import ToolEntry

MAX_KEPT = 4096
"""Maximum number of kept values: a server of more tools forgets the oldest."""

T = TypeVar("T")


class PerTool(Generic[T]):
    """Returns `make(entry)`, computed once while a tool has the same entry.

    Args:
        make: computes a value that depends only on the entry.
    """

    def __init__(self, make: Callable[[ToolEntry], T]) -> None:
        self._make = make
        self._kept: dict[str, tuple[ToolEntry, T]] = {}

    def __call__(self, entry: ToolEntry) -> T:
        """Return the value of a tool."""
        name = entry["tool"]["name"]
        kept = self._kept.get(name)
        if kept is not None and kept[0] is entry:
            return kept[1]
        value = self._make(entry)
        if len(self._kept) >= MAX_KEPT:
            self._kept.pop(next(iter(self._kept)), None)  # another thread may have removed it
        self._kept[name] = (entry, value)
        return value
