"""Compare the searches of two contracts: use cases and queries that lose their tool, and summaries that look alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.shared.search.text import STOP_WORDS, stem, words
from toolmason_runtime.shared.search.words import WordRanker

from toolmason.catalogue.search_index import build_index
from toolmason.diff.contract import Change, Contract, ToolContract
from toolmason.lint.discoverability import MAX_RANK

QUERY_RANK: Final = 5
"""Rank up to which a query finds a tool: the default of `toolmason eval`."""
MIN_ALIKE: Final = 0.8
"""Share of common words from which on two summaries look alike."""
MAX_PAIRS: Final = 200_000


def compare_discovery(old: Contract, new: Contract, queries: Mapping[str, Sequence[str]]) -> Iterator[Change]:
    """Yield searches that lose their tool, and new pairs of summaries that look alike."""
    if old.catalogue is not None and new.catalogue is not None:
        before, after = _Search(old, old.catalogue), _Search(new, new.catalogue)
        for name, entry in old.catalogue["tools"].items():
            for text in entry["use_cases"] if name in new.tools and name in old.tools else ():
                yield from _lost(("use-case-lost", "use case", MAX_RANK), text, name, before, after)
        for name, texts in queries.items():
            for text in texts if name in new.tools and name in old.tools else ():
                yield from _lost(("query-lost", "query", QUERY_RANK), text, name, before, after)
    yield from _look_alikes(old, new)


class _Search:
    """The search of one contract by words."""

    def __init__(self, contract: Contract, catalogue: Catalogue) -> None:
        self.contract = contract
        self._ranker = WordRanker(build_index(catalogue))
        self._order = {name: index for index, name in enumerate(catalogue["tools"])}

    def hits(self, text: str) -> list[str]:
        """Return the names of the tools that a text finds, best first."""
        scores = {name: score for name, score in self._ranker.rank(text).items() if name in self.contract.tools}
        return sorted(scores, key=lambda name: (-scores[name], self._order[name]))


def _lost(kind: tuple[str, str, int], text: str, name: str, before: _Search, after: _Search) -> Iterator[Change]:
    rule, noun, most = kind
    if name not in before.hits(text)[:most]:
        return
    hits = after.hits(text)
    if name not in hits[:most]:
        found = f"; first is `{hits[0]}`" if hits else ""
        message = f"the {noun} `{text}` no longer finds `{name}` among the first {most}{found}"
        yield Change(
            rule=rule, subject=name, message=message, location=after.contract.tools[name].locate(""), tool=name
        )


def _look_alikes(old: Contract, new: Contract) -> Iterator[Change]:
    before = {name: _words(tool) for name, tool in old.tools.items()}
    after = {name: _words(tool) for name, tool in new.tools.items()}
    changed = [name for name, found in after.items() if before.get(name) != found]
    if len(changed) * len(after) > MAX_PAIRS:
        return
    seen: set[frozenset[str]] = set()
    for name in changed:
        for other, its in after.items():
            pair = frozenset((name, other))
            if other == name or pair in seen or not _is_alike(after[name], its):
                continue
            seen.add(pair)
            if name in before and other in before and _is_alike(before[name], before[other]):
                continue
            message = f"the summaries of `{name}` and `{other}` look alike"
            yield Change(
                rule="look-alikes", subject=name, message=message, location=new.tools[name].locate(""), tool=name
            )


def _is_alike(first: frozenset[str], second: frozenset[str]) -> bool:
    return bool(first and second) and len(first & second) >= MIN_ALIKE * len(first | second)


def _words(tool: ToolContract) -> frozenset[str]:
    """Return the stems of a summary, or of the first sentence of a description."""
    text = tool.summary or tool.description.partition(". ")[0][:200]
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)
