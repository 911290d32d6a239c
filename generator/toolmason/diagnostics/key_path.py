"""Key paths: how a value in a TOML document is named."""

from __future__ import annotations

import re

KeyPath = tuple[str | int, ...]
"""Keys from the root of a document, an int for a place in an array: `("tools", "grep", "examples", 0)`."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dotted(path: KeyPath) -> str:
    """Write `path` as its author would: `tools.grep.examples[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            shown = part if _BARE.fullmatch(part) else f'"{part}"'
            text += f".{shown}" if text else shown
    return text
