"""Which tools a search confuses: with a file of queries, or with the use cases of the manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.shared.search.words import SameTools

from toolmason.catalogue.same_tools import same_tools
from toolmason.evaluation.look_alikes import LookAlikes, find_look_alikes
from toolmason.evaluation.matrix import category_matrix, picture, tool_matrix
from toolmason.evaluation.measure import Evaluation, Outcome, evaluate
from toolmason.evaluation.queries import Query
from toolmason.evaluation.results import Results
from toolmason.lint.discoverability import UseCaseRank, rank_use_cases
from toolmason.pictures.bars import Amounts, BarChart, Part, bar_chart
from toolmason.pictures.heat_map import HeatMap
from toolmason.report.subject import Subject

TOP: Final = 5
"""N of recall@N, the default of `toolmason eval`."""
MAX_ROWS: Final = 30
"""Maximum tools in the matrix of confused tools."""
OPEN_PAIRS: Final = 6
"""Number of pairs that are shown at once."""
MAX_PAIRS: Final = 24
MAX_TEXTS: Final = 3
MAX_MISSES: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Searches:
    """The searches of a server and their first hits."""

    source: str
    """The file of queries; empty for the use cases of the manifest."""
    texts: int
    """Number of queries or use cases; 0 if there are none."""
    found_first: int
    """Number of queries or use cases that find their tool first."""
    evaluation: Evaluation | None
    """The results of the queries; None without a file."""
    misses: tuple[Outcome, ...]
    chart: BarChart | None
    heat_maps: tuple[tuple[str, HeatMap], ...]
    look_alikes: tuple[LookAlikes, ...]
    more_look_alikes: int
    same: tuple[tuple[str, tuple[str, ...]], ...]
    """Tools that several servers have: the shared name, and the tools."""


def searches(subject: Subject, queries: Sequence[Query], source: str) -> Searches:
    """Return the results of searches. `source` is the file of `queries`, empty without one."""
    categories = dict(subject.categories)
    use_cases = rank_use_cases(subject.table)
    evaluation = None
    confusion: Counter[tuple[str, str]]
    if queries:
        evaluation = evaluate(queries, subject.search_in(subject.table), categories, top=TOP)
        confusion = Results(source, evaluation, ()).confusion
    else:
        confusion = Counter((case.tool, _first(case)) for case in use_cases)
    look_alikes = find_look_alikes(evaluation.outcomes if evaluation else (), use_cases, subject.table)
    maps = (
        ("Categories", picture("Categories, wanted by found", category_matrix(confusion, categories))),
        (
            "Confused tools",
            picture("Confused tools, wanted by found", tool_matrix(confusion, categories, limit=MAX_ROWS)),
        ),
    )
    return Searches(
        source=source,
        texts=confusion.total(),
        found_first=sum(count for (wanted, first), count in confusion.items() if wanted == first),
        evaluation=evaluation,
        misses=evaluation.misses if evaluation else (),
        chart=_chart(evaluation) if evaluation else None,
        heat_maps=tuple((name, map_) for name, map_ in maps if any(cell.kind == "wrong" for cell in map_.cells)),
        look_alikes=look_alikes[:MAX_PAIRS],
        more_look_alikes=max(0, len(look_alikes) - MAX_PAIRS),
        same=_same(subject),
    )


def _first(case: UseCaseRank) -> str:
    if case.ranked_higher:
        return case.ranked_higher[0]
    return case.tool if case.rank else ""


def _chart(evaluation: Evaluation) -> BarChart:
    return bar_chart(
        "Queries by category, found and missed",
        [
            Amounts(
                score.name,
                (Part("fine", score.queries - score.misses, "found"), Part("fails", score.misses, "missed")),
                f"{score.queries - score.misses:,} of {score.queries:,}",
            )
            for score in evaluation.categories
        ],
        (("fine", f"among the first {evaluation.top}"), ("fails", "missed")),
    )


def _same(subject: Subject) -> tuple[tuple[str, tuple[str, ...]], ...]:
    names = list(subject.table["tools"])
    groups: list[SameTools] = same_tools(subject.table)
    return tuple((group["name"], tuple(names[place] for place in group["tools"])) for group in groups)
