"""Open the search index of a server, for commands that search without running the server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolmason_runtime.shared.search.index import ToolIndex

from toolmason.catalogue.search_index import build_index
from toolmason.catalogue.table import catalogue

if TYPE_CHECKING:
    from toolmason_runtime.shared.catalogue import Catalogue
    from toolmason_runtime.shared.search.postings import SemanticPostings
    from toolmason_runtime.shared.search.rankers import RankerFactory

    from toolmason.model.server import Server


def open_index(server: Server, ranker: RankerFactory | None = None) -> ToolIndex:
    """Return the index of all enabled tools of `server`, including those of the tier `all`.

    `ranker` replaces the ranking by words. The ranker that the manifest names is not imported.
    """
    load_postings = server.postings.encode if server.postings else None
    return index_of(catalogue(server), load_postings=load_postings, ranker=ranker)


def index_of(
    table: Catalogue,
    *,
    load_postings: Callable[[], bytes | SemanticPostings] | None = None,
    ranker: RankerFactory | None = None,
) -> ToolIndex:
    """Return the index of all enabled tools of a catalogue."""
    enabled = [name for name, entry in table["tools"].items() if entry.get("enabled", True)]
    return ToolIndex(table, enabled, lambda: build_index(table), load_postings=load_postings, ranker=ranker)
