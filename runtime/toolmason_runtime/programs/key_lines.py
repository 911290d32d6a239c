"""On which line of a TOML file each key stands: `tomllib` does not say."""

from __future__ import annotations

import re
import tomllib
from typing import Any

KeyPath = tuple[str, ...]
"""Where a key stands, such as `("tools", "git_log", "args")`; empty for the whole file."""

_OPAQUE = re.compile(
    r"""
      "{3} (?:[^"\\]++ | \\. | "{1,2}(?!"))*+ "{3,5}
    | '{3} (?:[^']++ | '{1,2}(?!'))*+ '{3,5}
    | " (?:[^"\\\n]++ | \\.)*+ "
    | ' [^'\n]*+ '
    | \# [^\n]*+
    """,
    re.VERBOSE | re.DOTALL,
)
"""Strings and comments: in them a bracket, an equals sign or a line break means nothing."""
_STATEMENT = re.compile(r"[ \t]*+(?:\[{1,2}(?P<header>[^\[\]\n]+)\]|(?P<key>[^=\[\]{}\n]+)=)")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Give the line of each table and key of `text`, which is TOML, counted from 1.

    A table stands at its header if it has one, else where it is first mentioned. What stands inside an array or an
    inline table is not listed: it has the line of what holds it.
    """
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    line, start, depth = 1, 0, 0
    for plain in _OPAQUE.sub(_blank, text).split("\n"):
        statement = None if depth else _STATEMENT.match(plain)
        if statement is not None:
            kind = "key" if statement["header"] is None else "header"
            path = _key_path(text[start + statement.start(kind) : start + statement.end(kind)])
            table, path = (path, path) if kind == "header" else (table, (*table, *path))
            for length in range(1, len(path)):
                found.setdefault(path[:length], line)
            found[path] = line
        depth += sum(map(plain.count, "[{")) - sum(map(plain.count, "]}"))
        end = start + len(plain) + 1
        line, start = line + text.count("\n", start, end), end
    return found


def _blank(opaque: re.Match[str]) -> str:
    """Write as much, so that offsets stay: a comment becomes spaces, a string a bare word, even if it has lines."""
    return (" " if opaque[0].startswith("#") else "x") * len(opaque[0])


def _key_path(written_key: str) -> KeyPath:
    """Read a dotted key as TOML does."""
    path: KeyPath = ()
    inner: Any = tomllib.loads(f"{written_key.strip()} = 0")
    while isinstance(inner, dict):
        ((name, inner),) = inner.items()
        path = (*path, name)
    return path
