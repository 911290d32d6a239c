"""Load the ranking that `[discovery] ranker = "module:factory"` specifies instead of the ranking by words."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Protocol, cast

from toolmason_runtime.shared.catalogue import ToolEntry


class Ranker(Protocol):
    """A ranking of tools. Its hits come after those of names and literal matches, before those of similar spelling."""

    def rank(self, query: str) -> Mapping[str, float]:
        """Return scores by tool name, higher is better. A missing tool, or a score of 0 or less, is no match."""
        ...


RankerFactory = Callable[[Ranker, Mapping[str, ToolEntry]], Ranker]
"""Takes the ranking by words, whose scores can be reused, and the visible tools by name; returns a ranking."""


def load_ranker(spec: str) -> RankerFactory:
    """Import the factory of a ranking. Only for a trusted `spec`: an import executes the module.

    Args:
        spec: `module:factory`, with the module as in an import statement.

    Raises:
        ValueError: `spec` is not `module:factory`, the import failed, or the module has no such function.
    """
    module, _, name = spec.partition(":")
    if not module or not name:
        raise ValueError(f"ranker `{spec}` must be `module:factory`")
    try:
        factory = getattr(importlib.import_module(module), name)
    except Exception as error:  # the module may raise anything
        raise ValueError(f"ranker `{spec}` cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(factory):
        raise ValueError(f"ranker `{spec}` must be a function, not {type(factory).__name__}")  # noqa: TRY004  of the spec
    return cast("RankerFactory", factory)


def lazy_ranker(spec: str) -> RankerFactory:
    """Return a factory that imports and calls the factory of `spec`."""

    def make(words: Ranker, tools: Mapping[str, ToolEntry]) -> Ranker:
        return load_ranker(spec)(words, tools)

    return make
