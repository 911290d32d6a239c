"""How a model gets to know the tools: one style a module, all over the same index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from toolwright_runtime.catalogue import Catalogue
from toolwright_runtime.discovery.classic import Classic
from toolwright_runtime.discovery.discover_schema import discover_schema
from toolwright_runtime.discovery.list_describe import list_describe
from toolwright_runtime.discovery.search_call import search_call
from toolwright_runtime.discovery.style import Run, Served, Style
from toolwright_runtime.index import Ranker, SearchData, ToolIndex
from toolwright_runtime.selection import Selection, visible_tools

__all__ = ["Run", "Style", "style_for"]

_STYLES: Final[Mapping[str, Callable[[Served], Style]]] = {
    "search-call": search_call,
    "list-describe": list_describe,
    "discover-schema": discover_schema,
    "classic": Classic,
}


def style_for(
    catalogue: Catalogue,
    selection: Selection,
    load_index: Callable[[], dict[str, Any]],
    *,
    ranker: Ranker | None = None,
) -> Style:
    """Make the style of `selection` over its visible tools.

    `load_index` gives the content of `search_index.json`; it is called at the first search. `ranker` takes the
    place of the words in ranking.

    Raises:
        ValueError: `selection` names a toolset that is no category.
    """
    visible = visible_tools(catalogue, selection)
    index = ToolIndex(catalogue, visible, cast("Callable[[], SearchData]", load_index), ranker=ranker)
    return _STYLES[selection.style](Served(catalogue, selection, index))
