"""Blocks of tools, whose values are stored together, such as their search terms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol


class Blocks(Protocol):
    """Computes a value for each block of tools, or returns that of an earlier run if none of its tools has changed."""

    def __call__(
        self, kind: str, tools: Sequence[str], make: Callable[[Sequence[str]], Any], /
    ) -> Iterable[tuple[Sequence[str], Any]]:
        """Return the names of the tools and the value of each block.

        Args:
            kind: the name of the value in the store.
            tools: the names of all tools.
            make: computes the value of one block: JSON that depends only on its tools and on the server.
        """


def one_block(
    _kind: str, tools: Sequence[str], make: Callable[[Sequence[str]], Any], /
) -> Iterable[tuple[Sequence[str], Any]]:
    """Return one block with all tools: without a store, smaller blocks have no use."""
    return ((tools, make(tools)),)
