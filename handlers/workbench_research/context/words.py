"""The words of a question, as they are looked for in files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from toolmason_runtime import english_stem

MAX_TERMS: Final = 40
"""Maximum terms of a question; further ones are not looked for."""
MIN_CHARS: Final = 2

STOP_WORDS: Final = frozenset(
    re.findall(
        r"\S+",
        """
    a about after again all also am an and any are as at be because been before being between both but by can cannot
    could did do does doing done each either else ever every few find first for from further get gets getting give given
    go goes had happen happens has have having he her here his how i if in instead into is it its itself just know let
    like made make makes making many may me mean means meantime might more most much must my need needs no nor not now
    of off on once one only or other our out over own part per please put really same see several shall she should show
    so some such sure take than that the their them then there these they thing things this those through to together
    too
    under until up us use used uses using very want was way we well were what when where which while who whom whose why
    will with within without work works would yet you your
    code file files function functions implementation implement implemented explain describe tell exactly finally
    """,
    )
)
"""Words that are in every question, and the usual ones for code."""

_WORD: Final = re.compile(r"[^\W_]+(?:_+[^\W_]+)*")
_PIECE: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\da-zA-Z_]+")

SYNONYMS: Final = tuple(
    frozenset(group.split())
    for group in (
        "delete remove unlink drop erase discard",
        "directory folder dir",
        "error exception failure fail",
        "setting config configuration option preference",
        "argument parameter arg param",
        "create make build generate new construct",
        "check validate verify assert ensure enforce",
        "find search look lookup locate",
        "start begin launch boot",
        "stop end cancel abort",
        "wait sleep delay backoff timeout",
        "retry again attempt",
        "link symlink",
        "write save store persist",
        "read load fetch",
        "convert transform translate coerce cast",
        "split divide chunk",
        "join merge combine concatenate",
        "cut truncate shorten trim",
        "limit maximum max cap",
        "message text string",
        "list array sequence",
        "dictionary dict mapping map",
        "send emit dispatch publish",
        "receive accept listen",
        "parse read decode",
        "print render format display show",
        "choose select pick",
        "undo rollback revert",
        "batch bulk",
        "change modify update edit dirty",
        "number count total",
        "connection conn socket",
        "database db",
        "address url uri",
        "cache memo memoize",
    )
)
"""Words that programmers use for the same thing. A synonym counts less than the word itself."""


@dataclass(frozen=True, slots=True)
class Term:
    """A stem that is looked for at the beginning of a word. `group` is the index of the word of the question."""

    stem: str
    group: int
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Words:
    """The terms of a question, and its words that may be whole identifiers, such as `read_file` and `ReadFile`."""

    terms: tuple[Term, ...]
    identifiers: tuple[str, ...]


def question_words(question: str, *, synonyms: bool = True) -> Words:
    """Return the words of a question without stop words, each once, with synonyms."""
    words: dict[str, str] = {}
    identifiers: dict[str, None] = {}
    for run in _WORD.findall(question):
        pieces = _PIECE.findall(run)
        if len(pieces) > 1 and not run.isdigit():
            identifiers[run] = None
        for piece in pieces:
            word = piece.casefold()
            if len(word) >= MIN_CHARS and word not in STOP_WORDS:
                words.setdefault(_stem(word), word)
    terms = [Term(stem, group) for group, stem in enumerate(list(words)[:MAX_TERMS])]
    for group, (stem, word) in enumerate(list(words.items())[:MAX_TERMS] if synonyms else ()):
        for same in SYNONYMS:
            stems = {_stem(synonym) for synonym in same}
            if word in same or stem in stems:
                terms += [Term(other, group, SYNONYM_WEIGHT) for other in sorted(stems - words.keys())]
    return Words(tuple(dict.fromkeys(terms)), tuple(identifiers))


SYNONYM_WEIGHT: Final = 0.3


def _stem(word: str) -> str:
    """Return the part with which all forms of a word begin: `cach` for `caching`, `entr` for `entries` and `entry`."""
    stem = english_stem(word) if len(word) > 3 and word.isascii() else word
    return stem[:-1] if stem.endswith("i") and len(stem) > 3 else stem
