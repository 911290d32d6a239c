"""Find, for each miss of an evaluation, the smallest change of a tool that repairs it without losing another query."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

from toolmason_runtime.shared.catalogue import Catalogue

from toolmason.evaluation.changes import Change, Changes
from toolmason.evaluation.measure import Evaluation, Outcome, SearchIn, evaluate
from toolmason.evaluation.queries import Query


@dataclass(frozen=True, slots=True)
class Miss:
    """A tool of a query that is not among the first results, its rank, and the tool in its place; empty for none."""

    query: Query
    tool: str
    rank: int | None
    in_the_way: str


@dataclass(frozen=True, slots=True)
class Repair:
    """A miss, and the rank of its tool with all suggested changes."""

    miss: Miss
    rank: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A change, and the misses that it repairs."""

    change: Change
    repairs: tuple[Repair, ...]


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The changes, the misses that no change repairs, and the evaluation with all changes."""

    suggestions: tuple[Suggestion, ...]
    unrepaired: tuple[Miss, ...]
    after: Evaluation

    @property
    def repaired(self) -> int:
        """The number of missed tools that the changes repair."""
        return sum(len(suggestion.repairs) for suggestion in self.suggestions)


def suggest(
    evaluation: Evaluation,
    catalogue: Catalogue,
    search_in: SearchIn,
    changes_for: Changes,
    *,
    progress: Callable[[str], None] = lambda _stage: None,
) -> Suggestions:
    """Return the changes that repair misses.

    A change is tried alone, and together with those before it, each time with all queries: it repairs its miss, and no
    query finds fewer of its tools among the first results.

    Args:
        evaluation: that of `catalogue`.
        catalogue: the tools.
        search_in: returns a search.
        changes_for: returns changes to try, in this order.
        progress: gets a line for each miss.
    """
    trials = _Trials(evaluation, catalogue, search_in)
    misses = [miss for outcome in evaluation.misses for miss in _missed(outcome, evaluation.top)]
    repaired: dict[Miss, Change] = {}
    for number, miss in enumerate(misses, 1):
        progress(f"trying changes: miss {number} of {len(misses)}")
        if miss in repaired:
            continue
        for change in changes_for(miss.query.text, miss.tool, catalogue):
            if trials.accept(change, miss):
                found = (other for other in misses if other not in repaired and trials.rank(other) <= evaluation.top)
                repaired |= dict.fromkeys(found, change)
                break
    groups: dict[Change, list[Repair]] = {}
    for miss in misses:
        if miss in repaired:
            groups.setdefault(repaired[miss], []).append(Repair(miss, int(trials.rank(miss))))
    return Suggestions(
        suggestions=tuple(Suggestion(change, tuple(repairs)) for change, repairs in groups.items()),
        unrepaired=tuple(miss for miss in misses if miss not in repaired),
        after=trials.current,
    )


def _missed(outcome: Outcome, top: int) -> Iterator[Miss]:
    for tool in outcome.query.tools:
        rank = outcome.rank(tool)
        if rank is None or rank > top:
            yield Miss(outcome.query, tool, rank, outcome.in_the_way)


class _Trials:
    """Tries changes. `current` is the evaluation with those that were accepted."""

    def __init__(self, evaluation: Evaluation, catalogue: Catalogue, search_in: SearchIn) -> None:
        self.current = evaluation
        self._first = evaluation
        self._catalogue = self._changed = catalogue
        self._search_in = search_in
        self._places = {outcome.query: place for place, outcome in enumerate(evaluation.outcomes)}

    def rank(self, miss: Miss) -> float:
        """Return the present rank of the tool of a miss; infinity if it is not found."""
        return self.current.outcomes[self._places[miss.query]].rank(miss.tool) or inf

    def accept(self, change: Change, miss: Miss) -> bool:
        """Accept a change if it repairs `miss` and loses nothing, alone and with those that were accepted before."""
        changed = change.apply(self._changed)
        result = self._try(change.apply(self._catalogue), miss, self._first)
        if result is not None and self.current is not self._first:
            result = self._try(changed, miss, self.current)
        if result is None:
            return False
        self._changed, self.current = changed, result
        return True

    def _try(self, catalogue: Catalogue, miss: Miss, before: Evaluation) -> Evaluation | None:
        """Return the evaluation of all queries; None if it does not repair `miss`, or loses a tool of a query."""
        search = self._search_in(catalogue)
        categories = {name: entry["category"] for name, entry in catalogue["tools"].items()}
        top = before.top
        (repaired,) = evaluate([miss.query], search, categories, top=top).outcomes
        if miss.tool not in repaired.hits[:top]:
            return None
        outcomes = []
        for outcome in before.outcomes:
            (changed,) = evaluate([outcome.query], search, categories, top=top).outcomes
            first = changed.hits[:top]
            if any(tool in outcome.hits[:top] and tool not in first for tool in outcome.query.tools):
                return None
            outcomes.append(changed)
        return Evaluation(tuple(outcomes), top)
