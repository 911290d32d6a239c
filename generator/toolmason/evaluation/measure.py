"""Search for each query, and compare the hits with the tools that it must find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from toolmason_runtime.shared.catalogue import Catalogue

from toolmason.catalogue.tool_index import index_of
from toolmason.evaluation.queries import Query

if TYPE_CHECKING:
    from toolmason_runtime.shared.search.postings import SemanticPostings
    from toolmason_runtime.shared.search.rankers import RankerFactory

Search = Callable[[str], Iterable[Sequence[str]]]
"""Returns the results of a text, best first, each with the names of its tools."""
SearchIn = Callable[[Catalogue], Search]
"""Returns the search in the tools of a catalogue."""

DEPTHS = (1, 3, 5, 10)
"""Values of N for which recall@N is reported, in addition to that of `--top`."""

UNCATEGORIZED = "tools"
"""Category of the tools of other servers in reports: MCP has none, and a word of every tool would affect searches."""


@dataclass(frozen=True)
class Outcome:
    """The result of one query: the names of all hits, best first, and the category of its first tool."""

    query: Query
    hits: tuple[str, ...]
    category: str

    def recall(self, top: int) -> float:
        """Return the share of the query's tools among the first `top` hits."""
        return sum(tool in self.hits[:top] for tool in self.query.tools) / len(self.query.tools)

    def rank(self, tool: str) -> int | None:
        """Return the rank of a tool, from 1; None if the search does not find it."""
        return self.hits.index(tool) + 1 if tool in self.hits else None

    @cached_property
    def wanted(self) -> str:
        """The tool of the query with the best rank; its first tool if the search finds none of them."""
        ranked = [tool for tool in self.hits if tool in self.query.tools]
        return ranked[0] if ranked else self.query.tools[0]

    @property
    def first(self) -> str:
        """The first hit; empty if there is none."""
        return self.hits[0] if self.hits else ""

    @cached_property
    def in_the_way(self) -> str:
        """The best hit that is not a tool of the query; empty if there is none."""
        return next((tool for tool in self.hits if tool not in self.query.tools), "")


@dataclass(frozen=True)
class Score:
    """The recall of a group of queries by N of recall@N, and the numbers of misses and of queries without a hit."""

    name: str
    queries: int
    recall: Mapping[int, float]
    misses: int
    empty: int


@dataclass(frozen=True)
class Evaluation:
    """The outcomes of all queries, in order. In a miss, one of the query's tools is not among the first `top` hits."""

    outcomes: tuple[Outcome, ...]
    top: int

    @cached_property
    def total(self) -> Score:
        """The score of all queries."""
        return self._score("all", self.outcomes)

    @cached_property
    def categories(self) -> tuple[Score, ...]:
        """The scores of the categories, in the order of their first queries."""
        return tuple(
            self._score(name, [outcome for outcome in self.outcomes if outcome.category == name])
            for name in dict.fromkeys(outcome.category for outcome in self.outcomes)
        )

    @cached_property
    def misses(self) -> tuple[Outcome, ...]:
        """The outcomes with a tool that is not among the first `top` hits."""
        return tuple(outcome for outcome in self.outcomes if outcome.recall(self.top) < 1)

    def _score(self, name: str, outcomes: Sequence[Outcome]) -> Score:
        depths = sorted({*DEPTHS, self.top})
        return Score(
            name=name,
            queries=len(outcomes),
            recall={top: sum(outcome.recall(top) for outcome in outcomes) / len(outcomes) for top in depths},
            misses=sum(outcome.recall(self.top) < 1 for outcome in outcomes),
            empty=sum(not outcome.hits for outcome in outcomes),
        )


def evaluate(
    queries: Iterable[Query],
    search: Search,
    categories: Mapping[str, str],
    *,
    top: int,
) -> Evaluation:
    """Return the outcome of each query.

    Args:
        queries: at least one query.
        search: returns the results of a text, best first: the name of a tool, or several if the result stands for the
            same tool of several servers. Such a result finds each of them.
        categories: the category of each tool. Hits without one, which are built-in tools, are ignored.
        top: the number of first hits in which a tool counts as found.
    """

    def outcome(query: Query) -> Outcome:
        found = (next((name for name in names if name in query.tools), names[0]) for names in search(query.text))
        hits = tuple(name for name in found if name in categories)
        return Outcome(query, hits, categories[query.tools[0]])

    return Evaluation(tuple(map(outcome, queries)), top)


def search_with(postings: SemanticPostings | None = None, ranker: RankerFactory | None = None) -> SearchIn:
    """Return the search by words, and by meaning if there are `postings`. `ranker` replaces that by words."""

    def search_in(table: Catalogue) -> Search:
        index = index_of(table, load_postings=None if postings is None else lambda: postings, ranker=ranker)
        return lambda text: [hit.tools for hit in index.search(text)]

    return search_in
