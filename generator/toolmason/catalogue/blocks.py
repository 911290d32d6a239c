"""Values of the tools of a catalogue that are stored for a few tools at a time, such as their search terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol


class Blocks(Protocol):
    """Returns the names and the value of each block of tools, from an earlier run if none of its tools has changed."""

    def __call__(
        self, kind: str, tools: Sequence[str], make: Callable[[Sequence[str]], Any], /
    ) -> Iterable[tuple[Sequence[str], Any]]:
        """`make` returns the value of the block with these tools: JSON that depends only on them and on the server."""


def one_block(
    _kind: str, tools: Sequence[str], make: Callable[[Sequence[str]], Any], /
) -> Iterable[tuple[Sequence[str], Any]]:
    """Return all tools as one block, without earlier runs."""
    return ((tools, make(tools)),)
