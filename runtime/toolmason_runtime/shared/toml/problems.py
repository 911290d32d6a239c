"""Errors of a TOML file, and the words for its tables, keys and values."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from toolmason_runtime.shared.toml.positions import START, KeyPath, Position, dotted

MAX_QUOTED_CHARS: Final = 60
"""Maximum number of characters of the author's text in a message."""
LINE_BREAK: Final = "a line break"


class Kind(StrEnum):
    """The kinds of problems that the parser and the reader report."""

    ENCODING = "encoding"
    SYNTAX = "syntax"
    BYTE_ORDER_MARK = "byte-order-mark"
    DUPLICATE_KEY = "duplicate-key"
    NESTING = "nesting"
    DIGITS = "digits"
    MISSING_KEY = "missing-key"
    UNKNOWN_KEY = "unknown-key"
    TYPE = "type"
    LENGTH = "length"
    PATTERN = "pattern"
    CHOICE = "choice"
    MINIMUM = "minimum"
    EMPTY = "empty"
    UNPRINTABLE = "unprintable"
    NOT_JSON = "not-json"
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that the author of a TOML file has to change.

    `kind` is a `Kind`, or a code of the caller's own checks. `path` is the key path.
    """

    kind: str
    message: str
    position: Position = START
    path: KeyPath = ()
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.position.line}:{self.position.column}: {self.message}"
        return f"{where}; {self.hint}" if self.hint else where


def quoted(text: str) -> str:
    """Return `text` in backticks, its middle left out if it is long."""
    if len(text) > MAX_QUOTED_CHARS:
        half = MAX_QUOTED_CHARS // 2
        text = f"{text[:half]}…{text[-half:]}"
    return f"`{text}`"


def table_name(at: KeyPath) -> str:
    """Return the header of a table: `[tools.search]`, `[[tools.search.examples]]`."""
    is_array = bool(at) and isinstance(at[-1], int)
    name = dotted(at[:-1] if is_array else at)
    if len(name) > MAX_QUOTED_CHARS * 2:
        name = f"{name[:MAX_QUOTED_CHARS]}…{name[-MAX_QUOTED_CHARS:]}"
    return f"[[{name}]]" if is_array else f"[{name}]"


def within(at: KeyPath) -> str:
    """Return the table of a key as words: `in [tools.search]`."""
    return f"in {table_name(at)}" if at else "at the top level"


def either(choices: Sequence[str]) -> str:
    """Return `choices` in their order: `a`, `b` or `c`."""
    *first, last = (quoted(choice) for choice in choices)
    return f"{', '.join(first)} or {last}" if first else last


def kind_of(value: Any) -> str:
    """Return the TOML type of a value, with its article."""
    match value:
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case int():
            return "an integer"
        case float():
            return "a float"
        case dict():
            return "a table"
        case list():
            return "an array"
        case dt.datetime():
            return "a date-time"
        case dt.date():
            return "a date"
        case _:
            return "a time"


def unprintable(text: str) -> str:
    """Return the name of the first line break or control character in `text`; empty if it has none."""
    # `isprintable` is fast and too strict: it refuses the joiners inside emoji.
    if text.isprintable():
        return ""
    bad = next((char for char in text if unicodedata.category(char) in ("Cc", "Zl", "Zp")), "")
    is_break = bool(bad) and bad.splitlines() != [bad]
    return LINE_BREAK if is_break else f"the control character U+{ord(bad):04X}" if bad else ""
