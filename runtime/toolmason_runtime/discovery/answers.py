"""Results of the meta-tools on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from toolmason_runtime.protocol.tokens import estimate_tokens

Result = dict[str, Any]
"""A `CallToolResult` of the MCP schema."""


def compact(value: Any) -> str:
    """Give `value` as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def cost(value: Any) -> int:
    """Estimate the tokens of `value` as a model reads it."""
    return _tokens(compact(value))


# The same schemas and summaries are weighed for each answer, and weighing them was most of a search.
_tokens = lru_cache(maxsize=4096)(estimate_tokens)


def answer(value: dict[str, Any]) -> Result:
    """Give `value` both ways: some clients show a model only the text, others only the structure."""
    return {"content": [{"type": "text", "text": compact(value)}], "structuredContent": value}


def failure(message: str | dict[str, Any]) -> Result:
    """Give an error, as text alone."""
    text = message if isinstance(message, str) else compact(message)
    return {"content": [{"type": "text", "text": text}], "isError": True}


def noted(result: Result, notes: Sequence[str]) -> Result:
    """Return `result` with each note as a text block of its own, unchanged if there is none.

    Notes come before a plain text, of which clients may cut the end, and after JSON, which programs read first.
    """
    if not notes:
        return result
    blocks = [{"type": "text", "text": note} for note in notes]
    content = result["content"]
    return result | {"content": [*content, *blocks] if _is_json(result) else [*blocks, *content]}


def _is_json(result: Result) -> bool:
    if "structuredContent" in result:
        return True
    first: dict[str, Any] = next(iter(result["content"]), {})
    try:
        return isinstance(json.loads(first.get("text", "")), dict | list)
    except (ValueError, RecursionError):
        return False


def fitting(items: Iterable[Any], budget: int) -> list[Any]:
    """Give the first of `items` that cost at most `budget` tokens together, and one at least if there is any."""
    kept: list[Any] = []
    for item in items:
        budget -= cost(item) + 1
        if kept and budget < 0:
            break
        kept.append(item)
    return kept


def shortened(text: str, length: int) -> str:
    """Cut `text` to at most `length` characters, at a word's end where there is one."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    return f"{head[: head.rfind(' ')] if ' ' in head else head}…"
