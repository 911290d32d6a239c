"""Find the sections of a file: headings, tables of settings, and definitions in code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

_HEADING: Final = re.compile(r"(#{1,6})\s+\S")  # `## Usage`
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")  # "```py"
_TABLE: Final = re.compile(r"\s*\[{1,2}[^\[\]]+\]{1,2}\s*$")  # `[tool.ruff]`, `[[tool]]`
# `async def read(`, `export default class App`, `pub(crate) fn main`, `type Key =`
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
    """The first line of a section, which ends before the next boundary of the same `level` or a lower one."""

    line: int
    """1-based."""
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Section:
    """A section: its first and last line (1-based) and the text of the first."""

    start: int
    end: int
    title: str


def find_boundaries(lines: Sequence[str], suffix: str) -> list[Boundary]:
    """Return the first lines of sections by file type: headings, tables of settings, or definitions."""
    if suffix in _MARKDOWN:
        return _headings(lines)
    if suffix in _TABLES:
        return [Boundary(number, 0, line.strip()) for number, line in enumerate(lines, 1) if _TABLE.match(line)]
    return [
        Boundary(number, len(line) - len(line.lstrip()), line.strip())
        for number, line in enumerate(lines, 1)
        if _DEFINITION.match(line[:200])
    ]


def flat_boundaries(lines: Sequence[str], numbers: Sequence[int]) -> list[Boundary]:
    """Return boundaries of one level at the lines with these 0-based numbers."""
    return [Boundary(number + 1, 0, lines[number].strip()) for number in numbers]


def section_at(line: int, starts: Sequence[Boundary], total: int) -> Section | None:
    """Return the innermost section that contains a 1-based line; None without one."""
    for index in range(len(starts) - 1, -1, -1):
        start = starts[index]
        if start.line > line:
            continue
        end = next((boundary.line - 1 for boundary in starts[index + 1 :] if boundary.level <= start.level), total)
        if end >= line:
            return Section(start.line, end, start.title)
    return None


def _headings(lines: Sequence[str]) -> list[Boundary]:
    headings: list[Boundary] = []
    fence = ""
    for number, line in enumerate(lines, 1):
        if mark := _FENCE.match(line):
            fence = after_fence(fence, mark[1], line)
        elif not fence and (heading := _HEADING.match(line)):
            headings.append(Boundary(number, len(heading[1]), line.strip()))
    return headings


def after_fence(fence: str, mark: str, line: str) -> str:
    """Return the code fence that is open after a line with `mark`; empty if none is.

    A fence is closed by at least as many of its own characters and nothing after them
    (https://spec.commonmark.org/0.31.2/#fenced-code-blocks).
    """
    if not fence:
        return mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not line.strip().strip(mark[0])
    return "" if closes else fence
