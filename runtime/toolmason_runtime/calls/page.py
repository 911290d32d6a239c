"""Data for the page of a tool (MCP Apps), from a handler to the client, which does not show it to models."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Final

PAGE_DATA: Final = "toolmason/page"
"""The member of `_meta` of a result with the data for the page."""

current_page: ContextVar[dict[str, Any] | None] = ContextVar("current_page", default=None)
"""The data of the current call; None if the client shows no page for it."""


def show_page(data: Mapping[str, Any]) -> bool:
    """Pass data to the page of the tool; return False, without an effect, if the client shows no page for this call.

    The page gets it in `_meta["toolmason/page"]` of the result. Clients with MCP Apps keep `_meta` from models, so it
    may contain secrets of the page.
    """
    page = current_page.get()
    if page is None:
        return False
    page.update(data)
    return True
