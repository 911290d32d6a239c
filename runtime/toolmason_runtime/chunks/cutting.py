"""Cut a long text into parts that fit into one answer.

A part ends at a paragraph, else at a line, else at its maximum length, and never within a character as readers see it.
Joined, the parts are the text again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final
from unicodedata import category

from toolmason_runtime.shared.answer_size import fitting_length, size_of

MEASURED_CHARS: Final = 1_000_000
"""Characters of a text that are measured. Measuring is slow and few readers go further: the rest is cut smaller."""
MAX_ESCAPED_SIZE: Final = 20
"""Maximum size of one character, escaped twice: a control character becomes seven, which are five tokens."""

_ZERO_WIDTH_JOINER: Final = "\u200d"
_LINE_ENDS: Final = (("\n\n", "\n\r\n"), ("\n",))
"""Ends of paragraphs, then of lines."""


def cut(texts: Iterable[str], *, size: int, max_bytes: int) -> Iterator[str]:
    """Cut a text, which is read piece by piece, into parts that are not empty.

    Args:
        texts: the pieces of the text.
        size: maximum size of a part (see `size_of`). It is measured as a string inside of a result's JSON text.
        max_bytes: maximum UTF-8 bytes of a part.
    """
    window = min(size, max_bytes) + 1
    """No part has as many characters."""
    pending, done = "", 0
    for text in texts:
        pending, start = pending + text, 0
        while len(pending) - start >= window:
            part = _first_part(pending[start : start + window], size, max_bytes, is_measured=done < MEASURED_CHARS)
            yield part
            start, done = start + len(part), done + len(part)
        pending = pending[start:]
    while pending:
        part = _first_part(pending, size, max_bytes, is_measured=done < MEASURED_CHARS)
        yield part
        pending, done = pending[len(part) :], done + len(part)


def truncated(text: str, max_bytes: int) -> str:
    """Return the longest beginning of `text` that has at most `max_bytes` UTF-8 bytes."""
    if len(text) * 4 <= max_bytes:
        return text
    # A character has at least one byte, so the rest cannot be part of it.
    data = text[: max_bytes + 1].encode("utf-8", "surrogatepass")
    if len(data) <= max_bytes:
        return text
    end = max_bytes
    while end and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass")


def _first_part(text: str, size: int, max_bytes: int, *, is_measured: bool) -> str:
    head = truncated(text, max_bytes)
    length = max(1, _fitting_length(head, size) if is_measured else min(len(head), size // MAX_ESCAPED_SIZE))
    return text if length == len(text) else text[: _boundary(text, length)]


def _fitting_length(text: str, size: int) -> int:
    """Return the number of characters from the beginning of `text` that fit into `size`, escaped twice."""
    length = fitting_length(text, size)
    while length > 1 and (escaped_size := size_of(json.dumps(text[:length], ensure_ascii=False)[1:-1])) > size:
        length = max(1, length * size // escaped_size)
    return length


def _boundary(text: str, length: int) -> int:
    """Return the best place to end a part of at most `length` characters; all places are in its second half."""
    half = length // 2
    for line_ends in _LINE_ENDS:
        ends = [place + len(mark) for mark in line_ends if (place := text.rfind(mark, half, length)) >= 0]
        if ends:
            return max(ends)
    end = length
    while end > half and _is_within_character(text, end):
        end -= 1
    return end if end > half else length


def _is_within_character(text: str, end: int) -> bool:
    """Return whether a cut at `end` would split a grapheme cluster (https://unicode.org/reports/tr29/).

    Examples: `e` + U+0301, the two letters of a flag, a family of emoji, the vowel of a Hangul syllable, CR LF.
    """
    before, after = text[end - 1], text[end]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if _is_flag_letter(after):
        start = end
        while start and _is_flag_letter(text[start - 1]):
            start -= 1
        return (end - start) % 2 == 1
    if before < " ":
        return False
    return (
        before == _ZERO_WIDTH_JOINER
        or category(after) in ("Mn", "Me", "Mc")
        or after in "\u200c\u200d"
        or "\u1160" <= after <= "\u11ff"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or "\U000e0020" <= after <= "\U000e007f"
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
