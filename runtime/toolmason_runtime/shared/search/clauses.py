"""Split a request for several tools into the parts that each need one."""

from __future__ import annotations

import re

from toolmason_runtime.shared.search.text import terms

MAX_PARTS = 6
"""Maximum parts of a request: each is a search of its own."""
MIN_TERMS = 2
"""Minimum different terms of a part; a shorter one belongs to the part before it."""

_BOUNDARY = re.compile(
    r"""
    (?<=[.!?;])\s | (?<=[\u3002\uff01\uff1f])
    | ,?\s(?:and\ then|and\ also|after\ that|afterwards|then|finally|also)\s | ,\ and\s
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""The end of a sentence, or the words before another task."""


def lines_of(request: str) -> list[str]:
    """Return the lines of a request that have text."""
    return [line.strip() for line in request.splitlines() if line.strip()]


def parts_of(request: str) -> list[str]:
    """Return the parts of a request, at most `MAX_PARTS`; a single one for a request for one tool.

    Several lines are several requests. Other parts are sentences, or begin with words such as `and then`.
    """
    if len(lines := lines_of(request)) > 1:
        return lines[:MAX_PARTS]
    parts: list[str] = []
    for part in filter(None, map(str.strip, _BOUNDARY.split(request))):
        if parts and (len(set(terms(part))) < MIN_TERMS or len(set(terms(parts[-1]))) < MIN_TERMS):
            parts[-1] += f" {part}"
        else:
            parts.append(part)
    return parts[:MAX_PARTS]
