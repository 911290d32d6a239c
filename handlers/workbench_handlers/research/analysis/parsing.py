"""What a model wrote instead of JSON, read as far as it is meant, and never further.

An object is taken from prose and fences, trailing commas and stray backslashes are mended, an end that is missing is
noted. Whatever has another type than it should is left out; nothing is made up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

MAX_STARTS: Final = 64
"""Opening braces at which an object is looked for."""
MAX_MENDED: Final = 4
"""Of those, the ones at which it is also looked for by mending: that takes time in proportion to the text."""
MAX_TEXT: Final = 4_000
"""Characters of one value."""

_DECODER: Final = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
_TOKENS: Final = re.compile(r'"(?:\\.|[^"\\])*+"?|,(?=\s*+[}\]])', re.DOTALL)
"""Strings, which may lack their end, and commas before a closing bracket."""
_STRAY: Final = re.compile(r'\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}|(.?))', re.DOTALL)
"""Escapes of JSON; the group is there for a backslash that begins none."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """An object. `is_cut` says that the text ended before it did."""

    data: dict[str, Any]
    is_cut: bool = False


def read_object(text: str, keys: Iterable[str]) -> Parsed | None:
    """Give the first object in `text` that has one of `keys`, or None if there is none."""
    wanted = set(keys)
    start = text.find("{")
    for attempt in range(MAX_STARTS):
        if start < 0:
            return None
        data, end = _decoded(text, start)
        if isinstance(data, dict) and wanted & data.keys():
            return Parsed(data)
        if data is None and attempt < MAX_MENDED and (parsed := _mended(text[start:], wanted)):
            return parsed
        start = text.find("{", end)
    return None


def _decoded(text: str, start: int) -> tuple[Any, int]:
    """Give the value that begins at `start` and where it ends; None, and the next character, if there is none."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, start + 1


def _mended(text: str, wanted: set[str]) -> Parsed | None:
    mended = _TOKENS.sub(lambda token: "" if token[0] == "," else _STRAY.sub(_escape, token[0]), text)
    data, _ = _decoded(mended, 0)
    if isinstance(data, dict):
        return Parsed(data) if wanted & data.keys() else None
    return _cut(mended, wanted)


def _cut(text: str, wanted: set[str]) -> Parsed | None:
    """Read an object whose end is missing. One that is broken in the middle is none: half of it could mislead."""
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
    return Parsed(data, is_cut=True) if isinstance(data, dict) and wanted & data.keys() else None


def _escape(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else f"\\\\{found[1]}"


def text_of(value: Any, *, most: int = MAX_TEXT) -> str:
    """Give a text, of lines if it is a list of texts; empty for anything else."""
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        value = "\n".join(value)
    if not isinstance(value, str):
        return ""
    clean = value.encode("utf-8", "replace").decode("utf-8").replace("\0", "").strip()
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def items_of(value: Any) -> list[dict[str, Any]]:
    """Give the objects of a list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def object_of(value: Any) -> dict[str, Any]:
    """Give an object, empty for anything else."""
    return value if isinstance(value, dict) else {}


def texts_of(value: Any) -> list[str]:
    """Give the texts of a list that are not blank; of one text, itself."""
    values = value if isinstance(value, list) else [value]
    return [text for each in values if isinstance(each, str) and (text := text_of(each))]


def whole_of(value: Any) -> int | None:
    """Give a whole number of at most seven digits, also one written as text."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdecimal() and len(value.strip()) <= 7:
        return int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 10**7:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**7 else None


def choice_of(value: Any, choices: Sequence[str]) -> str | None:
    """Give the one of `choices` that is meant, in upper or lower case."""
    said = text_of(value).casefold().replace("-", "_").replace(" ", "_")
    return said if said in choices else None
