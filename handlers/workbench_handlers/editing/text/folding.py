"""Fold line breaks and typographic characters to find a text in another one, and map positions back."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import Final

ELLIPSIS: Final = "\u2026"
_PLAIN: Final = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"')
    | dict.fromkeys("\u00a0\u2007\u202f", " ")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {ELLIPSIS: "..."}
)
"""Plain counterparts of quotes, spaces, dashes and the ellipsis."""
_KINDS: Final = (
    ("quotes", re.compile("[\u2018-\u201f\u2032\u2033]")),
    ("ellipses", re.compile(ELLIPSIS)),
    ("spaces", re.compile("[\u00a0\u2007\u202f]")),
    ("dashes", re.compile("[\u2010-\u2015\u2212]")),
)


def fold(text: str, newline: str, *, typography: bool = False) -> str:
    r"""Return a text with `\n` as its only line break and, with `typography`, with plain quotes, spaces and dashes.

    `\r` is a line break only if `newline` is `\r`.
    """
    folded = text.replace("\r\n", "\n")
    if newline == "\r":
        folded = folded.replace("\r", "\n")
    return folded.translate(_PLAIN) if typography else folded


class Positions:
    """Maps positions in the folded form of a text to positions in the text."""

    def __init__(self, text: str, *, typography: bool = False) -> None:
        # Parts whose length differs: their end in the folded text and in the original, and their folded length.
        self._ends, self._originals, self._sizes = array("q"), array("q"), array("b")
        self._typography = typography
        shift = 0
        for match in re.finditer(f"\r\n|{ELLIPSIS}" if typography else "\r\n", text):
            size = 3 if match[0] == ELLIPSIS else 1
            shift += size - len(match[0])
            self._ends.append(match.end() + shift)
            self._originals.append(match.end())
            self._sizes.append(size)

    def original(self, position: int) -> int:
        """Return the position in the text."""
        index = bisect_right(self._ends, position)
        return position + (self._originals[index - 1] - self._ends[index - 1] if index else 0)

    def is_boundary(self, position: int) -> bool:
        """Return whether a folded position is between two characters of the text, not in the `...` of an ellipsis."""
        index = bisect_right(self._ends, position)
        return index == len(self._ends) or position <= self._ends[index] - self._sizes[index]

    def folded_size(self, text: str) -> int:
        r"""Return the length of the folded form of a text without `\r\n`."""
        return len(text) + 2 * text.count(ELLIPSIS) if self._typography else len(text)


def find_starts(text: str, wanted: str, limit: int) -> list[int]:
    """Return the first `limit` positions of `wanted`, which is not empty, in `text`, also those that overlap."""
    starts: list[int] = []
    position = text.find(wanted)
    while position >= 0 and len(starts) < limit:
        starts.append(position)
        position = text.find(wanted, position + 1)
    return starts


def name_differences(text: str, other: str) -> str:
    """Return the kinds of typographic characters in which two texts differ, as in "quotes and dashes"."""
    names = [name for name, pattern in _KINDS if pattern.findall(text) != pattern.findall(other)]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def common_prefix(text: str, other: str) -> int:
    """Return the number of equal characters at the beginning of two texts."""
    size = min(len(text), len(other))
    return next((i for i in range(size) if text[i] != other[i]), size)


def line_number(text: str, position: int) -> int:
    r"""Return the number of the line at a position. `\n` ends lines, or `\r` in a text without `\n`."""
    return text.count("\n" if "\n" in text else "\r", 0, position) + 1
