"""Template filters that escape free text, one for each context: Python, Markdown, YAML, TOML, JSON.

Each filter is a pure function. Its test parses the output and compares the result with the input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import tomli_w

from toolmason.model.json_text import to_json
from toolmason.model.python_text import docstring, escape_unprintable
from toolmason.pictures.labels import xml

_INLINE_CODE = re.compile(r"((?<![`\\])(`+)(?!`)[^\n]*?(?<!`)\2(?!`))")
"""A code span on one line (CommonMark section 6.1): `` `a` `` or ``` ``a`b`` ```."""
_BLOCK_START = re.compile(r"^(\s*)(#{1,6}\s|```|~~~|---|===|\|)")
"""The start of a line that would be a heading, a fence, a rule or a table."""
_NAME = re.compile(r"(`?)[A-Za-z0-9_]+\1")
"""A name, or a name as inline code: nothing in it is escaped. Documents have thousands of them."""
_PLAIN_YAML = re.compile(r"[A-Za-z][A-Za-z0-9 ,.()/'_-]*[A-Za-z0-9.)]")
"""Text that needs no quotes in YAML: `Review a diff (git)`."""
_YAML_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def one_line(text: str) -> str:
    """Fold `text` onto one line."""
    return " ".join(text.split())


def literal(value: Any) -> str:
    """Return a JSON value as a Python expression."""
    return repr(value)


def comment(text: str) -> str:
    """Return `text` for a comment: on one line, without control characters."""
    return escape_unprintable(one_line(text))


def cell(text: str) -> str:
    """Return `text` for a cell of a Markdown table (GFM section 4.10)."""
    if _NAME.fullmatch(text):
        return text
    return _escape_html(escape_unprintable(one_line(text)).replace("\\|", "|").replace("|", "\\|"))


def markdown(text: str) -> str:
    """Return `text` as paragraphs of Markdown; headings, tables, fences and HTML in it are escaped."""
    lines = _escape_html(escape_unprintable(text, keep="\n")).split("\n")
    return "\n".join([_BLOCK_START.sub(r"\1\\\2", line) for line in lines])


def inert(text: str) -> str:
    """Escape the syntax with which a skill of Claude Code runs commands, reads files and has placeholders.

    Text of others reaches skills, for example that of an imported program. See `live` in `clients.toml`.
    """
    text = text.replace("```!", r"\`\`\`!").replace("!`", r"\!`")
    return re.sub(r"((?<!\\)(?:\\\\)*)(?=\$(?:\d|ARGUMENTS))|(?<!\S)(?=@[\w.~/\"-])", r"\1\\", text)


def _escape_html(text: str) -> str:
    """Escape `<` outside inline code, where an escape would be visible."""
    if "<" not in text:
        return text
    pieces = _INLINE_CODE.split(text)
    # `split` returns plain text, code span and backticks in turn; the backticks are part of the span.
    return "".join(
        piece if index % 3 == 1 else piece.replace("<", "&lt;") for index, piece in enumerate(pieces) if index % 3 != 2
    )


def code(text: str) -> str:
    """Return `text` as inline code (CommonMark section 6.1), in more backticks than it contains."""
    line = one_line(text)
    if "`" not in line:
        return f"`{line}`"
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def fenced(text: str, language: str = "") -> str:
    """Return `text` as a code block, with a longer fence than it contains."""
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def yaml(text: str) -> str:
    """Return `text` as a YAML scalar: plain if that is safe, else double-quoted (YAML 1.2 section 7.3.1)."""
    if _PLAIN_YAML.fullmatch(text) and text.lower() not in _YAML_WORDS and ": " not in text:
        return text
    return escape_unprintable(json.dumps(text, ensure_ascii=False))


def toml(table: Mapping[str, Any]) -> str:
    """Return a table as a TOML document with multi-line strings."""
    return tomli_w.dumps(table, multiline_strings=True)


def prompt(text: str, arguments: str) -> str:
    """Return the prompt of a slash command with the client's own placeholder for `{arguments}`."""
    return text.replace("{arguments}", arguments)


FILTERS: Mapping[str, Callable[..., str]] = {
    "cell": cell,
    "code": code,
    "comment": comment,
    "docstring": docstring,
    "fenced": fenced,
    "inert": inert,
    "json": to_json,
    "literal": literal,
    "markdown": markdown,
    "prompt": prompt,
    "toml": toml,
    "xml": xml,
    "yaml": yaml,
}
"""The filters by their names in templates."""
