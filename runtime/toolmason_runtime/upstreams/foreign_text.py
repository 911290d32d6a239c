"""Texts of another MCP server as people and models may see them: visible, bounded, and marked as that server's."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from toolmason_runtime.shared.visible_text import escape_invisible

MAX_LABEL_LENGTH: Final = 200
"""Maximum characters of a title, a name or a choice, before escaping."""
MAX_QUOTED_LENGTH: Final = 2_000
"""Maximum characters of a quotation, before escaping."""
MAX_QUOTED_LINES: Final = 30
"""Maximum lines of a quotation; more would move the line above it out of view."""
_EMOJI_STYLE: Final = "\ufe0f"
"""The invisible character after many emoji, which only selects their style. It is removed, not escaped."""


def heading(upstream: str, action: str = "asks") -> str:
    """Return the line above everything that an upstream shows to a person."""
    return f'The MCP server "{upstream}" {action}:'


def visible_text(text: str, *, keep: str = "") -> str:
    """Return a text with its invisible characters, except those in `keep`, as escape sequences.

    All spaces of Unicode become plain ones: some are invisible, others as wide as a line.
    """
    if text.isascii() and text.isprintable():
        return text
    spaced = (" " if unicodedata.category(char) == "Zs" else char for char in text.replace(_EMOJI_STYLE, ""))
    return escape_invisible("".join(spaced), keep=keep)


def label(text: str, limit: int = MAX_LABEL_LENGTH) -> str:
    """Return a text on one line of bounded length. Line breaks are escaped, runs of spaces become one."""
    shown = " ".join(visible_text(text[:limit].strip()).split())
    return f"{shown}[... {len(text) - limit:,} characters more]" if len(text) > limit else shown


def quotation(text: str, max_length: int = MAX_QUOTED_LENGTH, max_lines: int = MAX_QUOTED_LINES) -> str:
    r"""Return a text as a quotation with `> ` before each line, of bounded length.

    Only `\n` and `\r\n` separate lines; all other line breaks are escaped. Runs of spaces become one, because they
    could move words to the beginning of a line on the screen.
    """
    head = text[:max_length].replace("\r\n", "\n")
    lines = [" ".join(visible_text(line.replace("\t", " ")).split()) for line in head.split("\n")]
    missing = len(text) - max_length
    notes = [f"[... {len(lines) - max_lines:,} lines more]"] if len(lines) > max_lines else []
    notes += [f"[... {missing:,} characters more]"] if missing > 0 else []
    return "\n".join(f"> {line}".rstrip() for line in [*lines[:max_lines], *notes])


def visible_json(value: Any) -> Any:
    """Return a JSON value with visible texts and keys."""
    if isinstance(value, str):
        return visible_text(value, keep="\n\t")
    if isinstance(value, dict):
        return {visible_text(key): visible_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [visible_json(inner) for inner in value]
    return value
