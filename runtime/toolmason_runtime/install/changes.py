"""The differences between two versions of a file, in time for a file with many lines."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Final

_HUNK: Final = re.compile(r"@@ -(\d+)(.*) \+(\d+)(.*) @@")
_CONTEXT: Final = 1
"""Unchanged lines before and after a change. Few, since other entries can contain credentials."""


def changes(before: str, after: str, name: str) -> Iterator[str]:
    """Return the lines of a unified diff. An empty `before` is a file that does not exist."""
    old, new = before.splitlines(), after.splitlines()
    start = max(_common(old, new) - _CONTEXT, 0)
    end = max(min(_common(old[::-1], new[::-1]), len(old) - start, len(new) - start) - _CONTEXT, 0)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    origin = name if before else "/dev/null"
    for line in difflib.unified_diff(old, new, origin, name, n=_CONTEXT, lineterm=""):
        yield _HUNK.sub(lambda match: _shifted(match, start), line) if line.startswith("@@") else line


def _common(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the number of equal lines at the start."""
    pairs = zip(first, second, strict=False)
    return next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _shifted(match: re.Match[str], lines: int) -> str:
    return f"@@ -{int(match[1]) + lines}{match[2]} +{int(match[3]) + lines}{match[4]} @@"
