"""Cutting a long answer into parts that read well and fit into a result.

A part is measured as the model will see it. `toolmason_runtime.protocol.results` sends a result twice, as structure and as its
JSON text, and every client shows a model one of the two: JSON either way, with the answer as a string in it. So bytes
are those of the text, which is what `RESPONSE_CHUNK_SIZE_KB` is about, and tokens those of the text as JSON escapes it.

Ever smaller pieces are tried, from sections down to characters, and only pieces too large for a part are taken apart.
Whatever is taken apart is looked at once a level, so all of it takes time in proportion to the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from toolmason_runtime.protocol.tokens import estimate_tokens

from workbench_handlers.files.sections import after_fence

SMALLEST: Final = 8
"""The least bytes and tokens a part may be given: no character needs more."""

_PIECES: Final = 64
"""How many of the smallest pieces that are looked at make a part, at least."""
_COUNTED_AT_ONCE: Final = 8192
_WINDOW: Final = 128

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# Also within quotes and lists, where answers often put their code, and with any indentation. What follows the backticks
# of a fence holds none (https://spec.commonmark.org/0.31.2/#fenced-code-blocks).
_FENCE: Final = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*\Z)|~{3,})")
_HEADING: Final = re.compile(r"\s*#{1,6}[ \t][^\r\n]*+\s*+\Z")

# A space or a full stop can carry a mark too, and then it is no place to cut.
_UNMARKED: Final = r"(?![\p{GCB=Extend}\p{GCB=SpacingMark}\p{GCB=ZWJ}])"
# Chinese and Japanese put no space behind a sentence, nor behind what is a comma elsewhere.
_WIDE_STOPS: Final = r"\u3002\uff01\uff0e\uff1f\uff61"
_WIDE_COMMAS: Final = r"\u3001\uff0c\uff1a\uff1b"
_SENTENCE_END: Final = (
    r"(?:[\p{SB=ATerm}\p{SB=STerm}]\p{SB=Close}*\s+"
    rf"|[{_WIDE_STOPS}]\p{{SB=Close}}*(?![{_WIDE_STOPS}])){_UNMARKED}"
)
_WORD_END: Final = rf"(?:\s+|[{_WIDE_COMMAS}]){_UNMARKED}"


def cut(text: str, *, max_bytes: int, max_tokens: int) -> list[str]:
    """Cut `text` into at least one part, of at most `max_bytes` in UTF-8 and `max_tokens` in JSON.

    Joined they are `text` again. They end, in this order of preference, where a section, a code block or a paragraph
    ends, a line, a sentence, a word, or else a character as a reader sees it. A code block is cut only if it is larger
    than a part, a character of several code points likewise.

    Raises:
        ValueError: a limit is below `SMALLEST`.
    """
    if min(max_bytes, max_tokens) < SMALLEST:
        raise ValueError(f"no part can be this small: {max_bytes} bytes, {max_tokens} tokens")
    cutter = _Cutter(max_bytes, max_tokens)
    cutter.add(text)
    return cutter.parts()


@dataclass(slots=True)
class _Piece:
    """Text that stays together, and at most how many tokens it has. To count them takes a while, so that waits."""

    text: str
    size: int = field(init=False)
    tokens: int = field(init=False)
    is_counted: bool = False

    def __post_init__(self) -> None:
        self.size = len(self.text.encode("utf-8", "surrogatepass"))
        self.tokens = len(_escaped(self.text))

    def count(self, enough: int) -> None:
        """Count the tokens, up to `enough`."""
        if not self.is_counted:
            self.tokens = _tokens(_escaped(self.text), enough)
            self.is_counted = True


@dataclass(slots=True)
class _Part:
    """Pieces that are together small enough.

    The tokens of neighbours are added up: texts never have more of them together than apart.
    """

    max_bytes: int
    max_tokens: int
    pieces: list[_Piece] = field(default_factory=list)
    size: int = 0
    tokens: int = 0

    def takes(self, piece: _Piece) -> bool:
        """Add `piece` if there is room for it, and say so."""
        if self.size + piece.size > self.max_bytes:
            return False
        if self.tokens + piece.tokens > self.max_tokens:
            for each in (*self.pieces, piece):
                each.count(self.max_tokens)
            self.tokens = sum(each.tokens for each in self.pieces)
            if self.tokens + piece.tokens > self.max_tokens:
                return False
        self.pieces.append(piece)
        self.size += piece.size
        self.tokens += piece.tokens
        return True


class _Cutter:
    """Fills one part after the other."""

    def __init__(self, max_bytes: int, max_tokens: int) -> None:
        self._limits = max_bytes, max_tokens
        self._grain = max(1, min(self._limits) // _PIECES)
        self._full: list[str] = []
        self._part = _Part(*self._limits)

    def add(self, text: str, level: int = 0) -> None:
        """Add `text`, whole if any part can hold it, else in pieces of this level and those below."""
        piece = _Piece(text)
        if self._part.takes(piece):
            return
        fresh = _Part(*self._limits)
        if self._part.pieces and fresh.takes(piece):
            self._full.append(_text(self._part))
            self._part = fresh
            return
        for smaller in _grouped(_LEVELS[level](text), self._grain):
            self.add(smaller, level + 1)

    def parts(self) -> list[str]:
        """Give all parts, the last one too."""
        return [*self._full, _text(self._part)]


def _text(part: _Part) -> str:
    return "".join(piece.text for piece in part.pieces)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _tokens(text: str, enough: int) -> int:
    total = 0
    for start in range(0, len(text), _COUNTED_AT_ONCE):
        total += estimate_tokens(text[start : start + _COUNTED_AT_ONCE])
        if total > enough:
            break
    return total


def _grouped(pieces: Iterable[str], grain: int) -> Iterator[str]:
    """Join neighbours up to `grain` characters: fewer pieces to measure, and the cuts are where they were."""
    group = ""
    for piece in pieces:
        if group and len(group) + len(piece) > grain:
            yield group
            group = piece
        else:
            group += piece
    if group:
        yield group


def _sections(text: str) -> list[str]:
    """Take apart at paragraphs and code blocks, each heading together with what it stands above."""
    sections: list[list[str]] = []
    is_below_heading = False
    for block in _blocks(text):
        if not is_below_heading:
            sections.append([])
        sections[-1].append(block)
        is_below_heading = bool(_HEADING.match(block))
    return ["".join(section) for section in sections]


def _blocks(text: str) -> list[str]:
    """Take apart at paragraphs and code blocks; blank lines belong to what they follow."""
    return _parted(text, has_fences=True)


def _paragraphs(text: str) -> list[str]:
    """Take apart behind blank lines, also those of code."""
    return _parted(text, has_fences=False)


def _parted(text: str, *, has_fences: bool) -> list[str]:
    blocks: list[list[str]] = [[]]
    fence, is_over = "", False
    for line in _lines(text):
        is_blank, before = not line.strip(), fence
        if has_fences and (mark := _FENCE.match(line)):
            fence = after_fence(fence, mark[1], line[mark.start(1) :])
        if (is_over and not is_blank) or (fence and not before):
            blocks.append([])
        blocks[-1].append(line)
        is_over = (is_blank or bool(before)) and not fence
    return ["".join(block) for block in blocks if block]


def _lines(text: str) -> list[str]:
    return _LINE.findall(text)


def _sentences(text: str) -> list[str]:
    return _cut_behind(_SENTENCE_END, text)


def _words(text: str) -> list[str]:
    return _cut_behind(_WORD_END, text)


def _runs(text: str) -> list[str]:
    """Take apart between what a reader sees as characters, some of them at a time."""
    return ["".join(run) for run in _read(text)]


def _characters(text: str) -> list[str]:
    return [character for run in _read(text) for character in run]


def _read(text: str) -> Iterator[list[str]]:
    """Give the characters that a reader sees (https://unicode.org/reports/tr29/), a list for each window.

    In a window, since to tell how flags pair up the pattern looks back to their first one each time.
    """
    start, width = 0, _WINDOW
    while start < len(text):
        characters = _pattern(r"\X").findall(text[start : start + width])
        if start + width < len(text):
            # More of it may follow.
            characters.pop()
        if not characters:
            width *= 2
            continue
        yield characters
        start, width = start + sum(map(len, characters)), _WINDOW


_LEVELS: Final[Sequence[Callable[[str], list[str]]]] = (
    _sections,
    _blocks,
    _paragraphs,
    _lines,
    _sentences,
    _words,
    _runs,
    _characters,
    list,
)


def _cut_behind(pattern: str, text: str) -> list[str]:
    pieces, start = [], 0
    for match in _pattern(pattern).finditer(text):
        pieces.append(text[start : match.end()])
        start = match.end()
    return [*pieces, text[start:]] if start < len(text) else pieces


@cache
def _pattern(pattern: str) -> Any:
    import regex  # 50 ms, and few answers have such long lines

    return regex.compile(pattern)
