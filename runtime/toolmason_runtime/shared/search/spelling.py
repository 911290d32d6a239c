"""Find the terms of an index that are spelled like a word, by the character n-grams that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import chain

from toolmason_runtime.shared.search.text import ngrams


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
