"""The differences between two versions of a file, in time for a file with many lines."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

_HUNK: Final = re.compile(r"@@ -(\d++)([^ ]*+) \+(\d++)([^ ]*+) @@")
_CONTEXT: Final = 1
"""Unchanged lines before and after a change."""
_STRING: Final = re.compile(
    r"""
    (?: (?<!\\) \"{3} [\s\S]*? \"{3} | '{3} [\s\S]*? '{3} | (?<!\\) " (?:[^"\\\n]++ | \\.)*+ " | ' [^'"\n]*+ ' )
    ([\ \t]*+[:=])?
    """,
    re.VERBOSE,
)
"""A string of JSON or TOML; the group matches after a key."""
_CONTROL: Final = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_MASK: Final = '"***"'


_YAML_VALUE: Final = re.compile(
    r"""
    ( [ ]* (?:-[ ]+)* (?: [^\s'"\#\[\]{}-][^\#]*? | "[^"]*" | '[^']*' ) : (?=[ ]|$) [ ]* | [ ]* (?:-[ ]+)+ )
    ( (?:[^ \#] | [ ]+(?!\#)[^ ] | (?<=[^ ])\#)* )
    ( [ ]*(?:\#.*)? )
    """,
    re.VERBOSE,
)
"""A line of YAML: a key or hyphens, a value, and a comment."""
_YAML_SHOWN: Final = re.compile(r"|true|false|null|~|[-+]?\d+|\{\}|\[\]|[|>][-+\d]*")


def masked_yaml(text: str, shown: Collection[str]) -> str:
    """Return a configuration in YAML as `masked` does: texts need no quotes there."""
    values = {*shown, *(json.dumps(value, ensure_ascii=False) for value in shown)}
    lines, longer = [], -1
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip() or (line.lstrip().startswith("#") and longer < 0):
            lines.append(line)
            continue
        if indent <= longer:
            longer = -1
        match = _YAML_VALUE.fullmatch(line) if longer < 0 else None
        if match is None:  # a line of a longer text
            lines.append(line[:indent] + _MASK)
            continue
        is_shown = match[2] in values or _YAML_SHOWN.fullmatch(match[2])
        lines.append(match[1] + (match[2] if is_shown else _MASK) + match[3])
        if match[2].startswith(("|", ">")):
            longer = indent
    return printable("\n".join(lines))


def masked(text: str, shown: Collection[str]) -> str:
    """Return a configuration for a terminal or a log: without credentials and control characters.

    Strings that are not in `shown` are masked: other entries, and the values of a person, can contain credentials. A
    comment in the file of a repository can contain the escape sequences of a terminal.
    """
    literals = {json.dumps(value, ensure_ascii=False) for value in shown} | {'""'}

    def mask(match: re.Match[str]) -> str:
        return match[0] if match[1] or match[0] in literals else _MASK + "\n" * match[0].count("\n")

    return printable(_STRING.sub(mask, text))


def printable(text: str) -> str:
    """Return a text with control characters escaped."""
    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], text)


def changes(before: str, after: str, name: str) -> Iterator[str]:
    """Return the lines of a unified diff. An empty `before` is a file that does not exist."""
    old, new = before.splitlines(), after.splitlines()
    start = max(_common(old, new) - _CONTEXT, 0)
    end = max(min(_common(old[::-1], new[::-1]), len(old) - start, len(new) - start) - _CONTEXT, 0)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    origin = name if before else "/dev/null"
    for line in difflib.unified_diff(old, new, origin, name, n=_CONTEXT, lineterm=""):
        yield _HUNK.sub(lambda match: _shifted(match, start), line) if line.startswith("@@") else line


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of equal lines at the start."""
    pairs = zip(first, second, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _shifted(match: re.Match[str], lines: int) -> str:
    return f"@@ -{int(match[1]) + lines}{match[2]} +{int(match[3]) + lines}{match[4]} @@"
