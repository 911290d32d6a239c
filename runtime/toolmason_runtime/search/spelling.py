"""Find the terms of an index that are spelled like a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import cached_property

from toolmason_runtime.search.text import bigrams

MIN_SIMILARITY = 0.5
"""Minimum Dice coefficient of the bigrams of two similar words."""


class SimilarTerms:
    """The terms of an index, looked up by spelling."""

    def __init__(self, terms: Collection[str]) -> None:
        self._terms = terms

    def terms(self, word: str) -> Iterator[tuple[str, float]]:
        """Yield the terms that are similar to `word`, each with the Dice coefficient."""
        own = bigrams(word)
        shared = Counter(term for bigram in own for term in self._terms_by_bigram.get(bigram, ()))
        for term, count in shared.items():
            similarity = 2 * count / (len(own) + len(term) + 1)
            if similarity >= MIN_SIMILARITY:
                yield term, similarity

    @cached_property
    def _terms_by_bigram(self) -> dict[str, list[str]]:
        terms_by_bigram: dict[str, list[str]] = {}
        for term in self._terms:
            for bigram in bigrams(term):
                terms_by_bigram.setdefault(bigram, []).append(term)
        return terms_by_bigram
