"""Parser of JSON in a model's answer: tolerant of its form, strict about its content.

An object is taken from prose and code fences, trailing commas and stray backslashes are repaired, and a missing end is
reported. Values of a wrong type are dropped; nothing is invented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

MAX_STARTS: Final = 64
"""Maximum opening braces that are tried."""
MAX_REPAIRED: Final = 4
"""Maximum braces at which a repair is tried, which takes linear time."""
MAX_VALUE_CHARS: Final = 4_000
"""Maximum characters of one value."""

_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
_TOKENS: Final = re.compile(r'"(?:\\.|[^"\\])*+"?|,(?=\s*+[}\]])', re.DOTALL)
r"""Strings, whose end may be missing, and trailing commas: `"a\"b"`, `, ]`."""
_ESCAPE: Final = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}|(.?))', re.DOTALL)
r"""An escape of JSON; the group matches the character after a stray backslash: `\d`."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed object. `is_cut`: the text ended inside it."""

    data: dict[str, Any]
    is_cut: bool = False


def find_object(text: str, keys: Iterable[str]) -> Parsed | None:
    """Return the first object in `text` with one of `names`, or None."""
    keys = set(keys)
    start = text.find("{")
    for attempt in range(MAX_STARTS):
        if start < 0:
            return None
        data, end = _decode(text, start)
        if isinstance(data, dict) and keys & data.keys():
            return Parsed(data)
        if data is None and attempt < MAX_REPAIRED and (parsed := _repair(text[start:], keys)):
            return parsed
        start = text.find("{", end)
    return None


def _decode(text: str, start: int) -> tuple[Any, int]:
    """Return the value at `start` and its end; None and the next position if there is none."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start + 1


def _repair(text: str, keys: set[str]) -> Parsed | None:
    mended = _TOKENS.sub(lambda token: "" if token[0] == "," else _ESCAPE.sub(_escape, token[0]), text)
    data, _ = _decode(mended, 0)
    if isinstance(data, dict):
        return Parsed(data) if keys & data.keys() else None
    return _parse_incomplete(mended, keys)


def _parse_incomplete(text: str, keys: set[str]) -> Parsed | None:
    """Parse an object without its end. One that is invalid in the middle is rejected: half of it could mislead."""
    from pydantic_core import from_json

    try:
        from_json(text)
    except ValueError as error:
        if not str(error).startswith("EOF while parsing"):
            return None
    try:
        data = from_json(text, allow_inf_nan=False, allow_partial="trailing-strings")
    except ValueError:
        return None
    return Parsed(data, is_cut=True) if isinstance(data, dict) and keys & data.keys() else None


def _escape(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else f"\\\\{match[1]}"


def parse_text(value: Any, *, max_chars: int = MAX_VALUE_CHARS) -> str:
    """Return a text, or the lines of a list of texts; empty for any other type."""
    if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
        value = "\n".join(value)
    if not isinstance(value, str):
        return ""
    text = value.encode("utf-8", "replace").decode("utf-8").replace("\0", "").strip()
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


def parse_objects(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def parse_object(value: Any) -> dict[str, Any]:
    """Return an object; empty for any other type."""
    return value if isinstance(value, dict) else {}


def parse_texts(value: Any) -> list[str]:
    """Return the texts of a list that are not blank, or a single text."""
    values = value if isinstance(value, list) else [value]
    return [text for item in values if isinstance(item, str) and (text := parse_text(item))]


def parse_int(value: Any) -> int | None:
    """Return a whole number of at most seven digits, also from a string."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value.strip()) <= 7:
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**7:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**7 else None


def parse_choice(value: Any, choices: Sequence[str]) -> str | None:
    """Return the member of `choices` that a model's word means, ignoring case."""
    word = parse_text(value).casefold().replace("-", "_").replace(" ", "_")
    return word if word in choices else None
