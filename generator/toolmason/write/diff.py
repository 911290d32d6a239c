"""Unified diffs of what stands on disk and what is rendered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import unified_diff
from itertools import takewhile
from typing import Final

MAX_LINES: Final = 2000
"""Maximum lines of either side that are compared, from the first that differs. The time grows with their square."""
_CONTEXT: Final = 3

Side = tuple[str, bytes | None]
"""A label and a content. None is no file at all, shown as `/dev/null`, as git does."""


def unified(old: Side, new: Side) -> str:
    """Return the unified diff from `old` to `new`, empty if they are equal up to CRLF line ends.

    Of more than `MAX_LINES` lines it has the first, and a last line with the number of those left out.
    """
    before, after = (label if content is not None else "/dev/null" for label, content in (old, new))
    there, wanted = _lines(old[1]), _lines(new[1])
    start = max(_count_equal(there, wanted) - _CONTEXT, 0)
    there, wanted = there[start:], wanted[start:]
    if equal := max(_count_equal(there[::-1], wanted[::-1]) - _CONTEXT, 0):
        there, wanted = there[:-equal], wanted[:-equal]
    lines = unified_diff(there[:MAX_LINES], wanted[:MAX_LINES], before, after, n=_CONTEXT)
    text = "".join(_ended(_moved(lines, start)))
    left = len(there[MAX_LINES:]) + len(wanted[MAX_LINES:])
    return f"{text}... {left:,} more lines are not compared\n" if left else text


def _count_equal(one: list[str], other: list[str]) -> int:
    """Count the equal lines at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _moved(lines: Iterator[str], start: int) -> Iterator[str]:
    """Yield the lines of a diff whose sides lack their first `start` lines, with the numbers that those have."""
    for line in lines:
        yield (
            re.sub(r"([-+])(\d+)", lambda found: f"{found[1]}{int(found[2]) + start}", line) if line[0] == "@" else line
        )


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").replace(b"\r\n", b"\n").decode("utf-8", "backslashreplace")
    # `str.splitlines` also breaks at form feeds and the like, which are no line ends to anyone who reads a diff.
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]


def _ended(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
