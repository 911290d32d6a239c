"""Find the best tools of a large index without adding the scores of all others.

However a score is shared out among the terms of a query, a tool that reaches it has at least the share of one term. So
the share of a common term can be its highest score, and only tools with a rare term, or with a high score of another
one, are compared (as in MaxScore, Turtle and Flood, 1995). The scores of a term are sorted for that, highest first.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from heapq import nlargest
from itertools import islice
from operator import add, neg
from typing import Final, NamedTuple, overload

Columns = Sequence[Sequence[int]]
"""Two columns: tools as their position in the index, and numbers."""

MIN_TOOLS: Final = 2000
"""Number of tools from which on the best ones are found so. With fewer, adding all scores is as fast."""
MAX_TERMS: Final = 24
"""Maximum terms of a query for it: with more, few tools can be left out."""
COUNT: Final = 20
"""Number of best tools: two pages."""
MAX_CHAMPIONS: Final = 400
"""Maximum tools with the highest scores of single terms, of which the best give the first estimate."""
MAX_RARE: Final = 4000
"""Maximum scores of rare terms that are added for it."""
MAX_CACHED: Final = 128
"""Maximum terms of many tools whose numbers are kept in the order of the tools, with two bytes for each tool."""
MIN_COMMON: Final = 500
"""Minimum tools of a term whose tools are kept as a byte for each tool."""
ROUNDING: Final = 1e-9
"""Relative error of sums and products of scores."""


class BestFirst(Sequence[str]):
    """Ranked names, of which only the first may be known: the others are ranked when one of them is needed.

    Args:
        head: the first names.
        count: returns the number of all names; None if `head` has all.
        load: returns all names; None if `head` has all.
    """

    def __init__(
        self,
        head: Sequence[str] = (),
        count: Callable[[], int] | None = None,
        load: Callable[[], Sequence[str]] | None = None,
    ) -> None:
        self._head = head
        self._count = count or head.__len__
        self._load = load or (lambda: head)
        self.is_whole = load is None
        """Whether all names are known."""

    @cached_property
    def _size(self) -> int:
        return self._count()

    @cached_property
    def _all(self) -> Sequence[str]:
        return self._load()

    def __len__(self) -> int:
        return self._size

    def __bool__(self) -> bool:
        return bool(self._head)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        start, stop = (index.start or 0, index.stop) if isinstance(index, slice) else (index, index + 1)
        is_known = start >= 0 and stop is not None and 0 <= stop <= len(self._head)
        return (self._head if is_known else self._all)[index]

    def __iter__(self) -> Iterator[str]:
        yield from self._head
        yield from self._all[len(self._head) :]

    def after(self, first: Sequence[str], matching: Sequence[str]) -> BestFirst:
        """Return the names `first`, then all others. `matching` are those of `first` that are also in here."""
        head = [*first, *(name for name in self._head if name not in first)]
        if self.is_whole:
            return BestFirst(head)

        def load() -> list[str]:
            return [*first, *(name for name in self._all if name not in first)]

        return BestFirst(head, lambda: len(self) + len(first) - len(matching), load)


class Table:
    """Numbers of tools by term.

    Args:
        columns: for each term the tools that have a number, and the numbers, below 65,536.
        size: number of tools in the index.
    """

    def __init__(self, columns: Mapping[str, Columns], size: int) -> None:
        self.columns = columns
        self._size = size
        self._row = lru_cache(maxsize=MAX_CACHED)(self._make_row)
        self._marks = lru_cache(maxsize=MAX_CACHED)(self._make_marks)

    def numbers(self, term: str, tools: Sequence[int], places: Mapping[int, int]) -> Sequence[int]:
        """Return the numbers of `tools` for a term, 0 for a tool without one. `places` has their places in `tools`."""
        if (columns := self.columns.get(term)) is None:
            return [0] * len(tools)
        if len(columns[0]) > len(tools):
            return list(map(self._row(term).__getitem__, tools))
        found = [0] * len(tools)
        for tool, number in zip(*columns, strict=True):
            if (place := places.get(tool)) is not None:
                found[place] = number
        return found

    def _make_row(self, term: str) -> array[int]:
        row = array("H", bytes(2 * self._size))
        for tool, number in zip(*self.columns[term], strict=True):
            row[tool] = number
        return row

    def tools_with(self, terms: Iterable[str], more: Iterable[int]) -> bytes:
        """Return a byte for each tool: 1 if it has a number for one of `terms`, or is in `more`."""
        marks = bytearray(self._size)
        common = 0
        for tool in more:
            marks[tool] = 1
        for term in terms:
            tools = self.columns.get(term, ((),))[0]
            if len(tools) > MIN_COMMON:
                common |= self._marks(term)
            else:
                for tool in tools:
                    marks[tool] = 1
        return (common | int.from_bytes(marks, "little")).to_bytes(self._size, "little")

    def _make_marks(self, term: str) -> int:
        marks = bytearray(self._size)
        for tool in self.columns[term][0]:
            marks[tool] = 1
        return int.from_bytes(marks, "little")

    def sums(self, terms: Sequence[str], tools: Sequence[int], places: Mapping[int, int]) -> list[int]:
        """Return the sum of the numbers of each of `tools` for all terms."""
        found = [0] * len(tools)
        for term in terms:
            found = list(map(add, found, self.numbers(term, tools, places)))
        return found


class BestTools:
    """Finds the best tools for weighted terms.

    Args:
        scores: the scores of each term, highest first.
        shares: the share of a tool's name that a term has, in percent.
        highest_factor: the factor of the scores of a tool whose whole name is in the query.
    """

    def __init__(self, scores: Table, shares: Table, highest_factor: float) -> None:
        self._scores = scores
        self._shares = shares
        self._highest_factor = highest_factor

    def candidates(
        self,
        weights: Mapping[str, float],
        *,
        more: Collection[int],
        rank: Callable[[Collection[int]], list[tuple[float, int]]],
    ) -> Collection[int] | None:
        """Return tools among which are the best `COUNT`, and all others that are equal to the last of them.

        None if all tools must be compared.

        Args:
            weights: the terms of a query with their weights.
            more: tools that have a score for another reason.
            rank: returns the scores of tools and the tools, best first.
        """
        lists = self._lists(weights)
        # Tools with several rare terms, and with a high score of a common one, give the first estimate.
        sums: dict[int, float] = {}
        room = MAX_RARE
        for part in sorted(lists, key=lambda part: len(part.tools)):
            room -= len(part.tools)
            tools = part.tools if room >= 0 else part.tools[: MAX_CHAMPIONS // len(lists)]
            for tool, score in zip(tools, part.scores, strict=False):
                sums[tool] = sums.get(tool, 0.0) + part.weight * score
        champions = {*more, *nlargest(3 * COUNT, sums, key=sums.__getitem__)}
        best = rank(champions)[:COUNT]
        if len(best) < COUNT:
            return None
        named = self._named(weights)
        lowest = best[-1][0] * (1 - ROUNDING)
        found = self._reaching(lists, named, lowest)
        # Lists that are shorter than the number of tools are added at once; the others have low scores.
        short = [part for part in lists if len(part.tools) <= len(found)]
        sums = dict.fromkeys(found, 0.0)
        for part in short:
            for tool, score in zip(part.tools, part.scores, strict=True):
                if tool in sums:
                    sums[tool] += part.weight * score
        best = rank(champions.union(nlargest(2 * COUNT, sums, key=sums.__getitem__)))[:COUNT]
        lowest = best[-1][0] * (1 - ROUNDING)
        rest = sum(part.highest for part in lists) - sum(part.highest for part in short)
        least, least_named = lowest - rest, lowest / self._highest_factor - rest
        champions.update(
            tool for tool, total in sums.items() if total >= least or (total >= least_named and tool in named)
        )
        return champions

    def reaching(self, weights: Mapping[str, float], lowest: float) -> set[int]:
        """Return tools among which are all whose terms, with their weights, have at least the score `lowest`."""
        return self._reaching(self._lists(weights), self._named(weights), lowest * (1 - ROUNDING))

    def _lists(self, weights: Mapping[str, float]) -> list[_List]:
        columns = self._scores.columns
        return sorted(
            (_List(term, weight, weight * columns[term][1][0], *columns[term]) for term, weight in weights.items()),
            key=lambda part: part.highest / len(part.tools),
        )

    def _named(self, terms: Iterable[str]) -> set[int]:
        """Return the tools with one of `terms` in their name."""
        return set().union(*(self._shares.columns[term][0] for term in terms if term in self._shares.columns))

    def _reaching(self, lists: Sequence[_List], named: Collection[int], lowest: float) -> set[int]:
        return _above(lists, lowest / self._highest_factor).intersection(named) | _above(lists, lowest)


class _List(NamedTuple):
    """The tools of a term, by their score, with the weighted highest one."""

    term: str
    weight: float
    highest: float
    tools: Sequence[int]
    scores: Sequence[int]


def _above(lists: Sequence[_List], budget: float) -> set[int]:
    """Return all tools whose weighted scores have at least the sum `budget`."""
    found: set[int] = set()
    for part in lists:
        if part.highest < budget:
            budget -= part.highest
        else:
            found.update(islice(part.tools, bisect_right(part.scores, -budget / part.weight, key=neg)))
            budget = 0.0
    return found
