"""Results of the meta-tools on the wire."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from toolmason_runtime.shared.tokens import estimate_tokens
from toolmason_runtime.wire.results import WireResult, compact_json

T = TypeVar("T")

# Cached, because every search measures the same schemas and summaries.
_estimate_tokens = lru_cache(maxsize=4096)(estimate_tokens)


def token_cost(value: Any) -> int:
    """Return the estimated tokens of `value` as compact JSON."""
    return _estimate_tokens(compact_json(value))


def success_result(value: dict[str, Any]) -> WireResult:
    """Return `value` as one text block of JSON.

    Without `structuredContent`: every client shows text, and some would show the model both.
    """
    return {"content": [{"type": "text", "text": compact_json(value)}]}


def error_result(message: str | dict[str, Any]) -> WireResult:
    """Return an error result with `message`, as JSON if it is a dict."""
    text = message if isinstance(message, str) else compact_json(message)
    return {"content": [{"type": "text", "text": text}], "isError": True}


def time_limit_result(limit_s: float | None) -> WireResult:
    """Return the result of a call that has taken the maximum time of this server."""
    return error_result(f"The call was cancelled after {limit_s:g} s, the limit of this server; request less")


def with_notes(result: WireResult, notes: Sequence[str]) -> WireResult:
    """Return `result` with each note as a separate text block.

    Notes come before plain text, because clients may truncate its end, and after JSON, because programs parse the first
    block.
    """
    if not notes:
        return result
    blocks = [{"type": "text", "text": note} for note in notes]
    content = result["content"]
    return result | {"content": [*content, *blocks] if _is_json(result) else [*blocks, *content]}


def _is_json(result: WireResult) -> bool:
    if "structuredContent" in result:
        return True
    first: dict[str, Any] = next(iter(result["content"]), {})
    try:
        return isinstance(json.loads(first.get("text", "")), dict | list)
    except (ValueError, RecursionError):
        return False


def fit_budget(items: Iterable[T], budget: int, cost: Callable[[T], int] | None = None) -> list[T]:
    """Return the first of `items` that together cost at most `budget` tokens, but at least one if there are any.

    `cost` returns the tokens of an item, by default those of its JSON.
    """
    page: list[T] = []
    for item in items:
        budget -= (cost or token_cost)(item) + 1
        if page and budget < 0:
            break
        page.append(item)
    return page


def truncate(text: str, length: int) -> str:
    """Return at most `length` characters of `text`, cut at the end of a word if possible."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    return f"{head[: head.rfind(' ')] if ' ' in head else head}…"
