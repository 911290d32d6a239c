"""Occurrences of constructs, and quotes of values in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from toolmason.schema.walk import Parts

MAX_QUOTE_LENGTH: Final = 60
"""Maximum characters of a quoted value."""


class Occurrence(NamedTuple):
    """One construct at one location.

    `patterns` starts with the most specific one. With `is_keyword`, the occurrence is the presence of `keyword`,
    otherwise its value. `subject` quotes the schema and begins the message.
    """

    parts: Parts
    patterns: tuple[str, ...]
    subject: str
    keyword: str = ""
    is_keyword: bool = False
    value: Any = None


def quote_value(value: Any) -> str:
    """Quote any value in a message, on one line and shortened."""
    match value:
        case str():
            short = value if len(value) <= MAX_QUOTE_LENGTH else f"{value[:MAX_QUOTE_LENGTH]}..."
            printable = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in short)
            return f"`{printable}`" if printable else "an empty string"
        case bool():
            return "`true`" if value else "`false`"
        case None:
            return "`null`"
        case int():
            return f"`{value}`" if abs(value) < 10**MAX_QUOTE_LENGTH else "a number too long to quote"
        case float():
            return f"`{value}`"
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a Python `{type(value).__name__}`"


def quote_values(values: Iterable[Any]) -> str:
    """Quote the first three values and count the others."""
    every = list(values)
    listed = ", ".join(map(quote_value, every[:3]))
    return f"{listed} and {len(every) - 3} more" if len(every) > 3 else listed
