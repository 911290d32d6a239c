"""Changes of a tool's texts that may help a search to find it, the smallest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.search.text import terms

from toolmason.evaluation.look_alikes import plain_words

MAX_WORDS: Final = 5
"""Maximum words of a query that are tried, those of the fewest tools first."""
MAX_SUMMARY: Final = 80
"""Maximum characters of a summary in a manifest."""

Key = Literal["keywords", "summary", "use_cases", "description"]


@dataclass(frozen=True, slots=True)
class Change:
    """Add `texts` to the key `key` of a tool."""

    tool: str
    key: Key
    texts: tuple[str, ...]

    def apply(self, catalogue: Catalogue) -> Catalogue:
        """Return the catalogue with this change; the argument stays as it is."""
        changed = copy(catalogue)
        changed["tools"] = {**catalogue["tools"], self.tool: self._entry(catalogue["tools"][self.tool])}
        return changed

    def _entry(self, entry: ToolEntry) -> ToolEntry:
        changed = copy(entry)
        match self.key:
            case "keywords":
                changed["keywords"] = [*entry["keywords"], *self.texts]
            case "use_cases":
                changed["use_cases"] = [*entry["use_cases"], *self.texts]
            case "summary":
                changed["summary"] = _extended(entry["summary"], self.texts)
                if entry["tool"].get("description") == entry["summary"]:
                    changed["tool"] = {**entry["tool"], "description": changed["summary"]}
            case "description":
                text = _extended(str(entry["tool"].get("description", "")), self.texts)
                changed["tool"] = {**entry["tool"], "description": text}
        return changed


def _extended(text: str, more: Sequence[str]) -> str:
    """Return a text with words or a sentence at its end."""
    return " ".join((text, *more)).strip()


Changes = Callable[[str, str, Catalogue], Iterator[Change]]
"""Returns the changes of a tool that may help a query to find it: from the query, the tool and the catalogue."""


def manifest_changes(query: str, tool: str, catalogue: Catalogue) -> Iterator[Change]:
    """Yield changes of the manifest: a keyword, a word in the summary, two keywords, then the query as a use case."""
    entry = catalogue["tools"][tool]
    known = set(terms(" ".join(entry["keywords"])))
    searched = _searched_words(query, catalogue)
    new = [word for word in searched if known.isdisjoint(terms(word))]
    yield from (Change(tool, "keywords", (word,)) for word in new)
    in_summary = set(terms(entry["summary"]))
    for word in searched:
        if in_summary.isdisjoint(terms(word)) and len(entry["summary"]) + len(word) < MAX_SUMMARY:
            yield Change(tool, "summary", (word,))
    yield from (Change(tool, "keywords", pair) for pair in combinations(new, 2))
    use_case = " ".join(query.split())
    if use_case not in entry["use_cases"]:
        yield Change(tool, "use_cases", (use_case,))


def description_changes(query: str, tool: str, catalogue: Catalogue) -> Iterator[Change]:
    """Yield changes of a tool of another server, which has only a description: a word, two, then the whole query."""
    known = set(terms(str(catalogue["tools"][tool]["tool"].get("description", ""))))
    new = [word for word in _searched_words(query, catalogue) if known.isdisjoint(terms(word))]
    yield from (Change(tool, "description", (word,)) for word in new)
    yield from (Change(tool, "description", pair) for pair in combinations(new, 2))
    yield Change(tool, "description", (" ".join(query.split()),))


def _searched_words(query: str, catalogue: Catalogue) -> list[str]:
    """Return words of a query, those that are in the fewest tools' names and summaries first."""
    found = plain_words(query)
    tools_with = Counter(
        term
        for entry in catalogue["tools"].values()
        for term in found.keys() & set(terms(f"{entry['tool']['name']} {entry['summary']}"))
    )
    return [found[term] for term in sorted(found, key=lambda term: tools_with[term])][:MAX_WORDS]
