"""The tools of a server as something to search, browse and look up. Every style of discovery stands on it.

Ranking goes in tiers: the tool that is named, the few tools whose text contains the query literally, then by words
(BM25F), then, where places are left, by the spelling of words that no tool has. A higher tier ranks first; it never
hides the tools of the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal, Protocol, TypedDict

from toolmason_runtime.protocol.catalogue import Catalogue, CliEntry, ToolEntry
from toolmason_runtime.protocol.fetch_chunk import FETCH_CHUNK, FETCH_CHUNK_ENTRY
from toolmason_runtime.search.text import STOP_WORDS, folded, grams, squeezed, stem, terms, words

FORMAT = 1
"""Version of `search_index.json`."""
SMALL = 12
"""A catalogue of at most this many tools is returned whole, ranked, if a name, a literal piece or a word matches."""
NAME_BOOST = 0.75
"""How much a tool gains when the query holds its whole name."""
PLACES = 10
"""So many places are filled by likeness of spelling when words find fewer."""
ALIKE = 0.5
"""Dice coefficient of character pairs from which two words count as alike."""
MISSPELLED = 0.6
"""What such a likeness counts beside words that are really there."""
FEW = 5
"""A phrase that so many tools hold literally still says which are meant."""
MAX_NAME_LENGTH = 200
"""Characters of a name that are compared with those of all tools."""
MIN_LITERAL = 3
"""Characters below which a literal hit says nothing."""

Reason = Literal["name", "literal", "words", "spelling", "rest", "browse"]


class SearchData(TypedDict):
    """What `search_index.json` holds. Tools are numbers: places in `tools`."""

    format: int
    tools: list[str]
    terms: dict[str, list[list[int]]]
    """For each term the tools that have it, and their scores."""
    names: dict[str, list[list[int]]]
    """For each term the tools with it in their name, and the share of the name it makes up, in percent."""


class Ranker(Protocol):
    """Another way to rank, such as embeddings. It takes the place of the words; the other tiers stay."""

    def rank(self, query: str) -> Mapping[str, float]:
        """Score tools by name, more is better. A tool left out, or scored 0 or less, does not match."""
        ...


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool that was found, and what found it."""

    name: str
    entry: ToolEntry
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What stands behind one command-line program, or one category of handlers."""

    name: str
    description: str
    tool_count: int
    category: str
    tags: tuple[str, ...]


class WordRanker:
    """The ranker that comes with the index."""

    def __init__(self, data: SearchData) -> None:
        if data["format"] != FORMAT:
            raise ValueError(f"search index has format {data['format']}, not {FORMAT}: generate the server again")
        self._data = data

    def rank(self, query: str) -> Mapping[str, float]:
        """Score by BM25F, times 1 + `NAME_BOOST` x the share of a tool's name that the query holds.

        Likeness of spelling adds to the score of a tool that has some word of the query, so that one typing mistake
        does not hand the first place to another tool.
        """
        scores = self._sums((term, 1.0) for term in dict.fromkeys(terms(query)))
        for number, share in self._covered(query).items():
            if number in scores:
                scores[number] *= 1 + NAME_BOOST * min(share, 100) / 100
        for number, score in self._spelled(query).items():
            if number in scores:
                scores[number] += MISSPELLED * score
        return self._by_name(scores)

    def spelled(self, query: str) -> Mapping[str, float]:
        """Score by terms that are spelled like those words of the query which no tool has."""
        return self._by_name(self._spelled(query))

    def holding(self, query: str) -> set[str]:
        """Give the tools with every word of `query` in their names, stop words too."""
        having = [set(self._data["names"].get(stem(word), ((),))[0]) for word in set(words(query))]
        return {self._data["tools"][number] for number in set.intersection(*having)} if having else set()

    def _covered(self, query: str) -> dict[int, int]:
        """Give, by tool, the share of its name that the query holds, in percent."""
        covered: dict[int, int] = {}
        for term in set(terms(query)):
            for number, share in zip(*self._data["names"].get(term, ((), ())), strict=True):
                covered[number] = covered.get(number, 0) + share
        return covered

    def _spelled(self, query: str) -> dict[int, float]:
        known = self._data["terms"]
        missing = [word for word in dict.fromkeys(words(query)) if stem(word) not in known and word not in STOP_WORDS]
        return self._sums(pair for word in missing for pair in self._alike(word))

    def _sums(self, weighted: Iterable[tuple[str, float]]) -> dict[int, float]:
        scores: dict[int, float] = {}
        known = self._data["terms"]
        for term, weight in weighted:
            if columns := known.get(term):
                for number, score in zip(*columns, strict=True):
                    scores[number] = scores.get(number, 0.0) + weight * score
        return scores

    def _by_name(self, scores: Mapping[int, float]) -> dict[str, float]:
        names = self._data["tools"]
        return {names[number]: score for number, score in scores.items()}

    def _alike(self, word: str) -> Iterator[tuple[str, float]]:
        """Give the terms that look like `word`, each with their Dice coefficient."""
        own = grams(word)
        shared = Counter(term for gram in own for term in self._spellings.get(gram, ()))
        for term, count in shared.items():
            likeness = 2 * count / (len(own) + len(term) + 1)
            if likeness >= ALIKE:
                yield term, likeness

    @cached_property
    def _spellings(self) -> dict[str, list[str]]:
        """The terms that hold each pair of characters."""
        spellings: dict[str, list[str]] = {}
        for term in self._data["terms"]:
            for gram in grams(term):
                spellings.setdefault(gram, []).append(term)
        return spellings


class ToolIndex:
    """The visible tools of a catalogue.

    `load_index` reads `search_index.json`; it is called at the first search, and never if nothing is searched.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        visible: Iterable[str],
        load_index: Callable[[], SearchData],
        *,
        ranker: Ranker | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._tools = {name: catalogue["tools"][name] for name in visible}
        self._load = load_index
        self._ranker = ranker

    @property
    def tools(self) -> Mapping[str, ToolEntry]:
        """The visible tools, in the order of the manifest."""
        return self._tools

    @cached_property
    def categories(self) -> Mapping[str, int]:
        """The categories of the visible tools, in the order of the manifest, with the number of tools in each."""
        members = self._grouped(lambda entry: entry["category"])
        return {name: len(members[name]) for name in self._catalogue["categories"] if name in members}

    def search(self, query: str = "", *, category: str = "", cli: str = "") -> list[Hit]:
        """Give the tools that match `query` and stand in `category` and `cli`, best first.

        Without a query they come in the order of the manifest. A query without a letter or digit finds nothing.
        """
        among = self._among(category, cli)
        if not query.strip():
            return [Hit(name, entry, "browse") for name, entry in among.items()]
        reasons = {name: reason for name, reason in self._ranked(query, among).items() if name in among}
        hits = [Hit(name, among[name], reason) for name, reason in reasons.items()]
        if among is not self._tools or not set(terms(FETCH_CHUNK)) <= set(terms(query)):
            return hits
        built_in = Hit(FETCH_CHUNK, FETCH_CHUNK_ENTRY, "name")
        return [built_in, *hits] if squeezed(query).endswith(squeezed(FETCH_CHUNK)) else [*hits, built_in]

    def _among(self, category: str, cli: str) -> Mapping[str, ToolEntry]:
        if not (category.strip() or cli.strip()):
            return self._tools
        return {name: entry for name, entry in self._tools.items() if _stands_in(entry, category, cli)}

    def summary(self) -> list[Group]:
        """Give the command-line programs and categories, in the order in which they first occur."""
        return [self._group(name, entries) for name, entries in self._grouped(command_line).items()]

    def _grouped(self, key: Callable[[ToolEntry], str]) -> dict[str, list[ToolEntry]]:
        members: dict[str, list[ToolEntry]] = {}
        for entry in self._tools.values():
            members.setdefault(key(entry), []).append(entry)
        return members

    def get(self, name: str) -> ToolEntry | None:
        """Return the tool called `name`, or that was once called so; None if there is none or it is hidden."""
        return FETCH_CHUNK_ENTRY if name == FETCH_CHUNK else self._tools.get(self._names.get(name, name))

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Give the `count` tools whose names are most like `name`, the likest first."""
        compared = name[:MAX_NAME_LENGTH]
        wanted = grams(squeezed(compared))
        found = set(terms(compared))

        def likeness(other: str) -> float:
            own = grams(squeezed(other))
            return 2 * len(wanted & own) / (len(wanted) + len(own)) + len(found & set(terms(other))) / 10

        return sorted(self._tools, key=likeness, reverse=True)[:count]

    def _ranked(self, query: str, among: Mapping[str, ToolEntry]) -> dict[str, Reason]:
        """Give the reason for each tool that matches, best first; may hold tools outside `among`."""
        if not squeezed(query):
            return {}
        found: dict[str, Reason] = dict.fromkeys(self._named(query), "name")
        scores = self._words.rank(query) if self._ranker is None else self._ranker.rank(query)
        for name in self._literal(query, scores):
            found.setdefault(name, "literal")
        for name in self._ordered(scores, among):
            found.setdefault(name, "words")
        matching = sum(name in among for name in found)
        if matching < PLACES:
            for name in self._ordered(self._words.spelled(query), among)[:PLACES]:
                found.setdefault(name, "spelling")
        if matching and len(self._tools) <= SMALL:
            for name in self._tools:
                found.setdefault(name, "rest")
        return found

    def _ordered(self, scores: Mapping[str, float], among: Mapping[str, ToolEntry]) -> list[str]:
        """Give the matching tools, best first, equal ones as in the manifest and deprecated ones after them."""
        places = self._places
        matching = [name for name, score in scores.items() if score > 0 and name in among]
        return sorted(matching, key=lambda name: (-scores[name], places[name]))

    @cached_property
    def _places(self) -> dict[str, tuple[bool, int]]:
        return {name: ("deprecated" in entry, place) for place, (name, entry) in enumerate(self._tools.items())}

    @cached_property
    def _words(self) -> WordRanker:
        return WordRanker(self._load())

    @cached_property
    def _names(self) -> dict[str, str]:
        return {alias: name for name, entry in self._tools.items() for alias in entry.get("aliases", ())}

    def _named(self, query: str) -> list[str]:
        """Give the tools whose name or alias is `query`, however it is written, with or without a `server__` prefix."""
        exact = self._names.get(query.strip(), query.strip())
        if exact in self._tools:
            return [exact]
        return self._squeezed.get(squeezed(query)) or self._squeezed.get(squeezed(query.rpartition("__")[2]), [])

    @cached_property
    def _squeezed(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        for spelling, name in (*((name, name) for name in self._tools), *self._names.items()):
            names.setdefault(squeezed(spelling), []).append(name)
        return names

    def _literal(self, query: str, scores: Mapping[str, float]) -> list[str]:
        """Give the tools whose text holds `query` as it stands, best first.

        That is worth something only if they are few, a single one for a single word, and if no other tool's name
        has all of its words.
        """
        wanted = folded(query)
        most = FEW if " " in wanted else 1
        holders = self._holders(wanted, most + 1) if len(wanted) >= MIN_LITERAL else []
        if len(holders) > most or self._words.holding(query) & (self._tools.keys() - set(holders)):
            return []
        return sorted(holders, key=lambda name: (-scores.get(name, 0.0), self._places[name]))

    def _holders(self, wanted: str, most: int) -> list[str]:
        """Give the first `most` tools whose text holds `wanted`."""
        text, starts, names = self._text
        holders: list[str] = []
        found = text.find(wanted)
        while found >= 0 and len(holders) < most:
            place = bisect_right(starts, found)
            holders.append(names[place - 1])
            found = text.find(wanted, starts[place]) if place < len(starts) else -1
        return holders

    @cached_property
    def _text(self) -> tuple[str, list[int], list[str]]:
        """All that is said of the tools as one text, where each begins, and their names."""
        parts = [folded("\n".join(_texts(entry))) for entry in self._tools.values()]
        starts = list(accumulate((len(part) + 1 for part in parts), initial=0))[:-1]
        return "\n".join(parts), starts, list(self._tools)

    def tags(self, entry: ToolEntry) -> tuple[str, ...]:
        """Give the tags of the command-line program behind a tool; one that has none has those of its category."""
        known = self._program(entry) or self._catalogue["categories"].get(entry["category"])
        return tuple(known["tags"]) if known else ()

    def _program(self, entry: ToolEntry) -> CliEntry | None:
        return self._catalogue.get("clis", {}).get(entry.get("cli", ""))

    def _group(self, name: str, entries: Sequence[ToolEntry]) -> Group:
        category = self._catalogue["categories"].get(entries[0]["category"])
        program = self._program(entries[0])
        return Group(
            name=name,
            description=(program and program["summary"]) or (category["summary"] if category else ""),
            tool_count=len(entries),
            category=entries[0]["category"],
            tags=self.tags(entries[0]),
        )


def command_line(entry: ToolEntry) -> str:
    """Give the command-line program behind a tool; one that has none counts to its category."""
    return entry.get("cli", entry["category"])


def _stands_in(entry: ToolEntry, category: str, cli: str) -> bool:
    return _same(category, entry["category"]) and _same(cli, command_line(entry))


def _same(wanted: str, name: str) -> bool:
    return not wanted.strip() or folded(wanted) == folded(name)


def _texts(entry: ToolEntry) -> Iterator[str]:
    tool = entry["tool"]
    yield from (str(tool["name"]), str(tool.get("title", "")), entry["summary"], str(tool.get("description", "")))
    yield from (*entry["keywords"], *entry["use_cases"], *(example["description"] for example in entry["examples"]))
    for name, part in tool["inputSchema"].get("properties", {}).items():
        yield name
        if isinstance(part, dict):
            yield from (str(each.get("description", "")) for each in (part, *part.get("anyOf", ())))
