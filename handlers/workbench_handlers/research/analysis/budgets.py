"""How much of an answer a caller gets: text is cut where a sentence or a line ends, lists where an entry does."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Final

from toolmason_runtime import estimate_tokens

RESULT_TOKENS: Final = 12_000
"""What one result holds. Clients cut or refuse results of 25,000, and tokenizers count up to 1.95 times as much."""
CUT: Final = "… [cut]"
"""Stands where text was cut."""

_FENCE: Final = re.compile(r"^\s{0,3}```", re.MULTILINE)
_ENDS: Final = (
    re.compile(r"\n|(?<=[.!?:;])\s|(?<=[。！？])"),  # noqa: RUF001  full stops of other scripts
    re.compile(r"\s"),
    re.compile(r"(?s)(?<=.)"),
)
"""Where text may be cut, best first: lines and sentences, words, characters."""
_SHORTEST: Final = 0.5
"""The part of its budget that a cut text must fill; otherwise it is cut at a lesser boundary."""


def within(text: str, budget: int) -> tuple[str, bool]:
    """Give what of `text` fits into `budget` tokens, and whether anything was cut. The mark of the cut is counted."""
    if estimate_tokens(text) <= budget:
        return text, False
    kept = ""
    for ends in _ENDS:
        kept = _longest(text, [0, *(found.start() for found in ends.finditer(text))], budget)
        if estimate_tokens(kept) >= budget * _SHORTEST:
            break
    return _marked(kept), True


def fitting(entries: Iterable[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], int]:
    """Give the first entries that fit into `budget` tokens together, and what is left of the budget."""
    kept: list[dict[str, Any]] = []
    for entry in entries:
        cost = estimate_tokens(json.dumps(entry, ensure_ascii=False))
        if cost > budget:
            break
        budget -= cost
        kept.append(entry)
    return kept, budget


def _longest(text: str, ends: list[int], budget: int) -> str:
    place = bisect_right(ends, budget, key=lambda end: estimate_tokens(_marked(text[:end])))
    return text[: ends[place - 1]].rstrip() if place else ""


def _marked(text: str) -> str:
    """Add the mark. A block of code that was cut is closed first."""
    is_open = len(_FENCE.findall(text)) % 2
    return f"{text}\n```\n{CUT}" if is_open else f"{text} {CUT}".lstrip()
