"""Split text into search terms, with the same function for the index and for queries.

Names are split before they are lower-cased: `readFiles`, `read_files` and `read-files` have the same terms, and the
whole of `GitHub` or `base64` is a term in addition to its parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from unicodedata import normalize

from toolmason_runtime.shared.search.stemmer import english_stem

STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about an and any are as at be been being but by can could d did do does doing don down each for from
        had has have having he her here him his how i if in into is it its just let ll m me more most my no nor
        of on one or our out own please re s shall she should so some such t than that the their them then there
        these they this those to too up us ve very want was we were what when where which while who whom why will
        with would you your
        """,
    )
)
"""Words without meaning for a search: English function words and those of a polite request."""

_WORD = re.compile(r"[^\W_]+")
"""Letters and digits: `read`, `files` in `read_files`."""
_HYPHENATED = re.compile(r"(?<![\w-])(?:[^\W\d_]{1,3}-[^\W\d_]+|[^\W\d_]+-[^\W\d_]{1,3})(?![\w-])")
"""A word with a hyphen and a part of at most three letters, which many write without the hyphen: `e-mail`, `log-in`."""
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s\b")
"""The end of `server's`."""
_ASCII_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""One part of a name: `HTTP`, `Server`, `2` in `HTTPServer2`."""
_ACCENTS = re.compile(r"(?<=[A-Za-z])[\u0300-\u036f]+")
"""The accents of a decomposed Latin letter. In other scripts, marks distinguish letters, so they are kept."""
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK_OR_OTHER = re.compile(rf"[{_CJK}]+|[^{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")


def terms(text: str) -> list[str]:
    """Return the stems of `text` in order, with repeats, without stop words."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def words(text: str) -> list[str]:
    """Return the lower-case words of `text` in order, with names split, then hyphenated words in one: `email`."""
    return list(_words(text))


@lru_cache(maxsize=16)
def _words(text: str) -> tuple[str, ...]:
    # Cached because several steps of one search split the same query.
    text = _POSSESSIVE.sub("", _fold_accents(text))
    found = [word for run in _WORD.findall(text) for word in _split(run)]
    compounds = _HYPHENATED.findall(text) if "-" in text else ()
    return (*found, *(compound.replace("-", "").casefold() for compound in compounds))


def normalize_name(text: str) -> str:
    """Return the letters and digits of `text`, case-folded: equal for all spellings of a name."""
    return "".join(_WORD.findall(_fold_accents(text))).casefold()


def fold(text: str) -> str:
    """Return `text` for literal search: case-folded, with single spaces."""
    return " ".join(_fold_accents(text).casefold().split())


def _fold_accents(text: str) -> str:
    """Return `text` in NFKC without accents: `cafe` for `café`."""
    return text if text.isascii() else normalize("NFC", _ACCENTS.sub("", normalize("NFKD", text)))


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the stem of a lower-case word: `file` for `files`."""
    return english_stem(word) if len(word) > 2 and not word.isdigit() else word


def bigrams(word: str) -> frozenset[str]:
    """Return the pairs of adjacent characters in `^word$`."""
    return ngrams(word, (2,))


def ngrams(word: str, sizes: Iterable[int]) -> frozenset[str]:
    """Return the runs of `sizes` characters in `^word$`: `^ca`, `cat` and `at$` are the 3-grams of `cat`."""
    marked = f"^{word}$"
    return frozenset(marked[start : start + size] for size in sizes for start in range(len(marked) - size + 1))


@lru_cache(maxsize=8192)
def _split(run: str) -> tuple[str, ...]:
    return tuple(_pieces(run))


def _pieces(run: str) -> Iterator[str]:
    if run.isascii():
        pieces = _ASCII_PIECE.findall(run)
    elif _IS_CJK.search(run):
        for part in _CJK_OR_OTHER.findall(run):
            yield from _pairs(part) if _IS_CJK.match(part) else _split(part)
        return
    else:
        pieces = _unicode_pieces(run)
    for piece in pieces:
        yield piece.casefold()
    if len(pieces) > 1:
        yield run.casefold()


def _pairs(part: str) -> Iterator[str]:
    """Yield the bigrams of a run of CJK characters, which replace words there."""
    yield from (part[start : start + 2] for start in range(max(1, len(part) - 1)))


def _unicode_pieces(run: str) -> list[str]:
    pieces = [run[0]]
    for before, char in pairwise(run):
        if (char.isupper() and before.islower()) or char.isdigit() is not before.isdigit():
            pieces.append(char)
        else:
            pieces[-1] += char
    return pieces
