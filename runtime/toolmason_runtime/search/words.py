"""Rank tools by the words of a query, with the scores that were computed at generation time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypedDict

from toolmason_runtime.search.spelling import SimilarTerms
from toolmason_runtime.search.text import STOP_WORDS, stem, terms, words

FORMAT = 1
"""Version of `search_index.json`."""
NAME_BOOST = 0.75
"""Additional share of the score if the query contains the whole name of a tool."""
FUZZY_WEIGHT = 0.6
"""Weight of a similar word, compared with an equal one."""


class SearchData(TypedDict):
    """The content of `search_index.json`. A tool is its index in `tools`."""

    format: int
    tools: list[str]
    terms: dict[str, list[list[int]]]
    """For each term two columns: the tools that contain it, and their scores."""
    names: dict[str, list[list[int]]]
    """For each term two columns: the tools with it in their name, and its share of the name in percent."""


class WordRanker:
    """Ranks by the scores in `search_index.json`."""

    def __init__(self, data: SearchData) -> None:
        if data["format"] != FORMAT:
            raise ValueError(f"search index has format {data['format']}, not {FORMAT}: generate the server again")
        self._data = data

    def rank(self, query: str) -> Mapping[str, float]:
        """Return BM25F scores, times 1 + `NAME_BOOST` x the share of a tool's name that the query contains.

        Similar words add to the score of a tool that has some word of the query, so that a typing error does not rank
        another tool first.
        """
        scores = self._sum_scores((term, 1.0) for term in dict.fromkeys(terms(query)))
        for tool, share in self._name_shares(query).items():
            if tool in scores:
                scores[tool] *= 1 + NAME_BOOST * min(share, 100) / 100
        for tool, score in self._fuzzy_scores(query).items():
            if tool in scores:
                scores[tool] += FUZZY_WEIGHT * score
        return self._by_name(scores)

    def fuzzy_scores(self, query: str) -> Mapping[str, float]:
        """Return scores for terms that are similar to the words of the query that no tool has."""
        return self._by_name(self._fuzzy_scores(query))

    def names_containing(self, query: str) -> set[str]:
        """Return the tools with every word of `query` in their names, including stop words."""
        tools = [set(self._data["names"].get(stem(word), ((),))[0]) for word in set(words(query))]
        return {self._data["tools"][tool] for tool in set.intersection(*tools)} if tools else set()

    def _name_shares(self, query: str) -> dict[int, int]:
        """Return the share of each tool's name that the query contains, in percent."""
        shares: dict[int, int] = {}
        for term in set(terms(query)):
            for tool, share in zip(*self._data["names"].get(term, ((), ())), strict=True):
                shares[tool] = shares.get(tool, 0) + share
        return shares

    def _fuzzy_scores(self, query: str) -> dict[int, float]:
        known = self._data["terms"]
        unknown = [word for word in dict.fromkeys(words(query)) if stem(word) not in known and word not in STOP_WORDS]
        return self._sum_scores(pair for word in unknown for pair in self._similar.terms(word))

    def _sum_scores(self, weights: Iterable[tuple[str, float]]) -> dict[int, float]:
        """Return the sum of the scores of each tool, from pairs of a term and its weight."""
        scores: dict[int, float] = {}
        for term, weight in weights:
            for tool, score in zip(*self._data["terms"].get(term, ((), ())), strict=True):
                scores[tool] = scores.get(tool, 0.0) + weight * score
        return scores

    @cached_property
    def _similar(self) -> SimilarTerms:
        return SimilarTerms(self._data["terms"])

    def _by_name(self, scores: Mapping[int, float]) -> dict[str, float]:
        return {self._data["tools"][tool]: score for tool, score in scores.items()}
