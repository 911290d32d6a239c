"""How a diagnostic puts an author's own words: quoted, shortened, with the nearest word that would be right."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Iterable, Sequence
from typing import Any

from toolmason.diagnostics.key_path import KeyPath, dotted

MAX_QUOTED_CHARS = 60
"""Characters of an author's text that are repeated in a message."""


def quoted(text: str) -> str:
    """Put `text` in backticks, its middle left out if it is long."""
    if len(text) > MAX_QUOTED_CHARS:
        half = MAX_QUOTED_CHARS // 2
        text = f"{text[:half]}…{text[-half:]}"
    return f"`{text}`"


def table_name(at: KeyPath) -> str:
    """Name a table as its header would: `[tools.search]`, `[[tools.search.examples]]`."""
    name = dotted(at[:-1]) if at and isinstance(at[-1], int) else dotted(at)
    if len(name) > MAX_QUOTED_CHARS * 2:
        name = f"{name[:MAX_QUOTED_CHARS]}…{name[-MAX_QUOTED_CHARS:]}"
    return f"[[{name}]]" if at and isinstance(at[-1], int) else f"[{name}]"


def within(at: KeyPath) -> str:
    """Say in which table something is: `in [tools.search]`."""
    return f"in {table_name(at)}" if at else "at the top level"


def nearest(word: str, choices: Iterable[str]) -> str:
    """Find the choice that `word` was probably meant to be; empty if none comes close."""
    if len(word) > MAX_QUOTED_CHARS:
        return ""
    by_folded = {_folded(choice): choice for choice in choices}
    close = difflib.get_close_matches(_folded(word), by_folded, n=1)
    return by_folded[close[0]] if close else ""


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Ask for the nearest choice, as a hint does; empty if none comes close."""
    found = nearest(word, choices)
    return f"did you mean `{found}`?" if found else ""


def either(choices: Sequence[str]) -> str:
    """List `choices` in their order: `a`, `b` or `c`."""
    *first, last = (quoted(choice) for choice in choices)
    return f"{', '.join(first)} or {last}" if first else last


def kind_of(value: Any) -> str:
    """Name the TOML type of a value, with its article."""
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


def _folded(word: str) -> str:
    return word.lower().replace("-", "_")
