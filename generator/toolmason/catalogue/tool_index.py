"""Open the search index of a server, for commands that search without running the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolmason_runtime.shared.search.index import ToolIndex

from toolmason.catalogue.search_index import build_index
from toolmason.catalogue.table import catalogue

if TYPE_CHECKING:
    from toolmason_runtime.shared.search.rankers import RankerFactory

    from toolmason.model.server import Server


def open_index(server: Server, ranker: RankerFactory | None = None) -> ToolIndex:
    """Return the index of all enabled tools of `server`, including those of the tier `all`.

    `ranker` replaces the ranking by words. The ranker that the manifest names is not imported.
    """
    table = catalogue(server)
    enabled = [name for name, entry in table["tools"].items() if entry.get("enabled", True)]
    load_postings = server.postings.encode if server.postings else None
    return ToolIndex(table, enabled, lambda: build_index(table), load_postings=load_postings, ranker=ranker)
