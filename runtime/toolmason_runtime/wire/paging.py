"""Pages of the lists of tools, prompts and resources, with opaque cursors."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

from toolmason_runtime.shared.errors import INVALID_PARAMS, MethodError


def page_of(key: str, items: Sequence[Any], cursor: Any, size: int) -> dict[str, Any]:
    """Return the page of `items` at `cursor`, under `key`, with the cursor of the next one.

    Raises:
        MethodError: the cursor is not from this list.
    """
    start = 0 if cursor is None else _decode_cursor(key, cursor)
    if cursor is not None and (start % size or not 0 < start < len(items)):
        raise MethodError(INVALID_PARAMS, "Invalid cursor")
    page: dict[str, Any] = {key: items[start : start + size]}
    if start + size < len(items):
        page["nextCursor"] = _encode_cursor(key, start + size)
    return page


def _encode_cursor(key: str, start: int) -> str:
    return urlsafe_b64encode(f"{key}:{start}".encode()).decode()


def _decode_cursor(key: str, cursor: Any) -> int:
    """Return the index of the first item of a page.

    Raises:
        MethodError: the cursor is not from this list.
    """
    try:
        kind, _, start = urlsafe_b64decode(cursor).decode().partition(":")
        if kind == key and _encode_cursor(key, int(start)) == cursor:
            return int(start)
    except (TypeError, ValueError):
        pass
    raise MethodError(INVALID_PARAMS, "Invalid cursor")
