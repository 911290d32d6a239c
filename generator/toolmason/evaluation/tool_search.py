"""Search the tools of a server as its clients do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolmason_runtime.search.index import ToolIndex

from toolmason.catalogue.search_index import build_index

if TYPE_CHECKING:
    from toolmason_runtime.protocol.catalogue import Catalogue
    from toolmason_runtime.search.rankers import RankerFactory


def search_function(catalogue: Catalogue, ranker: RankerFactory | None = None) -> Callable[[str], list[str]]:
    """Return a function that returns the enabled tools that a text finds, best first.

    `ranker` replaces the ranking by words. The one that the manifest names is not used: `eval` must not import it.
    """
    tools = catalogue["tools"]
    enabled = [name for name, entry in tools.items() if entry.get("enabled", True)]
    index = ToolIndex(catalogue, enabled, lambda: build_index(catalogue), ranker=ranker)
    return lambda text: [hit.name for hit in index.search(text) if hit.name in tools]
