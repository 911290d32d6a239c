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
        "lastid",
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
_PAGES: Final = frozenset({"page", "pagenumber", "pageno", "pageindex"})
_OFFSETS: Final = frozenset({"offset", "skip", "startat", "pageoffset", "pagestart"})
_UNCLEAR: Final = frozenset({"start", "from", "startindex", "pageindex"})
"""Names of a number whose first value is not the same everywhere: the document must specify it."""
_LIMITS: Final = frozenset(
    {"limit", "count", "size", "rows", "top", "take", "maxresults", "pagesize", "perpage", "pagelimit", "num", "max"}
)
"""Names of the number of items of a page."""
_LAST: Final = frozenset({"startingafter", "startafter", "afterid"})
"""Names of query parameters with the last item of the page before."""
_MORE: Final = frozenset({"hasmore", "hasnext", "hasnextpage", "moreavailable", "ismoreavailable", "morerecords"})
"""Names of members that are false on the last page."""
_FROM_ZERO: Final = re.compile(
    r"\b(?:0|zero)-(?:based|indexed)|\b(?:starts?|starting|begins?|beginning|counted|counts?|indexed)\s+"
    r"(?:at|from|with)\s+(?:0|zero)\b|\bfirst page is (?:0|zero)\b",
    re.IGNORECASE,
)
_ENVELOPES: Final = re.compile(
    r"^(?:meta\w*|_?links|paging|page_?info|pagination|response_metadata|cursors?)$", re.IGNORECASE
)
_MEMBER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def pagination_of(operation: Operation, document: OpenApi) -> dict[str, Any]:
    """Return the `paginate` of an operation, empty if the document does not show how to get the next page.

    Examples: `{"next": "link"}` for a documented header `Link`, `{"cursor": "meta.next_cursor", "param": "cursor",
    "items": "data"}`, `{"page": "page"}` or `{"offset": "skip"}` for an array.
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
    path = next((path for path, inner in _scalars(shape, shapes) if _is_more(path, inner)), "")
    more = {"more": path} if path else {}
    if items and (found := _by_member(shape, shapes, query)):
        return {**found, **(more if _plain(found.get("cursor", "")).endswith("lastid") else {}), **items}
    numbered = _by_last_item(shape, shapes, query, has_more=bool(more)) or _by_number(query)
    return {**numbered, **more, **items} if numbered else {}


def _by_last_item(shape: Shape, shapes: Shapes, query: Mapping[str, Any], *, has_more: bool) -> dict[str, str]:
    """Return how the last item leads to the next page, such as `starting_after` with its `id`."""
    known = _LAST | {"after"} if has_more else _LAST
    param = next((name for name in query if _plain(name) in known), "")
    if not param:
        return {}
    lists = [shape] if shape.type == "array" else [inner for _, inner in _members(shape, shapes)]
    inner = next(shapes.reduce(each.data.get("items", {}), _ignore, "") for each in lists if each.type == "array")
    known_members = dict(_members(inner, shapes))
    wrapped = dict(_members(known_members.get("data", Shape()), shapes))
    for path, key in (("id", known_members.get("id")), ("data.id", wrapped.get("id"))):
        if key and key.type in ("string", "integer"):
            return {"last": path, "param": param}
    return {}


def _by_number(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a number in the query leads to the next page: that of the page, or of the items before it."""
    has_limit = any(_plain(name) in _LIMITS for name in query)
    for name, parameter in query.items():
        plain = _plain(name)
        is_page = plain in _PAGES
        if not (is_page or (has_limit and plain in _OFFSETS | _UNCLEAR) or plain in ("offset", "skip", "startat")):
            continue
        usual = 1 if is_page else 0
        first = _first(parameter, None if plain in _UNCLEAR else usual)
        if first is not None:
            return {"page" if is_page else "offset": name, **({"first": first} if first != usual else {})}
    return {}


def _is_more(path: str, shape: Shape) -> bool:
    return shape.type == "boolean" and _plain(path.rpartition(".")[2]) in _MORE


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


def _first(parameter: Mapping[str, Any], usual: int | None) -> int | None:
    """Return the number of the first page or item; `usual` if the document lacks it, None without a number."""
    schema = table(parameter.get("schema"))
    if schema.get("type") not in ("integer", "number"):
        return None
    for key in ("default", "minimum"):
        value = schema.get(key)
        if value in (0, 1) and not isinstance(value, bool):
            return int(value)
    described = f"{text(parameter.get('description'))}\n{text(schema.get('description'))}"
    return 0 if _FROM_ZERO.search(described) else usual


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _ignore(kind: str, detail: str) -> None:
    """Record nothing: an answer without known pages is no loss."""
