"""Rank of each tool in a search for its own use cases."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.search.words import SearchData, WordRanker

from toolmason.catalogue.search_index import build_index

MAX_RANK: Final = 3
"""Lowest acceptable rank of a tool in a search for its use case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCaseRank:
    """Result of a search for a use case: the tool's rank from 1, None if not found, and the tools ranked higher."""

    tool: str
    use_case: str
    rank: int | None
    ranked_higher: tuple[str, ...]

    @property
    def is_found(self) -> bool:
        """Whether the tool is among the first `MAX_RANK`."""
        return self.rank is not None and self.rank <= MAX_RANK


def rank_use_cases(catalogue: Catalogue, data: SearchData | None = None) -> tuple[UseCaseRank, ...]:
    """Search for each use case of each enabled tool, in the order of the manifest.

    Only words count, not a literal match with the use case in the index. `data` is the index, built if None. The same
    tool of another server does not rank higher: a search shows both as one result.
    """
    tools = catalogue["tools"]
    data = build_index(catalogue) if data is None else data
    ranker = WordRanker(data)
    names = data["tools"]
    same = {
        names[place]: {names[other] for other in group["tools"] if other != place}
        for group in data.get("same", ())
        for place in group["tools"]
    }
    positions = {name: position for position, name in enumerate(names)}
    order = {name: place for place, name in enumerate(tools) if tools[name].get("enabled", True)}
    return tuple(
        _rank_use_case(name, use_case, ranker, positions[name], order=order, same=same.get(name, set()))
        for name in order
        for use_case in tools[name]["use_cases"]
    )


def _rank_use_case(
    tool: str, use_case: str, ranker: WordRanker, position: int, *, order: Mapping[str, int], same: Collection[str]
) -> UseCaseRank:
    """Rank `tool` among the enabled tools but `same`; `order` has their places in the manifest."""
    (own,) = ranker.scores_of(use_case, [position])
    # Most tools are found first, so few have that score. Scores of all take most of the time of a large catalogue.
    found = ranker.at_least(use_case, own) if own else dict(enumerate(ranker.scores(use_case)))
    scores = {ranker.tools[place]: score for place, score in found.items() if score}
    score_of = {name: score for name, score in scores.items() if name in order and name not in same}
    hits = sorted(score_of, key=lambda name: (-score_of[name], order[name]))
    if tool not in score_of:
        return UseCaseRank(tool=tool, use_case=use_case, rank=None, ranked_higher=tuple(hits[:MAX_RANK]))
    index = hits.index(tool)
    return UseCaseRank(tool=tool, use_case=use_case, rank=index + 1, ranked_higher=tuple(hits[:index]))
