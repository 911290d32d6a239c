"""The discovery styles, one module each, all with the same index."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from toolmason_runtime.discovery.meta_tools import Run, Style, StyleContext
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.selection import Selection, visible_tools
from toolmason_runtime.shared.shown_names import ShownNames
from toolmason_runtime.shared.styles import STYLES

if TYPE_CHECKING:
    from toolmason_runtime.shared.search.rankers import RankerFactory
    from toolmason_runtime.shared.search.words import SearchData

__all__ = ["Run", "Style", "style_for"]


def style_for(
    catalogue: Catalogue,
    selection: Selection,
    load_index: Callable[[], dict[str, Any]],
    *,
    load_postings: Callable[[], bytes] | None = None,
    ranker: RankerFactory | None = None,
    expect: Callable[[ToolEntry], None] = lambda _: None,
    names: ShownNames | None = None,
    index: ToolIndex | None = None,
) -> Style:
    """Return the style of `selection` for its visible tools.

    Args:
        catalogue: the tools.
        selection: the style and the served tools.
        load_index: returns the content of `search_index.json`; called at the first search.
        load_postings: returns the content of `semantic.postings`; called at the first search. None if there is no file.
        ranker: creates the ranking that replaces that by words; called at the first search. None keeps it.
        expect: called with the tool that the model will probably call: the first one of a search, or one looked up.
        names: the names that the client sees; None for bare ones.
        index: the index of another style for the same tools; None makes one.

    Raises:
        ValueError: a toolset of `selection` is not a category.
    """
    if index is None:
        visible = visible_tools(catalogue, selection)
        load = cast("Callable[[], SearchData]", load_index)
        index = ToolIndex(catalogue, visible, load, load_postings=load_postings, ranker=ranker)
    name = STYLES[selection.style].module
    create: Callable[[StyleContext], Style] = getattr(import_module(f"{__name__}.{name}"), name)
    return create(StyleContext(catalogue, selection, index, expect, names or ShownNames()))
