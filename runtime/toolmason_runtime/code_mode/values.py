"""Values between tools and programs: the result of a call as plain data, and the value of a program as text."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from typing import Any, Final

from toolmason_runtime.discovery.python_types import may_be_json
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK
from toolmason_runtime.wire.results import WireResult

MAX_DEPTH: Final = 100
"""Levels of a value that are shown."""
_NOTE: Final = "Note: "
_END_LINE: Final = "[end of this answer of "


def value_of(entry: ToolEntry, result: WireResult) -> tuple[Any, list[str]]:
    """Return the value of a call, and the server's notes on it: structured data, or the text."""
    texts, notes = [], []
    blocks = result.get("content", [])
    for index, block in enumerate(blocks):
        text = block.get("text")
        if block.get("type") != "text" or not isinstance(text, str):
            texts.append(_placeholder(block))
        elif len(blocks) > 1 and text.startswith(_NOTE):
            notes.append(text)
        elif not (index and text.startswith(_END_LINE)):
            texts.append(text)
    structure = result.get("structuredContent")
    if entry["tool"]["name"] == FETCH_CHUNK and structure:
        following = structure["meta"].get("next")
        return structure["chunk"]["content"] + (f"\n[next: {following}]" if following else ""), notes
    if structure is not None:
        return structure, notes
    text = "\n".join(texts)
    return (_data(text) if may_be_json(entry) else text), notes


def _data(text: str) -> Any:
    """Return the value of a text that is a JSON object or array; other texts as they are."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def error_text(result: WireResult) -> str:
    """Return the text of an error result."""
    return "\n".join(block["text"] for block in result.get("content", []) if block.get("type") == "text")


def text_of(value: Any) -> str:
    """Return the value of a program as text: a string as it is, other data as JSON, else as Python."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(_plain(value, MAX_DEPTH), ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        try:
            return repr(value)
        except RecursionError:
            return f"(a {type(value).__name__} that is too deep to show)"
        except ValueError:
            kind = "an int" if isinstance(value, int) else f"a {type(value).__name__} with an int"
            digits = sys.get_int_max_str_digits()
            return f"({kind} of more than {digits:,} digits; show it in hexadecimal, by `hex`)"


def _plain(value: Any, depth: int) -> Any:
    """Return JSON for a value of a program.

    Raises:
        TypeError: it is a key of another kind.
        ValueError: it is too deep.
    """
    if depth == 0:
        raise ValueError("too deep")
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Mapping():
            return {_key(key): _plain(member, depth - 1) for key, member in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(member, depth - 1) for member in value]
        case bytes():
            return value.decode("utf-8", "backslashreplace")
    attributes = getattr(value, "attributes", None)
    return _plain(attributes, depth - 1) if isinstance(attributes, Mapping) else str(value)


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key
    return json.dumps(key) if isinstance(key, bool | int | float) or key is None else str(key)


def _placeholder(block: Mapping[str, Any]) -> str:
    kind = block.get("mimeType") or block.get("type", "content")
    uri = block.get("uri") or block.get("resource", {}).get("uri", "")
    return f"[{kind}{f' {uri}' if uri else ''}: call the tool directly to see it]"
