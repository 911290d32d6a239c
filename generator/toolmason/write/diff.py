"""Unified diffs of files on disk and rendered files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff
from itertools import takewhile
from typing import Final

from toolmason_runtime.shared.checksum import with_lf

from toolmason.diagnostics.terminal import paint

MAX_LINES: Final = 2000
"""Maximum lines of either side that are compared, from the first that differs. The time grows with their square."""
_CONTEXT: Final = 3

Side = tuple[str, bytes | None]
"""A label and a content. The label of None, an absent file, is `/dev/null`, as in git."""


def unified(old: Side, new: Side, *, max_lines: int = MAX_LINES) -> str:
    """Return the unified diff from `old` to `new`, empty if they are equal up to CRLF line ends.

    Of more than `max_lines` lines it has the first, and a last line with the number of those left out.
    """
    before, after = (label if content is not None else "/dev/null" for label, content in (old, new))
    old_lines, new_lines = _split_lines(old[1]), _split_lines(new[1])
    start = max(_count_equal(old_lines, new_lines) - _CONTEXT, 0)
    old_lines, new_lines = old_lines[start:], new_lines[start:]
    if equal := max(_count_equal(old_lines[::-1], new_lines[::-1]) - _CONTEXT, 0):
        old_lines, new_lines = old_lines[:-equal], new_lines[:-equal]
    lines = unified_diff(old_lines[:max_lines], new_lines[:max_lines], before, after, n=_CONTEXT)
    text = "".join(_mark_missing_newlines(_shift_line_numbers(lines, start)))
    rest = len(old_lines[max_lines:]) + len(new_lines[max_lines:])
    return f"{text}... {rest:,} more lines are not compared\n" if rest else text


def paint_line(line: str, *, colour: bool) -> str:
    """Return a line of a diff in the colours of git if `colour` is on."""
    if line.startswith(("+++", "---")):
        return paint(line, "bold", colour=colour)
    style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return paint(line, style, colour=colour) if style else line


def _count_equal(old: list[str], new: list[str]) -> int:
    """Return the number of equal lines at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _shift_line_numbers(lines: Iterator[str], start: int) -> Iterator[str]:
    """Add `start` to the line numbers of each hunk: `@@ -3,7 +3,8 @@` becomes `@@ -13,7 +13,8 @@` for 10."""
    for line in lines:
        yield (
            re.sub(r"([-+])(\d+)", lambda match: f"{match[1]}{int(match[2]) + start}", line) if line[0] == "@" else line
        )


def _split_lines(content: bytes | None) -> list[str]:
    text = with_lf(content or b"").decode("utf-8", "backslashreplace")
    # `str.splitlines` also breaks at form feeds and similar characters, which do not end lines of a diff.
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]


def _mark_missing_newlines(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
