"""Texts of pictures: their width, and the form in which they fit."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import dataclass
from html import escape
from typing import Final

from toolmason.model.python_text import escape_unprintable

LETTER: Final = 7.25
"""Width of a Latin letter of a label in pixels: 12 pixels of a monospaced font."""
MAX_LETTERS: Final = 36
"""Maximum letters of a name in a picture."""
_FIRST_WIDE: Final = 0x0590
"""The first letter of a script that a monospaced font often lacks: one of another font may be twice as wide."""
_NO_WIDTH: Final = frozenset({"Mn", "Me", "Cf"})


@dataclass(frozen=True, slots=True)
class Label:
    """A text that fits, and the whole text."""

    shown: str
    full: str

    @property
    def width(self) -> int:
        """The width in pixels."""
        return math.ceil(LETTER * letters(self.shown))


def label(text: str, limit: int = MAX_LETTERS) -> Label:
    """Return a text on one line, cut with an ellipsis after `limit` letters. Control characters are escaped."""
    full = escape_unprintable(" ".join(text.split()))
    if letters(full) <= limit:
        return Label(full, full)
    shown, width = "", 0
    for letter in full:
        width += letters(letter)
        if width > limit - 1:
            break
        shown += letter
    return Label(f"{shown.rstrip()}…", full)


def letters(text: str) -> int:
    """Return the width of a text in Latin letters."""
    return sum(map(_letters, text))


def _letters(letter: str) -> int:
    if letter == "…" or letter.isascii():
        return 1
    if unicodedata.category(letter) in _NO_WIDTH:
        return 0
    return 1 if ord(letter) < _FIRST_WIDE else 2


def short_number(number: int) -> str:
    """Return a number in at most four letters: 987, 1.2k, 12k, 3.4M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        # 999,950 is 1.0M, not 1000k.
        if number >= size * 0.9995 and number >= 1_000:
            scaled = number / size
            return f"{scaled:.1f}{unit}" if scaled < 9.95 else f"{scaled:.0f}{unit}"
    return str(number)


def xml(text: object) -> str:
    """Return text for an element or a quoted attribute of XML and HTML, without characters that XML forbids."""
    return escape(printable(text))


def printable(text: object) -> str:
    """Return text without control characters, which are escaped as in Python."""
    return escape_unprintable(str(text))
