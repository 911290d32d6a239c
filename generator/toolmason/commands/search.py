"""The search index from a terminal: what a model would find, and why each hit came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from toolmason_runtime.discovery import style_for
from toolmason_runtime.protocol.selection import Selection
from toolmason_runtime.search.index import Reason
from toolmason_runtime.search.text import terms

from toolmason.catalogue.search_index import FIELDS, build_index, field_terms
from toolmason.catalogue.table import catalogue
from toolmason.model.server import Server

_REASONS: dict[Reason, str] = {
    "name": "its name, as typed",
    "literal": "its text contains the query as typed",
    "spelling": "words spelled alike",
    "rest": "few tools: all are shown",
    "browse": "no query: all are shown",
}
_FIELD_WORDS = {
    "parameter_texts": "parameter descriptions",
    "parameters": "parameter names",
    "use_cases": "use cases",
    "values": "choices",
}
"""What people call the fields of the index; the rest are called what they are."""


@dataclass(frozen=True, slots=True)
class Found:
    """A hit. `fields` says where the query's terms stand: `("term", ("name", "summary"))`, terms as in the query."""

    tool: str
    summary: str
    reason: Reason
    fields: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def why(self) -> tuple[str, ...]:
        """Say in words why it came, a line a term."""
        width = max((len(term) for term, _ in self.fields), default=0)
        said = _REASONS.get(self.reason)
        matched = (
            f"{term:{width}}  in {', '.join(_FIELD_WORDS.get(name, name) for name in names)}"
            for term, names in self.fields
        )
        return (*([said] if said else []), *matched)


def search(server: Server, query: str, *, limit: int) -> tuple[tuple[Found, ...], int]:
    """Give the first `limit` hits for `query` among all enabled tools of `server`, and how many there are."""
    served = catalogue(server)

    def load_index() -> dict[str, Any]:
        return cast("dict[str, Any]", build_index(served))

    selection = Selection(server.discovery.style, all_tools=True)
    hits = style_for(served, selection, load_index).index.search(query)
    asked = dict.fromkeys(terms(query))
    found = []
    for hit in hits[:limit]:
        held = field_terms(hit.entry, served)
        places = ((term, tuple(name for name in FIELDS if term in held[name])) for term in asked)
        matched = tuple((term, names) for term, names in places if names)
        found.append(Found(hit.name, hit.entry["summary"], hit.reason, matched))
    return tuple(found), len(hits)


def report_search(server: Server, query: str, *, limit: int) -> str:
    """Write the hits for `query`, each with its summary and why it came."""
    found, total = search(server, query, limit=limit)
    if not found:
        return f"nothing found for `{query}` in {len(server.tools)} tools\n"
    lines = []
    for place, each in enumerate(found, 1):
        lines.append(f"{place:>2}. {each.tool}  {each.summary}\n")
        lines += [f"    {why}\n" for why in each.why]
    if total > len(found):
        lines.append(f"{total - len(found)} more; --limit shows them\n")
    return "".join(lines)
