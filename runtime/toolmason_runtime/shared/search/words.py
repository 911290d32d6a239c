"""Rank tools by the words of a query, with scores that the generator has computed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from heapq import nsmallest
from itertools import islice
from math import log, sqrt
from typing import NamedTuple, NotRequired, TypedDict

from toolmason_runtime.shared.search.best import COUNT, MAX_TERMS, MIN_TOOLS, BestTools, Table
from toolmason_runtime.shared.search.postings import SemanticPostings
from toolmason_runtime.shared.search.spelling import MIN_WORD, SimilarTerms, is_other_form, is_typing_error
from toolmason_runtime.shared.search.text import STOP_WORDS, stem, terms, words

FORMAT = 2
"""Version of `search_index.json`."""
NAME_BOOST = 0.75
"""Additional share of the score if the query contains the whole name of a tool."""
SEMANTIC_WEIGHT = 4
"""Weight of the semantic scores of a word that no tool contains, in hundredths of a cosine, compared with BM25F scores,
in hundredths; that of other words is less, as their inverse document frequency.
"""
SIMILAR_WEIGHT = 0.6
"""Weight of a similar word, compared with an equal one, in a query of at most `FULL_WEIGHT_TERMS` terms."""
FULL_WEIGHT_TERMS = 3
"""Terms of a query up to which similar words have their whole weight, which then declines with the square."""
MAX_SIMILAR_TERMS = 6
"""Maximum terms of a query whose unknown words are compared with all terms; in longer ones they have little weight."""
MAX_UNKNOWN_WORDS = 12
"""Maximum words of a query that are compared with all terms, the first ones: each costs as much as a whole search."""
MAX_ANALYZED = 8
"""Queries whose analysis is kept."""
SIMILAR_MEANING = 14
"""Minimum semantic score of a word that is about what a tool does. `mother` has less for every tool of a developer."""
EVIDENCE_WEIGHT = 2.5
"""Weight of semantic scores in the evidence that a query is about the tools, with which its minimum was chosen."""
MIN_EVIDENCE = 0.58
"""Minimum evidence that a query is about the tools: it loses 0.3 % of the answers to 2,120 queries of 3 catalogues."""
MIN_EVIDENCE_OF_MEANING = 0.65
"""The same for a query without a word of any tool."""
NGRAM_SIZES = (3, 4, 5)
"""Lengths of the n-grams that find words with a common part."""
MAX_EXCHANGED = 12
"""Maximum letters of a word in which neighbours are exchanged: longer ones share enough n-grams."""
MIN_SIMILARITY = 0.5
"""Minimum Dice coefficient of the bigrams of two similar words."""
MIN_NGRAM_SIMILARITY = 0.3
"""Minimum Dice coefficient of the n-grams of two words that share a part."""


class SameTools(TypedDict):
    """A tool that several servers have: its name without their prefixes, and the tools as their index in `tools`."""

    name: str
    tools: list[int]


class SearchData(TypedDict):
    """The content of `search_index.json`. Columns contain tools as their index in `tools`."""

    format: int
    tools: list[str]
    terms: dict[str, list[list[int]]]
    """For each term two columns: the tools that contain it, and their scores, highest first."""
    names: dict[str, list[list[int]]]
    """For each term two columns: the tools with it in their name, and its share of the name in percent."""
    same: NotRequired[list[SameTools]]
    """The tools that several servers have; absent without any."""


class _Query(NamedTuple):
    """The terms of a query that tools contain, similar ones with weights, and the semantic scores by position."""

    terms: tuple[str, ...]
    similar: list[tuple[str, float]]
    semantic: dict[int, float]

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each term."""
        weights = dict.fromkeys(self.terms, 1.0)
        for term, weight in self.similar:
            weights[term] = weights.get(term, 0.0) + weight
        return weights


class WordRanker:
    """Ranks by the scores in `search_index.json`, plus those in `postings` for tools with a similar meaning."""

    def __init__(self, data: SearchData, postings: SemanticPostings | None = None) -> None:
        if data["format"] != FORMAT:
            raise ValueError(f"search index has format {data['format']}, not {FORMAT}: generate the server again")
        self._data = data
        self._postings = postings
        # A search needs the same facts of a query up to four times.
        self._analyzed = lru_cache(maxsize=MAX_ANALYZED)(self._analyze)

    @property
    def tools(self) -> list[str]:
        """The names of all tools, in the order of `scores`."""
        return self._data["tools"]

    def rank(self, query: str) -> Mapping[str, float]:
        """Return the scores of the matching tools by name."""
        return {name: score for name, score in zip(self.tools, self.scores(query), strict=True) if score}

    def scores(self, query: str) -> list[float]:
        """Return the scores of all tools, in the order of `tools`; 0 is no match.

        A score is that of BM25F, times 1 + `NAME_BOOST` x the share of the tool's name that the query contains, plus
        the semantic scores of the words, a rare word more than a common one. Words that are spelled like an unknown
        word of the query add only to tools that match another word, so that a typing error does not change the order of
        those tools.
        """
        scores = self.scores_by_words(query)
        for position, score in self._analyzed(query).semantic.items():
            scores[position] += score
        return scores

    def scores_by_words(self, query: str) -> list[float]:
        """Return the scores of `scores` without those by meaning."""
        query_terms = dict.fromkeys(terms(query))
        scores = self._sum_scores((term, 1.0) for term in query_terms)
        for tool, share in self._name_shares(query_terms).items():
            scores[tool] *= _name_factor(share)
        for term, weight in self._analyzed(query).similar:
            for tool, score in zip(*self._data["terms"][term], strict=True):
                if scores[tool]:
                    scores[tool] += weight * score
        return scores

    def best(self, query: str, order: Mapping[int, int]) -> list[tuple[float, int]] | None:
        """Return the scores and positions of the best `COUNT` tools, best first; None to compare all tools instead.

        Args:
            query: the query.
            order: the visible tools, by their position in `tools`, with their place among equal ones.
        """
        analyzed = self._analyzed(query)
        if len(self.tools) < MIN_TOOLS or not 0 < len(analyzed.terms) <= MAX_TERMS:
            return None

        def rank(chosen: Collection[int]) -> list[tuple[float, int]]:
            tools = [tool for tool in chosen if tool in order]
            scores = zip(self._scores_of(analyzed, tools), tools, strict=True)
            ranked = [(-score, order[tool], tool) for score, tool in scores if score]
            return [(-score, tool) for score, _, tool in nsmallest(COUNT, ranked)]

        found = self._best.candidates(analyzed.weights, more=analyzed.semantic.keys(), rank=rank)
        return None if found is None else rank(found)

    def at_least(self, query: str, lowest: float) -> dict[int, float]:
        """Return the scores of the tools whose score is at least `lowest`, a positive number, by their position."""
        analyzed = self._analyzed(query)
        tools = sorted(self._best.reaching(analyzed.weights, lowest).union(analyzed.semantic))
        scores = zip(tools, self._scores_of(analyzed, tools), strict=True)
        return {tool: score for tool, score in scores if score >= lowest}

    def scores_of(self, query: str, tools: Sequence[int]) -> list[float]:
        """Return the scores of the tools at some positions, as `scores` has them."""
        return self._scores_of(self._analyzed(query), tools)

    def _scores_of(self, query: _Query, tools: Sequence[int]) -> list[float]:
        places = {tool: place for place, tool in enumerate(tools)}
        sums = self._table.sums(query.terms, tools, places)
        shares = self._name_table.sums(query.terms, tools, places)
        scores = [total * _name_factor(share) for total, share in zip(sums, shares, strict=True)]
        for term, weight in query.similar:
            numbers = self._table.numbers(term, tools, places)
            scores = [score and score + weight * number for score, number in zip(scores, numbers, strict=True)]
        for tool, score in query.semantic.items():
            if tool in places:
                scores[places[tool]] += score
        return scores

    def _analyze(self, query: str) -> _Query:
        found = dict.fromkeys(terms(query))
        known = tuple(term for term in found if term in self._data["terms"])
        semantic = self._scores_by_meaning(self._meaning_weights(query)) if self._postings else {}
        return _Query(known, self._similar_weights(query, found), semantic)

    def count_matches(self, query: str, visible: Collection[int]) -> int:
        """Return the number of visible tools with a score."""
        found = self._table.tools_with(self._analyzed(query).terms, self._analyzed(query).semantic)
        return found.count(1) if len(visible) == len(found) else sum(map(found.__getitem__, visible))

    @cached_property
    def _table(self) -> Table:
        return Table(self._data["terms"], len(self.tools))

    @cached_property
    def _best(self) -> BestTools:
        return BestTools(self._table, self._name_table, _name_factor(100))

    @cached_property
    def _name_table(self) -> Table:
        return Table(self._data["names"], len(self.tools))

    def _similar_weights(self, query: str, query_terms: Collection[str]) -> list[tuple[str, float]]:
        """Return the terms that are spelled like an unknown word of the query, with their weights."""
        if len(query_terms) > MAX_SIMILAR_TERMS:
            return []
        weight = SIMILAR_WEIGHT * min(1, FULL_WEIGHT_TERMS / max(1, len(query_terms))) ** 2
        return [(term, weight * similarity) for term, similarity in self._similar_to_unknown(query)]

    def _meaning_weights(self, query: str) -> dict[str, float]:
        """Return the weight of the semantic scores of each word: a word of every tool says nothing about the query."""
        weight = SEMANTIC_WEIGHT / (self._rareness("") or 1.0)
        return {word: weight * self._rareness(stem(word)) for word in _searched(query)}

    def _scores_by_meaning(self, weights: Mapping[str, float]) -> dict[int, float]:
        """Return the weighted sum of the semantic scores of words, by the positions of tools."""
        if self._postings is None:
            return {}
        positions = self._positions_of_embedded
        sums = self._postings.scores(weights)
        return {position: sums[tool] for tool in sums if (position := positions[tool]) is not None}

    @cached_property
    def _positions_of_embedded(self) -> list[int | None]:
        """The position in `scores` of each tool of the postings, None for those of another version of the server."""
        positions = {name: position for position, name in enumerate(self.tools)}
        return [positions.get(name) for name in self._postings.tools] if self._postings else []

    def has_term(self, query: str) -> bool:
        """Return whether a tool contains a word of the query."""
        return any(term in self._data["terms"] for term in terms(query))

    def fits(self, query: str, first: int, score: float) -> bool:
        """Return whether a query is about the tools, of which that at the position `first` is the best, with `score`.

        The evidence is the share of the query that the first tool explains, which is smaller in longer queries, and the
        share of its words that are similar to a tool, or are those of the tools and too special for the vocabulary of
        the model, such as `git`. Without `postings`, this cannot be decided: the result is True.
        """
        searched = _searched(query)
        if self._postings is None or not searched:
            return True
        # With the weight for which `MIN_EVIDENCE` was chosen.
        score -= self._analyzed(query).semantic.get(first, 0.0)
        score += self._scores_by_meaning(dict.fromkeys(searched, EVIDENCE_WEIGHT)).get(first, 0.0)
        explained = score / sum(map(self._rareness, dict.fromkeys(map(stem, searched))))
        relevant = sum(map(self._is_relevant, searched)) / len(searched)
        minimum = MIN_EVIDENCE if self.has_term(query) else MIN_EVIDENCE_OF_MEANING
        return explained * sqrt(len(searched)) + relevant >= minimum

    def _rareness(self, term: str) -> float:
        """Return the inverse document frequency of a term, which is highest for an unknown one, in hundredths."""
        tools = len(self._data["tools"])
        count = len(self._data["terms"][term][0]) if term in self._data["terms"] else 0.5
        return 100 * log(1 + (tools - count + 0.5) / (count + 0.5))

    def is_embedded(self, word: str) -> bool:
        """Return whether the model of `postings` knows a word."""
        return self._postings is not None and self._postings.best(word) is not None

    def _is_relevant(self, word: str) -> bool:
        score = self._postings.best(word) if self._postings else None
        if score is None:
            return not word.isdigit() and stem(word) in self._data["terms"]
        return score >= SIMILAR_MEANING

    def scores_by_spelling(self, query: str) -> list[float]:
        """Return scores by similarly spelled terms, for words of the query that no tool contains."""
        return self._sum_scores(self._similar_to_unknown(query))

    def scores_by_typing_errors(self, query: str) -> list[float]:
        """Return scores by the terms that the words of the query mean, if each is one of them with a typing error.

        A word that the model knows has no error: `love` is not `move`. All scores are 0 if one word is too different
        from every term, because the query is about something else, and for a query of more than `MAX_UNKNOWN_WORDS`
        words.
        """
        meant: list[tuple[str, float]] = []
        searched = _searched(query)
        for word in searched if len(searched) <= MAX_UNKNOWN_WORDS else ():
            similar = self._similar.find(word).items()
            is_word = self.is_embedded(word)
            is_meant = is_other_form if is_word else is_typing_error
            close = {term: similarity for term, similarity in similar if is_meant(stem(word), term)}
            if len(word) >= MIN_WORD and not is_word:
                close |= self._exchanged(word)
            if not close:
                return self._sum_scores(())
            meant += close.items()
        return self._sum_scores(meant)

    def nearest_terms(self, query: str) -> list[str]:
        """Return the terms that are spelled most like a word of the query, or share a part with it, best first."""
        shares: dict[str, float] = {}
        for word in _searched(query)[:MAX_UNKNOWN_WORDS]:
            for similarity in (self._similar.find(word), self._sharing_ngrams.find(word), self._exchanged(word)):
                for term, share in similarity.items():
                    shares[term] = max(share, shares.get(term, 0.0))
        return sorted(shares, key=lambda term: (-shares[term], term))

    def _exchanged(self, word: str) -> dict[str, float]:
        """Return the terms that are `word` with two neighbours exchanged: in a short word, they share few n-grams."""
        places = range(len(word) - 1 if len(word) <= MAX_EXCHANGED else 0)
        swapped = (stem(f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}") for at in places)
        return {term: 1 - 1 / len(word) for term in swapped if term in self._data["terms"] and term != stem(word)}

    def names_containing(self, query: str) -> set[str]:
        """Return the tools with every word of `query` in their names; stop words count unless two others remain."""
        searched = _searched(query)
        wanted = set(searched if len(searched) > 1 else words(query))
        tools = [set(self._data["names"].get(stem(word), ((),))[0]) for word in wanted]
        return {self._data["tools"][tool] for tool in set.intersection(*tools)} if tools else set()

    def _name_shares(self, query_terms: Iterable[str]) -> dict[int, int]:
        """Return the share of each tool's name that the query contains, in percent."""
        shares: dict[int, int] = {}
        for term in query_terms:
            for tool, share in zip(*self._data["names"].get(term, ((), ())), strict=True):
                shares[tool] = shares.get(tool, 0) + share
        return shares

    def _similar_to_unknown(self, query: str) -> list[tuple[str, float]]:
        """Return the terms that are spelled like an unknown word of the query, except numbers, with the similarity."""
        known = self._data["terms"]
        unknown = (word for word in _searched(query) if not word.isdigit() and stem(word) not in known)
        compared = islice(unknown, MAX_UNKNOWN_WORDS)
        return [pair for word in compared for pair in self._similar.find(word).items()]

    def _sum_scores(self, weights: Iterable[tuple[str, float]]) -> list[float]:
        """Return the sum of the scores of each tool, by its index, from pairs of a term and its weight."""
        # A list is more than twice as fast as a dictionary of the tools that match.
        scores = [0.0] * len(self._data["tools"])
        for term, weight in weights:
            for tool, score in zip(*self._data["terms"].get(term, ((), ())), strict=True):
                scores[tool] += weight * score
        return scores

    @cached_property
    def _similar(self) -> SimilarTerms:
        return SimilarTerms(self._data["terms"], (2,), MIN_SIMILARITY)

    @cached_property
    def _sharing_ngrams(self) -> SimilarTerms:
        return SimilarTerms(self._data["terms"], NGRAM_SIZES, MIN_NGRAM_SIMILARITY)


def _name_factor(share: float) -> float:
    """Return the factor of the score of a tool, from the share of its name that the query contains, in percent."""
    return 1 + NAME_BOOST * min(share, 100) / 100


def _searched(query: str) -> list[str]:
    """Return the words of a query without stop words, once each."""
    return [word for word in dict.fromkeys(words(query)) if word not in STOP_WORDS]
