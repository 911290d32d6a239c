"""Pairs of tools that a search confuses, and proposals to distinguish them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.search.text import STOP_WORDS, stem, words

from toolmason.catalogue.search_index import field_terms
from toolmason.evaluation.measure import Outcome
from toolmason.lint.discoverability import UseCaseRank

MIN_CONFUSIONS: Final = 2
"""Minimum texts that confuse the tools of a pair; a single one is reported as a miss only."""
MAX_WORDS: Final = 5
"""Maximum words in one list of a proposal."""
MAX_SHARE: Final = 0.25
"""Maximum share of the tools that have a word which can distinguish one of them."""


@dataclass(frozen=True, slots=True, order=True)
class Confusion:
    """A text that should find `wanted`, but ranks `first` first."""

    wanted: str
    first: str
    text: str


@dataclass(frozen=True, slots=True)
class LookAlikes:
    """Two tools in the order of the manifest, the texts that confuse them, and proposals to distinguish them.

    `words` are those of each tool that tell it from the other one: in its name, summary or keywords, and in no text of
    the other one.
    """

    tools: tuple[str, str]
    confusions: tuple[Confusion, ...]
    proposals: tuple[str, ...]
    words: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())


def find_look_alikes(
    outcomes: Iterable[Outcome], use_cases: Iterable[UseCaseRank], catalogue: Catalogue
) -> tuple[LookAlikes, ...]:
    """Return the confused pairs, those with most texts first.

    A query or a use case confuses two tools if another tool than its own is the first hit.
    """
    confusions = [
        *(Confusion(case.wanted, case.first, case.query.text) for case in outcomes if case.first == case.in_the_way),
        *(Confusion(case.tool, case.ranked_higher[0], case.use_case) for case in use_cases if case.ranked_higher),
    ]
    order = {name: index for index, name in enumerate(catalogue["tools"])}
    pairs: dict[tuple[str, str], dict[Confusion, None]] = {}
    for confusion in confusions:
        if confusion.first:
            first, second = sorted((confusion.wanted, confusion.first), key=lambda name: order[name])
            pairs.setdefault((first, second), {})[confusion] = None
    found = [(tools, tuple(texts)) for tools, texts in pairs.items() if len(texts) >= MIN_CONFUSIONS]
    found.sort(key=lambda pair: (-len(pair[1]), order[pair[0][0]], order[pair[0][1]]))
    texts = _ToolTexts(catalogue)
    return tuple(
        LookAlikes(
            tools, own, tuple(_propose(tools, own, texts)), (texts.only_in(*tools), texts.only_in(*reversed(tools)))
        )
        for tools, own in found
    )


class _ToolTexts:
    """The terms of each tool.

    `all` has all of them, `headline` the words of name and summary by term, `prominent` the terms of name, summary and
    keywords, which have a high weight.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.entries = catalogue["tools"]
        fields = {name: field_terms(entry, catalogue) for name, entry in self.entries.items()}
        self.all = {name: frozenset[str]().union(*own.values()) for name, own in fields.items()}
        self.headline = {
            name: _name_words(name) | plain_words(entry["summary"]) for name, entry in self.entries.items()
        }
        self.prominent = {name: frozenset((*self.headline[name], *own["keywords"])) for name, own in fields.items()}
        self._tools_with = Counter(term for own in self.all.values() for term in own)

    def only_in(self, tool: str, other: str) -> tuple[str, ...]:
        """Return words in the name, summary or keywords of a tool that no text of another one has, rarest first."""
        words = self.headline[tool] | plain_words(" ".join(self.entries[tool]["keywords"]))
        own = [term for term in words if term not in self.all[other]]
        return tuple(words[term] for term in sorted(own, key=self._tools_with.__getitem__)[:MAX_WORDS])

    def is_rare(self, term: str) -> bool:
        """Return whether few tools have `term`, so that it can distinguish one."""
        return self._tools_with[term] <= MAX_SHARE * len(self.entries)


def _propose(tools: tuple[str, str], confusions: Sequence[Confusion], texts: _ToolTexts) -> Iterator[str]:
    for wanted in tools:
        own = [plain_words(confusion.text) for confusion in confusions if confusion.wanted == wanted]
        counts = Counter(term for found in own for term in found)
        rare = {term: next(found[term] for found in own if term in found) for term, _ in counts.most_common()}
        rare = {term: word for term, word in rare.items() if texts.is_rare(term)}
        if missing := [word for term, word in rare.items() if term not in texts.all[wanted]]:
            yield f"add {_quoted(missing)} to the keywords of `{wanted}` if users search for that"
        if weak := [word for term, word in rare.items() if term in texts.all[wanted] - texts.prominent[wanted]]:
            yield f"also use {_quoted(weak)} in the summary or keywords of `{wanted}`"
    first, second = (texts.headline[tool] for tool in tools)
    shared = [word for term, word in first.items() if term in second and texts.is_rare(term)]
    only = [
        [word for term, word in own.items() if term not in other] for own, other in ((first, second), (second, first))
    ]
    if shared and all(only):
        starts = [f"of `{tool}` with {_quoted(words)}" for tool, words in zip(tools, only, strict=True)]
        yield f"both names or summaries contain {_quoted(shared)}: begin the summary {' and that '.join(starts)}"
    if not any(_mentions(texts.entries[tool], other) for tool, other in (tools, tools[::-1])):
        yield f"explain in the description of `{tools[0]}` when to use `{tools[1]}` instead"


def plain_words(text: str) -> dict[str, str]:
    """Return the lower-case words of `text` by their term, without stop words, file names, proper names and numbers."""
    first, *others = [token.strip(".,:;!?()'\"") for token in text.split() or [""]]
    tokens = (token for token in (first.lower(), *others) if token.isalpha() and token.islower())
    return {stem(token): token for token in tokens if token not in STOP_WORDS and len(token) > 1}


def _name_words(name: str) -> dict[str, str]:
    """Return the parts of a name by their term: those of `findFiles`, without `findfiles`, which `words` adds."""
    parts = [word for word in words(name) if word not in STOP_WORDS]
    return {stem(word): word for word in parts if len(parts) == 1 or word != name.casefold()}


def _mentions(entry: ToolEntry, other: str) -> bool:
    return other in entry["related"] or other in str(entry["tool"].get("description", ""))


def _quoted(tokens: Sequence[str]) -> str:
    return ", ".join(f"`{token}`" for token in tokens[:MAX_WORDS])
