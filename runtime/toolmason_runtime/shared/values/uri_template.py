"""Match a URI with a URI template of `{name}` and `{+name}` (RFC 6570), in linear time."""

from __future__ import annotations

import re
from typing import Final

_VARIABLE: Final = re.compile(r"\{(\+?)(\w+)\}")
_ENDS_SEGMENT: Final = re.compile(r"[/?#]")
_LEAVES_DIRECTORY: Final = re.compile(r"(?:[A-Za-z]:)?[/\\]|(?:.*[/\\])?\.\.(?:[/\\]|\Z)", re.DOTALL)
"""A value, decoded, that leads out of a directory when a handler joins it to one: `/etc`, `C:\\x`, `a/../..`."""


def match_uri(template: str, uri: str) -> dict[str, str] | None:
    """Return the decoded variables of `uri`, or None if it does not match.

    A value ends where the text after its variable begins for the first time; the last one reaches to the final text.
    `{name}` contains no `/`, `?` or `#` except encoded, `{+name}` may; neither is empty. No value is an absolute path
    or contains the segment `..` or NUL, encoded or not: handlers join values to directories.
    """
    from urllib.parse import unquote

    # The text before the first variable, then for each variable: `+` or nothing, its name, the text after it.
    start, *parts = _VARIABLE.split(template)
    if not uri.startswith(start):
        return None
    rest, values = uri.removeprefix(start), dict[str, str]()
    for index in range(0, len(parts), 3):
        operator, name, text = parts[index : index + 3]
        is_last = index + 3 == len(parts)
        end = len(rest) - len(text) if is_last else rest.find(text, 1)
        if end < 1 or not rest.startswith(text, end):
            return None
        value, rest = rest[:end], rest[end + len(text) :]
        if not operator and _ENDS_SEGMENT.search(value):
            return None
        values[name] = unquote(value)
        if "\0" in values[name] or _LEAVES_DIRECTORY.match(values[name]):
            return None
    return None if rest else values
