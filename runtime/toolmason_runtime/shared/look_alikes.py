"""Characters that look alike, to find names and words that imitate others.

The method is that of https://www.unicode.org/reports/tr39/#Confusable_Detection
"""

from __future__ import annotations

import unicodedata
from typing import Final

_LOOK_ALIKES: Final = {
    "a": "\u0430\u03b1\u13aa\ua4ee4@",
    "b": "\u0432\u03b2\ua4d0\u13f48",
    "c": "\u0441\u03f2\ua4da\u13df",
    "d": "\u0501\ua4d3\u13a0",
    "e": "\u0435\u03b5\u13ac\ua4f03\u20ac",
    "h": "\u043d\u0570\u13bb\ua4e7",
    "i": "\u0456\u0457\u03b9\u04cf\u13a5\ua4f2l1",
    "j": "\u0458",
    "k": "\u043a\u03ba\u13e6\ua4d7",
    "m": "\u043c\ua4df\u13b7",
    "n": "\u03b7\u0578\u043f\ua4e0",
    "o": "\u043e\u03bf\u0585\ua4f30",
    "p": "\u0440\u03c1\u13e2\ua4d1",
    "r": "\u0433\u13a1\u13d2\ua4e3",
    "s": "\u0455\u03c3\u03c2\u13da\ua4e25$",
    "t": "\u0442\u03c4\u13a2\ua4d47",
    "u": "\u057d\u03c5",
    "v": "\u03bd\u0475",
    "w": "\u051d\u03c9\u13b3\ua4ea",
    "x": "\u0445\u03c7",
    "y": "\u0443\u03b3",
}
"""Letter -> letters, digits and signs that look like it, in lower case."""
PLAIN_LETTERS: Final = {ord(alike): letter for letter, alikes in _LOOK_ALIKES.items() for alike in alikes}
"""The letter of each character that looks like it, for `str.translate`."""


def skeleton(name: str) -> str:
    """Return a name in which characters that look alike are equal: `P\u0430y-1tem` and `pay_Item` become `payitem`."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    letters = unicodedata.normalize("NFKD", folded).translate(PLAIN_LETTERS)
    return "".join(char for char in letters if char.isalnum())
