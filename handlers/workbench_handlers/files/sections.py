"""Where the sections of a file begin and end, so that a hit can be read with what belongs to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_HEADING: Final = re.compile(r"(#{1,6})\s+\S")
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_TABLE: Final = re.compile(r"\s*\[{1,2}[^\[\]]+\]{1,2}\s*$")
_DEFINITION: Final = re.compile(
    r"""\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]+\))?)\s+)*
        (?:def|class|function\*?|interface|enum|struct|trait|impl|fn|func|module|namespace|type|object|record)\s+[\w(<]
    """,
    re.VERBOSE,
)
_MARKDOWN: Final = {".md", ".markdown", ".mdx", ".mdc"}
_TABLES: Final = {".toml", ".ini", ".cfg", ".conf"}


@dataclass(frozen=True, slots=True)
class Boundary:
    """A line at which a section begins. It ends before the next boundary of the same `level` or a lower one."""

    line: int
    """1-based."""
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its first line, its last one, and what its first line says."""

    start: int
    end: int
    title: str


def boundaries(lines: Sequence[str], suffix: str) -> list[Boundary]:
    """Find where sections begin, by the kind of file: headings, tables of settings, or definitions in code."""
    if suffix in _MARKDOWN:
        return _headings(lines)
    if suffix in _TABLES:
        return [Boundary(number, 0, line.strip()) for number, line in enumerate(lines, 1) if _TABLE.match(line)]
    return [
        Boundary(number, len(line) - len(line.lstrip()), line.strip())
        for number, line in enumerate(lines, 1)
        if _DEFINITION.match(line[:200])
    ]


def flat(lines: Sequence[str], numbers: Sequence[int]) -> list[Boundary]:
    """Give boundaries of one level at the lines with these 0-based numbers."""
    return [Boundary(number + 1, 0, lines[number].strip()) for number in numbers]


def section_at(line: int, found: Sequence[Boundary], total: int) -> Section | None:
    """Give the innermost section that holds a 1-based line, or None if no section begins before it."""
    for place in range(len(found) - 1, -1, -1):
        start = found[place]
        if start.line > line:
            continue
        end = next((each.line - 1 for each in found[place + 1 :] if each.level <= start.level), total)
        if end >= line:
            return Section(start.line, end, start.title)
    return None


def _headings(lines: Sequence[str]) -> list[Boundary]:
    found: list[Boundary] = []
    fence = ""
    for number, line in enumerate(lines, 1):
        if mark := _FENCE.match(line):
            fence = after_fence(fence, mark[1], line)
        elif not fence and (heading := _HEADING.match(line)):
            found.append(Boundary(number, len(heading[1]), line.strip()))
    return found


def after_fence(fence: str, mark: str, line: str) -> str:
    """Give the fence that is open after a line with `mark`: the one that was, a new one, or none.

    A fence ends with at least as many of its own characters and nothing behind them
    (https://spec.commonmark.org/0.31.2/#fenced-code-blocks).
    """
    if not fence:
        return mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not line.strip().strip(mark[0])
    return "" if closes else fence
