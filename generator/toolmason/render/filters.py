"""The only ways for free text to reach an output: one filter for each kind of place it can stand in.

Each is pure. Its test parses the output back and compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import tomli_w

_INLINE_CODE = re.compile(r"((?<![`\\])(`+)(?!`)[^\n]*?(?<!`)\2(?!`))")
"""A code span (CommonMark section 6.1) that ends on its line."""
_PLAIN_YAML = re.compile(r"[A-Za-z][A-Za-z0-9 ,.()/'_-]*[A-Za-z0-9.)]")
_YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def one_line(text: str) -> str:
    """Fold `text` onto one line."""
    return " ".join(text.split())


def literal(value: Any) -> str:
    """Write a JSON value as a Python expression."""
    return repr(value)


def docstring(text: str) -> str:
    """Write `text` as a docstring, quotes included.

    Text that ends in a quote, holds three of them or holds backslashes is where others slip.
    """
    body = re.sub(r'"{3,}|"+\Z', lambda run: '\\"' * len(run[0]), text.replace("\\", "\\\\"))
    return f'"""{_escaped(body, keep=chr(10))}"""'


def comment(text: str) -> str:
    """Write `text` behind a `#`: on one line, without control characters."""
    return _escaped(one_line(text), keep="")


def _escaped(text: str, *, keep: str) -> str:
    """Replace what does not print (control characters, overrides of the writing direction) by its escape."""
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode("ascii") for each in text
    )


def cell(text: str) -> str:
    """Write `text` into a cell of a Markdown table (GFM section 4.10)."""
    return _without_html(_escaped(one_line(text), keep="").replace("\\|", "|").replace("|", "\\|"))


def markdown(text: str) -> str:
    """Write `text` as paragraphs of a Markdown page: no heading, HTML or fence of it can change the page."""
    lines = _without_html(_escaped(text, keep="\n")).split("\n")
    return "\n".join(re.sub(r"^(\s*)(#{1,6}\s|```|~~~|---|===|\|)", r"\1\\\2", line) for line in lines)


def _without_html(text: str) -> str:
    """Escape what could start a tag or a comment, and leave inline code alone, where an escape would show."""
    pieces = _INLINE_CODE.split(text)
    # Every third piece is the run of backticks that the pattern refers back to; after each comes plain text.
    return "".join(
        piece if place % 3 == 1 else piece.replace("<", "&lt;") for place, piece in enumerate(pieces) if place % 3 != 2
    )


def code(text: str) -> str:
    """Write `text` as inline code (CommonMark section 6.1): more backticks around it than it holds."""
    shown = one_line(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def fenced(text: str, language: str = "") -> str:
    """Write `text` as a code block: a fence longer than any it holds."""
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def yaml(text: str) -> str:
    """Write `text` as a YAML scalar: plain where that is safe, else double-quoted (YAML 1.2 section 7.3.1)."""
    if _PLAIN_YAML.fullmatch(text) and text.lower() not in _YAML_WORDS and ": " not in text:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _escaped(quoted, keep="")


def toml(table: Mapping[str, Any]) -> str:
    """Write a table as a TOML document, several lines of text as such."""
    return tomli_w.dumps(table, multiline_strings=True)


def to_json(value: Any) -> str:
    """Write a JSON value on one line. Characters that end a line in JavaScript are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def prompt(text: str, arguments: str) -> str:
    """Write the text of a command, with the host's own spelling for what the user typed."""
    return text.replace("{arguments}", arguments)


FILTERS: Mapping[str, Callable[..., str]] = {
    "cell": cell,
    "code": code,
    "comment": comment,
    "docstring": docstring,
    "fenced": fenced,
    "json": to_json,
    "literal": literal,
    "markdown": markdown,
    "prompt": prompt,
    "toml": toml,
    "yaml": yaml,
}
"""Every filter a template may print free text through, by its name there."""
