"""Find the terms of an index that are spelled like a word, by the character n-grams that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import chain

from toolmason_runtime.shared.search.text import ngrams

MIN_PREFIX = 5
"""Minimum letters of a word that begins another form of it: `version` and `versioning`."""
LONG_WORD = 8
"""Letters from which on a word may have two typing errors."""
MIN_WORD = 4
"""Minimum letters of a word with a typing error: shorter words are all similar."""


def is_other_form(word: str, term: str) -> bool:
    """Return whether `word` is `term` with another ending."""
    shorter, longer = sorted((word, term), key=len)
    return len(shorter) >= MIN_PREFIX and longer.startswith(shorter)


def is_typing_error(word: str, term: str) -> bool:
    """Return whether `word` is `term` with a typing error or another ending.

    An error is a letter too many, missing or changed, or two neighbours exchanged.
    """
    if is_other_form(word, term):
        return True
    shorter = min((word, term), key=len)
    if len(shorter) < MIN_WORD or word.isdigit():
        return False
    return _distance(word, term) <= (2 if len(shorter) >= LONG_WORD else 1)


def _distance(one: str, other: str) -> int:
    """Return the optimal string alignment distance of two words."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        current = [row]
        for column, second in enumerate(other, start=1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != second))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == second:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, last = last, current
    return last[-1]


class SimilarTerms:
    """The terms of an index, found by similar spelling. The lookup table is built at the first call of `find`.

    Args:
        terms: the terms of the index.
        sizes: lengths of the n-grams.
        min_similarity: minimum Dice coefficient of the n-grams of two similar words.
    """

    def __init__(self, terms: Collection[str], sizes: Iterable[int], min_similarity: float) -> None:
        self._terms = terms
        self._sizes = tuple(sizes)
        self._min_similarity = min_similarity

    def find(self, word: str) -> dict[str, float]:
        """Return the terms that are similar to `word`, each with the Dice coefficient."""
        grams = ngrams(word, self._sizes)
        terms_by_gram = self._terms_by_gram
        shared = Counter(chain.from_iterable(terms_by_gram[gram] for gram in grams if gram in terms_by_gram))
        # A term with fewer shared n-grams cannot reach the minimum, however short it is.
        min_shared = self._min_similarity * len(grams) / (2 - self._min_similarity)
        pairs = ((term, count) for term, count in shared.items() if count >= min_shared)
        similar = {term: 2 * count / (len(grams) + self._gram_counts[term]) for term, count in pairs}
        return {term: similarity for term, similarity in similar.items() if similarity >= self._min_similarity}

    @cached_property
    def _gram_counts(self) -> dict[str, int]:
        return dict(Counter(chain.from_iterable(self._terms_by_gram.values())))

    @cached_property
    def _terms_by_gram(self) -> dict[str, list[str]]:
        terms_by_gram: dict[str, list[str]] = {}
        for term in self._terms:
            for gram in ngrams(term, self._sizes):
                terms_by_gram.setdefault(gram, []).append(term)
        return terms_by_gram
