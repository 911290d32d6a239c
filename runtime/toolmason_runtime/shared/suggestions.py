"""Guess the name that a person or a model meant by an unknown one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

MAX_CHARS: Final = 80
"""Maximum length of a name that is compared: the time grows with the square of the length."""
MIN_ABBREVIATION: Final = 3
"""Minimum number of letters of an abbreviation, such as `repo` for `repository`."""

MAX_COMPARED_CHARS: Final = 600_000
"""Characters that `limited_suggestions` compares, by default: enough for some hundred names, in less than a second."""

_left: ContextVar[list[int] | None] = ContextVar("characters left", default=None)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^\W_]+")
"""One word of a name in `snake_case`, `camelCase` or `kebab-case`: `max`, `Depth` in `maxDepth`."""


def closest_match(word: str, choices: Iterable[str]) -> str:
    """Return the choice that `word` most likely means, or the empty string."""
    return next(iter(closest_matches(word, choices, limit=1)), "")


def closest_matches(word: str, choices: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return the choices that `word` may mean, the most likely first.

    Choices with the same words come first (`search_path` for `path`), then those with similar letters (`query` for
    `qurey`), then those that it abbreviates (`repository` for `repo`). Case, `-` and `_` make no difference.
    """
    from difflib import get_close_matches

    left = _left.get()
    if len(word) > MAX_CHARS or (left and left[0] <= 0):
        return []
    choices = list(choices)
    if left:
        left[0] -= sum(map(len, choices)) + len(word) * len(choices)
    by_folded = {_fold(choice): choice for choice in choices if len(choice) <= MAX_CHARS}
    folded, words = _fold(word), _words(word)
    shares = {name: _share(words, _words(choice)) for name, choice in by_folded.items()}
    same_words = sorted((name for name in shares if shares[name]), key=lambda name: (name != folded, -shares[name]))
    similar = get_close_matches(folded, by_folded, n=max(limit, 1))
    abbreviated = (name for name, choice in by_folded.items() if _is_abbreviated(words, _words(choice)))
    matches = dict.fromkeys([*same_words, *similar, *abbreviated])
    return [by_folded[name] for name in matches][:limit]


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return the question for the closest choice, for a hint: "did you mean `query`?"; empty without one."""
    match = closest_match(word, choices)
    return f"did you mean `{match}`?" if match else ""


@contextmanager
def limited_suggestions(chars: int = MAX_COMPARED_CHARS) -> Iterator[None]:
    """Suggest names until `chars` characters were compared in this context, then none.

    A file with thousands of unknown names would take minutes for suggestions that nobody sees. The limit counts
    characters, not seconds, so that equal input has equal output.
    """
    token = _left.set([chars])
    try:
        yield
    finally:
        _left.reset(token)


def _fold(name: str) -> str:
    return name.casefold().replace("-", "_")


def _words(name: str) -> frozenset[str]:
    """Return the words of a name. Singular and plural are equal."""
    return frozenset(word.lower().removesuffix("s") for word in _WORD.findall(name))


def _share(words: frozenset[str], others: frozenset[str]) -> float:
    """Return the share of common words if one name has all words of the other, otherwise 0."""
    return len(words & others) / max(len(words | others), 1) if words <= others or others <= words else 0


def _is_abbreviated(words: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether each word of one name begins a word of the other, or the reverse."""
    few, many = sorted((words, others), key=len)
    return bool(few) and all(any(_begins(word, other) for other in many) for word in few)


def _begins(word: str, other: str) -> bool:
    is_long = min(len(word), len(other)) >= MIN_ABBREVIATION
    return word == other or (is_long and (word.startswith(other) or other.startswith(word)))
