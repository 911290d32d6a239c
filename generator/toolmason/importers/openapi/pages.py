"""Pages of lists: the `paginate` of an operation whose document shows how to get the next page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolmason.importers.openapi.answers import success_schema
from toolmason.importers.openapi.document import OpenApi, Operation, UnresolvedError, table, text
from toolmason.importers.openapi.shapes import Shape, Shapes

_LINK: Final = frozenset({"next", "nexturl", "nextlink", "nextpageurl", "nextpagelink", "odatanextlink"})
_CURSOR: Final = frozenset(
    {
        "cursor",
        "nextcursor",
        "nextpagetoken",
        "nexttoken",
        "continuationtoken",
        "nextmarker",
        "endcursor",
        "nextpagecursor",
    }
)
"""Names of members with the URL of the next page, and with a cursor, without separators and in lower case."""
_PARAMS: Final = (
    "cursor",
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "marker",
    "after",
    "pagecursor",
    "nextcursor",
)
"""Names of query parameters with a cursor, the most specific first."""
_PAGES: Final = frozenset({"page", "pagenumber", "pageno"})
_ENVELOPES: Final = re.compile(
    r"^(?:meta\w*|_?links|paging|page_?info|pagination|response_metadata|cursors?)$", re.IGNORECASE
)
_MEMBER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def pagination_of(operation: Operation, document: OpenApi) -> dict[str, Any]:
    """Return the `paginate` of an operation, empty if the document does not show how to get the next page.

    Examples: `{"next": "link"}` for a documented header `Link`, `{"cursor": "meta.next_cursor", "param": "cursor",
    "items": "data"}`, `{"page": "page"}` for an array.
    """
    if operation.method != "GET":
        return {}
    shapes = Shapes(document)
    shape = shapes.reduce(success_schema(operation, document), _ignore, "")
    lists = [key for key, inner in _members(shape, shapes) if inner.type == "array"]
    if shape.type != "array" and len(lists) != 1:
        return {}
    items = {} if shape.type == "array" else {"items": lists[0]}
    if _has_link_header(operation, document):
        return {"next": "link", **items}
    query = {text(item.get("name")): item for item in operation.parameters if item.get("in") == "query"}
    if items and (found := _by_member(shape, shapes, query)):
        return {**found, **items}
    page = next((name for name in query if _plain(name) in _PAGES and _starts_at_one(query[name])), "")
    return {"page": page, **items} if page else {}


def _by_member(shape: Shape, shapes: Shapes, query: Mapping[str, Any]) -> dict[str, str]:
    """Return how a member of the answer leads to the next page."""
    scalars = list(_scalars(shape, shapes))
    for path, inner in scalars:
        name = _plain(path.rpartition(".")[2])
        if name in _CURSOR:
            own = name.removeprefix("next").removeprefix("end")
            params = {_plain(param): param for param in query}
            if wire := next((params[known] for known in (own, name, *_PARAMS) if known in params), ""):
                return {"cursor": path, "param": wire}
        is_url = (
            name != "next"
            or inner.data.get("format") in ("uri", "uri-reference", "url")
            or "previous" in shape.properties
        )
        if name in _LINK and inner.type == "string" and (is_url or "." in path):
            return {"next": path}
    return {}


def _scalars(shape: Shape, shapes: Shapes) -> Iterator[tuple[str, Shape]]:
    """Yield the paths of the plain values of an answer, and of the objects about it such as `meta`."""
    for key, inner in _members(shape, shapes):
        if inner.is_scalar:
            yield key, inner
        elif inner.type == "object" and _ENVELOPES.match(key):
            yield from ((f"{key}.{path}", value) for path, value in _scalars(inner, shapes))


def _members(shape: Shape, shapes: Shapes) -> list[tuple[str, Shape]]:
    return [
        (key, shapes.reduce(schema, _ignore, "")) for key, schema in shape.properties.items() if _MEMBER.fullmatch(key)
    ]


def _has_link_header(operation: Operation, document: OpenApi) -> bool:
    for status, response in table(operation.data.get("responses")).items():
        try:
            headers = table(document.resolved(response).get("headers"))
        except UnresolvedError:
            continue
        if str(status).startswith("2") and "link" in map(str.lower, headers):
            return True
    return False


def _starts_at_one(parameter: Mapping[str, Any]) -> bool:
    """Return whether pages are numbers from 1; a default or minimum of 0 means that they start there."""
    schema = table(parameter.get("schema"))
    return schema.get("type") in ("integer", "number") and 0 not in (schema.get("default"), schema.get("minimum"))


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _ignore(kind: str, detail: str) -> None:
    """Record nothing: an answer without known pages is no loss."""
