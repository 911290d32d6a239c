"""Whether tools are found by what their own authors say they are for."""

from __future__ import annotations

from dataclasses import dataclass

from toolmason_runtime.protocol.catalogue import Catalogue
from toolmason_runtime.search.index import SearchData, WordRanker

from toolmason.catalogue.search_index import build_index

PLACES = 3
"""A use case must find its tool among so many first hits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCaseRank:
    """Where a use case finds its tool: `rank` from 1, None if it does not; `before` are the tools ahead of it."""

    tool: str
    use_case: str
    rank: int | None
    before: tuple[str, ...]

    @property
    def is_found(self) -> bool:
        """Whether the tool is among the first `PLACES`."""
        return self.rank is not None and self.rank <= PLACES


def rank_use_cases(catalogue: Catalogue, data: SearchData | None = None) -> tuple[UseCaseRank, ...]:
    """Search each use case of each enabled tool, in the order of the manifest.

    Words alone decide, since nobody types a use case literally: that a tool holds the sentence must not help it.
    `data` is the index to search, built if None.
    """
    ranker = WordRanker(build_index(catalogue) if data is None else data)
    places = {name: place for place, name in enumerate(catalogue["tools"])}
    return tuple(
        _ranked(name, use_case, ranker, places, catalogue)
        for name, entry in catalogue["tools"].items()
        if entry.get("enabled", True)
        for use_case in entry["use_cases"]
    )


def _ranked(tool: str, use_case: str, ranker: WordRanker, places: dict[str, int], catalogue: Catalogue) -> UseCaseRank:
    scores = {
        name: score for name, score in ranker.rank(use_case).items() if catalogue["tools"][name].get("enabled", True)
    }
    order = sorted(scores, key=lambda name: (-scores[name], places[name]))
    if tool not in order:
        return UseCaseRank(tool=tool, use_case=use_case, rank=None, before=tuple(order[:PLACES]))
    place = order.index(tool)
    return UseCaseRank(tool=tool, use_case=use_case, rank=place + 1, before=tuple(order[:place]))
