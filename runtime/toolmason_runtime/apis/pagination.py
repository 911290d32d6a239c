"""Pages of an answer: the request of the next one, and all of them joined. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from toolmason_runtime.apis.request import Request, join_url, query_value, text_of
from toolmason_runtime.remote import links
from toolmason_runtime.shared.specs.request import Pagination

next_link = links.next_link
MAX_CURSOR: Final = 8_192
"""Characters of a cursor or of the URL of a page: as many as servers accept in a request line."""


def member(value: Any, path: str) -> Any:
    """Return the member of an object at a path such as `meta.next`; None if it is absent."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def items_of(pagination: Pagination, page: Any) -> list[Any] | None:
    """Return the items of a page; None if it has none because it has another form."""
    items = member(page, pagination.items) if pagination.items else page
    if items is None and isinstance(page, dict):
        return []
    return items if isinstance(items, list) else None


def next_request(
    pagination: Pagination, request: Request, page: Any, *, url: str, headers: Mapping[str, str]
) -> Request | None:
    """Return the request of the page after `page`, which has been read from `url`; None after the last one."""
    if pagination.more and member(page, pagination.more) is False:
        return None
    if name := pagination.page or pagination.offset:
        if not (items := items_of(pagination, page)):
            return None
        first = pagination.first if pagination.first is not None else int(bool(pagination.page))
        number = query_value(request.url, name) or str(first)
        step = 1 if pagination.page else len(items)
        return request.with_query(name, str(int(number) + step)) if number.isdecimal() else None
    if pagination.cursor or pagination.last:
        items = items_of(pagination, page) if pagination.last else None
        cursor = (
            member(page, pagination.cursor) if pagination.cursor else member((items or [None])[-1], pagination.last)
        )
        has_cursor = isinstance(cursor, str | int) and not isinstance(cursor, bool) and cursor != ""
        following = request.with_query(pagination.param, text_of(cursor)) if has_cursor else None
    else:
        link = next_link(headers.get("link", "")) if pagination.next == "link" else member(page, pagination.next)
        following = replace(request, url=join_url(url, link)) if isinstance(link, str) and link else None
    return None if following == request else following


def outline(pagination: Pagination, page: Any) -> Any:
    """Return a page with nothing but the members that `items_of` and `next_request` read.

    It has one item at most, and null for each item if their number counts.
    """
    items = items_of(pagination, page)
    if items and pagination.last:
        path = pagination.last
        items = [_with_member({}, path.split("."), _short(member(items[-1], path)))]
    elif items is not None:
        items = [None] * (len(items) if pagination.offset else bool(items))
    if not pagination.items:
        return items
    part = _with_member({}, pagination.items.split("."), items)
    for path in filter(
        None, (pagination.cursor, pagination.more, "" if pagination.next == "link" else pagination.next)
    ):
        part = _with_member(part, path.split("."), _short(member(page, path)))
    return part


def _short(value: Any) -> Any:
    """Return a value that leads to the next page, None for any other."""
    is_short = isinstance(value, int) or (isinstance(value, str) and len(value) <= MAX_CURSOR)
    return value if is_short else None


def joined(pagination: Pagination, pages: Sequence[Any], *, items_only: bool = False) -> Any:
    """Return the last page with the items of all pages, or those alone."""
    items = [item for page in pages for item in items_of(pagination, page) or ()]
    if items_only:
        return items
    return _with_member(pages[-1], pagination.items.split("."), items) if pagination.items else items


def _with_member(value: Any, path: Sequence[str], member_value: Any) -> Any:
    if not path:
        return member_value
    inner = value.get(path[0]) if isinstance(value, dict) else None
    return {**(value if isinstance(value, dict) else {}), path[0]: _with_member(inner, path[1:], member_value)}
