"""Find the name of a tool or of a parameter in text for people and models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_BEFORE: Final = r"(?<![\w\-./])"
_AFTER: Final = r"(?![\w\-/])(?!\.\w)"
"""Excludes matches inside a longer name, a path or a file name."""
_CALLERS: Final = r"toolmason call|call_tool\(|tool_name\W{1,4}|\btools\.|\{tool:|\{calling:(?:[\w.-]+,)*"
"""Text before a name after which any word is the name of a tool."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """The patterns of a name's mentions: `certain` ones are replaced, others are only listed."""

    certain: tuple[re.Pattern[str], ...]
    possible: re.Pattern[str]

    def replace(self, text: str, new: str) -> Iterator[tuple[int, int, str]]:
        """Yield the start and the end of each certain mention, and its replacement."""
        spans = {match.span("name") for pattern in self.certain for match in pattern.finditer(text)}
        yield from ((start, end, new) for start, end in sorted(spans))

    def replaced(self, text: str, new: str) -> str:
        """Return the text with all certain mentions replaced."""
        for start, end, name in reversed(list(self.replace(text, new))):
            text = text[:start] + name + text[end:]
        return text

    def listed(self, text: str) -> Iterator[int]:
        """Yield the start of each mention that may mean something else."""
        certain = {start for start, _, _ in self.replace(text, "")}
        yield from (match.start() for match in self.possible.finditer(text) if match.start() not in certain)


def tool_mentions(name: str, *, is_ambiguous: bool = False) -> Mentions:
    """Return the mentions of a tool. With `is_ambiguous`, something else of the project has the same name.

    The name is certain after `toolmason call` and the like. Unless ambiguous, it is also certain in backticks and
    before a parenthesis, and a distinctive name everywhere.
    """
    written = f"(?P<name>{re.escape(name)})"
    caller = rf"(?:{_CALLERS})\s*['\"]?{written}{_AFTER}"
    code = (rf"(?<=`){written}(?=`)", rf"{_BEFORE}{written}(?=\()")
    whole = f"{_BEFORE}{written}{_AFTER}"
    distinctive = is_distinctive(name)
    certain = (caller, *(() if is_ambiguous else code), *((whole,) if distinctive and not is_ambiguous else ()))
    # Other names may be ordinary words, so only those in quotes are listed.
    possible = rf"(?<!\w){re.escape(name)}(?!\w)" if distinctive else rf"(?<=[`\"']){re.escape(name)}(?=[`\"'(])"
    return Mentions(tuple(map(re.compile, certain)), re.compile(possible))


def param_mentions(name: str) -> Mentions:
    """Return the mentions of a parameter in the texts of its tool: certain in backticks, and as a keyword in a call."""
    written = f"(?P<name>{re.escape(name)})"
    certain = (rf"(?<=`){written}(?=`)", rf"(?:(?<=[(,`])|(?<=, )){written}(?==)")
    possible = f"{_BEFORE}{re.escape(name)}{_AFTER}" if is_distinctive(name) else r"(?!)"
    return Mentions(tuple(map(re.compile, certain)), re.compile(possible))


def is_distinctive(name: str) -> bool:
    """Return whether a name cannot be an ordinary word: `read_file`, `list-notes`, `getUser`."""
    return bool(re.search(r"[a-z0-9][_-][a-z0-9]|[a-z][A-Z]", name))
