"""Parse a manifest with the tables of tools that earlier runs have parsed, because `tomllib` is slow.

The text is cut before lines that start with `[`. If each piece is TOML by itself, every cut is between two statements,
because the parser reads from left to right: a cut inside a string or an array would leave a piece without its end. The
pieces of different tools, and the rest, define different keys, so the result is the union of their tables. In all other
cases, which includes each error, the whole text is parsed.
"""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import suppress
from hashlib import sha256
from itertools import groupby
from typing import Any, Final

from toolmason.store import Store

_CUT: Final = re.compile(r"^(?=\[)", re.MULTILINE)
_TOOL_HEADER: Final = re.compile(r"\[\[?tools\.([A-Za-z0-9_-]+)[\].]")
"""The start of `[tools.NAME]`, `[tools.NAME.params.path]` or `[[tools.NAME.examples]]`."""


def parse_with_store(text: str, *, store: Store) -> dict[str, Any]:
    """Return the same as `tomllib.loads`, or raise the same error."""
    with suppress(ValueError, RecursionError):
        if (tables := _parse_pieces(text, store)) is not None:
            return tables
    return tomllib.loads(text)


def _parse_pieces(text: str, store: Store) -> dict[str, Any] | None:
    """Return the tables of `text`; None if its pieces may depend on each other.

    Raises:
        ValueError: a piece is not TOML.
    """
    groups = [(name, "".join(pieces)) for name, pieces in groupby(_CUT.split(text), _tool_name)]
    tools = {name: _parse_tool(name, piece, store) for name, piece in groups if name}
    others = [piece for name, piece in groups if not name]
    before = {} if groups[0][0] else tomllib.loads(others[0])
    rest = before if len(others) == 1 else _parse_others(others)
    if "tools" in rest or len(tools) + len(others) < len(groups) or not all(tools.values()):
        return None
    # In the order of `tomllib`: a key is where it was first written.
    return {**{key: rest[key] for key in before}, **({"tools": tools} if tools else {}), **rest}


def _parse_others(pieces: list[str]) -> dict[str, Any]:
    for piece in pieces:
        tomllib.loads(piece)
    return tomllib.loads("".join(pieces))


def _tool_name(piece: str) -> str:
    """Return the name of the tool whose table a piece starts with; empty for another piece."""
    header = _TOOL_HEADER.match(piece)
    return header[1] if header else ""


def _parse_tool(name: str, text: str, store: Store) -> Any:
    """Return the table of the tool `name`; None if `text` has other tables.

    Raises:
        ValueError: `text` is not TOML.
    """
    key = f"toml {name} {sha256(text.encode()).hexdigest()}"
    stored = store.get(key)
    if stored is not None:
        return json.loads(stored)
    tables = tomllib.loads(text)
    if tables.keys() != {"tools"} or tables["tools"].keys() != {name}:
        return None
    # JSON has no dates.
    with suppress(TypeError):
        store[key] = json.dumps(tables["tools"][name])
    return tables["tools"][name]
