"""Token budgets: text is cut at the end of a sentence or line, lists at the end of an entry."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Final

from toolmason_runtime import estimate_tokens

RESULT_TOKENS: Final = 12_000
"""Maximum tokens of a result. Clients cut or reject 25,000, and tokenizers count up to 1.95 times as many."""
CUT_MARK: Final = "… [cut]"
"""Marks the end of a text that was cut."""

_FENCE: Final = re.compile(r"^\s{0,3}```", re.MULTILINE)
"""The beginning or end of a block of code."""
_BOUNDARIES: Final = (
    re.compile(r"\n|(?<=[.!?:;])\s|(?<=[。！？])"),  # noqa: RUF001  full stops of other scripts
    re.compile(r"\s"),
    re.compile(r"(?s)(?<=.)"),
)
"""Where text may be cut, in order of preference: lines and sentences, words, characters."""
_MIN_SHARE: Final = 0.5
"""Minimum share of the budget that a cut text must fill; otherwise the next kind of boundary is used."""


def cut_to_budget(text: str, budget: int) -> tuple[str, bool]:
    """Return the beginning of `text` that fits into `budget` tokens, including the mark, and whether it was cut."""
    if estimate_tokens(text) <= budget:
        return text, False
    result = ""
    for boundaries in _BOUNDARIES:
        result = _longest_prefix(text, [0, *(match.start() for match in boundaries.finditer(text))], budget)
        if estimate_tokens(result) >= budget * _MIN_SHARE:
            break
    return _marked(result), True


def take_within_budget(entries: Iterable[dict[str, Any]], budget: int) -> tuple[list[dict[str, Any]], int]:
    """Return the first entries that fit into `budget` tokens together, and the remaining budget."""
    result: list[dict[str, Any]] = []
    for entry in entries:
        cost = estimate_tokens(json.dumps(entry, ensure_ascii=False))
        if cost > budget:
            break
        budget -= cost
        result.append(entry)
    return result, budget


def _longest_prefix(text: str, boundaries: list[int], budget: int) -> str:
    index = bisect_right(boundaries, budget, key=lambda end: estimate_tokens(_marked(text[:end])))
    return text[: boundaries[index - 1]].rstrip() if index else ""


def _marked(text: str) -> str:
    """Append the mark; close an open block of code first."""
    is_open = len(_FENCE.findall(text)) % 2
    return f"{text}\n```\n{CUT_MARK}" if is_open else f"{text} {CUT_MARK}".lstrip()
