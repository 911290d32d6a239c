"""Search, browse and look up the tools of a server. Every discovery style uses this index.

Ranking has tiers: the tool with that name, the few tools whose text contains the query literally, then by words
(BM25F), then, if there are few hits, by the spelling of words that no tool has. A higher tier ranks first and never
hides the tools of the next one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from toolmason_runtime.protocol.catalogue import Catalogue, ToolEntry, tool_group
from toolmason_runtime.protocol.fetch_chunk import FETCH_CHUNK, FETCH_CHUNK_ENTRY
from toolmason_runtime.search.rankers import Ranker
from toolmason_runtime.search.text import bigrams, fold, normalize_name, terms
from toolmason_runtime.search.words import SearchData, WordRanker

SMALL_CATALOGUE = 12
"""Number of tools up to which every search with a match returns all of them, ranked."""
FUZZY_FILL_COUNT = 10
"""Number of hits below which tools with similarly spelled words are added."""
MAX_LITERAL_HITS = 5
"""Maximum number of tools that contain a phrase literally; in more tools it selects nothing."""
MAX_NAME_LENGTH = 200
"""Maximum characters of a name that are compared with the names of all tools."""
MIN_LITERAL_LENGTH = 3
"""Minimum characters of a literal hit."""

Reason = Literal["name", "literal", "words", "spelling", "rest", "browse"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A tool in a search result, and the tier that ranked it."""

    name: str
    entry: ToolEntry
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The tools of one command-line program, or of the handlers of one category."""

    name: str
    description: str
    tool_count: int
    category: str
    tags: tuple[str, ...]


class ToolIndex:
    """The visible tools of a catalogue.

    `load_index` returns the content of `search_index.json`; it is called at the first search.
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
        """Return the tools that match `query`, in `category` and of the program `cli`, best first.

        Without a query they are in the order of the manifest. A query without a letter or digit has no matches.
        """
        candidates = self._candidates(category, cli)
        if not query.strip():
            return [Hit(name, entry, "browse") for name, entry in candidates.items()]
        ranked = self._rank(query, candidates).items()
        hits = [Hit(name, candidates[name], reason) for name, reason in ranked if name in candidates]
        if candidates is not self._tools or not set(terms(FETCH_CHUNK)) <= set(terms(query)):
            return hits
        built_in = Hit(FETCH_CHUNK, FETCH_CHUNK_ENTRY, "name")
        return [built_in, *hits] if normalize_name(query).endswith(normalize_name(FETCH_CHUNK)) else [*hits, built_in]

    def _candidates(self, category: str, cli: str) -> Mapping[str, ToolEntry]:
        if not (category.strip() or cli.strip()):
            return self._tools
        return {
            name: entry
            for name, entry in self._tools.items()
            if _matches(category, entry["category"]) and _matches(cli, command_line(entry))
        }

    def summary(self) -> list[Group]:
        """Return the command-line programs and categories, in the order in which they first occur."""
        return [self._group(name, entries) for name, entries in self._grouped(command_line).items()]

    def _grouped(self, key: Callable[[ToolEntry], str]) -> dict[str, list[ToolEntry]]:
        members: dict[str, list[ToolEntry]] = {}
        for entry in self._tools.values():
            members.setdefault(key(entry), []).append(entry)
        return members

    def get(self, name: str) -> ToolEntry | None:
        """Return the visible or built-in tool with this name or alias; None if there is none."""
        return FETCH_CHUNK_ENTRY if name == FETCH_CHUNK else self._tools.get(self._aliases.get(name, name))

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Return the `count` tools with the most similar names, the most similar first."""
        name = name[:MAX_NAME_LENGTH]
        own_bigrams, own_terms = bigrams(normalize_name(name)), set(terms(name))

        def similarity(tool: str) -> float:
            others = bigrams(normalize_name(tool))
            dice = 2 * len(own_bigrams & others) / (len(own_bigrams) + len(others))
            return dice + len(own_terms & set(terms(tool))) / 10

        return sorted(self._tools, key=similarity, reverse=True)[:count]

    def _rank(self, query: str, candidates: Mapping[str, ToolEntry]) -> dict[str, Reason]:
        """Return the matching tools, best first, each with its tier; tools outside `candidates` may be among them."""
        if not normalize_name(query):
            return {}
        ranked: dict[str, Reason] = dict.fromkeys(self._with_name(query), "name")
        scores = self._words.rank(query) if self._ranker is None else self._ranker.rank(query)
        for name in self._literal_hits(query, scores):
            ranked.setdefault(name, "literal")
        for name in self._sort(scores, candidates):
            ranked.setdefault(name, "words")
        count = sum(name in candidates for name in ranked)
        if count < FUZZY_FILL_COUNT:
            for name in self._sort(self._words.fuzzy_scores(query), candidates)[:FUZZY_FILL_COUNT]:
                ranked.setdefault(name, "spelling")
        if count and len(self._tools) <= SMALL_CATALOGUE:
            for name in self._tools:
                ranked.setdefault(name, "rest")
        return ranked

    def _sort(self, scores: Mapping[str, float], candidates: Mapping[str, ToolEntry]) -> list[str]:
        """Return the matching candidates, best first; equal ones by `_order`."""
        matching = [name for name, score in scores.items() if score > 0 and name in candidates]
        return sorted(matching, key=lambda name: (-scores[name], self._order[name]))

    @cached_property
    def _order(self) -> dict[str, tuple[bool, int]]:
        """Sort keys of the tools: the order of the manifest, deprecated ones last."""
        return {name: ("deprecated" in entry, index) for index, (name, entry) in enumerate(self._tools.items())}

    @cached_property
    def _words(self) -> WordRanker:
        return WordRanker(self._load())

    @cached_property
    def _aliases(self) -> dict[str, str]:
        return {alias: name for name, entry in self._tools.items() for alias in entry.get("aliases", ())}

    def _with_name(self, query: str) -> list[str]:
        """Return the tools whose name or alias is `query`, in any spelling, with or without a `server__` prefix."""
        exact = self._aliases.get(query.strip(), query.strip())
        if exact in self._tools:
            return [exact]
        names = self._normalized_names
        return names.get(normalize_name(query)) or names.get(normalize_name(query.rpartition("__")[2]), [])

    @cached_property
    def _normalized_names(self) -> dict[str, list[str]]:
        """Tools by the normal form of their names and aliases."""
        names: dict[str, list[str]] = {}
        for spelling, name in (*((name, name) for name in self._tools), *self._aliases.items()):
            names.setdefault(normalize_name(spelling), []).append(name)
        return names

    def _literal_hits(self, query: str, scores: Mapping[str, float]) -> list[str]:
        """Return the tools whose text contains `query` literally, best first.

        Empty if they are more than `MAX_LITERAL_HITS` (for a single word: more than one), or if the name of another
        tool contains all words of the query.
        """
        phrase = fold(query)
        limit = MAX_LITERAL_HITS if " " in phrase else 1
        hits = self._tools_containing(phrase, limit + 1) if len(phrase) >= MIN_LITERAL_LENGTH else []
        if len(hits) > limit or self._words.names_containing(query) & (self._tools.keys() - set(hits)):
            return []
        return sorted(hits, key=lambda name: (-scores.get(name, 0.0), self._order[name]))

    def _tools_containing(self, phrase: str, limit: int) -> list[str]:
        """Return the first `limit` tools whose text contains `phrase`."""
        text, starts, names = self._text
        tools: list[str] = []
        position = text.find(phrase)
        while position >= 0 and len(tools) < limit:
            next_tool = bisect_right(starts, position)
            tools.append(names[next_tool - 1])
            position = text.find(phrase, starts[next_tool]) if next_tool < len(starts) else -1
        return tools

    @cached_property
    def _text(self) -> tuple[str, list[int], list[str]]:
        """The texts of all tools as one text, the position of each, and the names of the tools."""
        parts = [fold("\n".join(_texts(entry))) for entry in self._tools.values()]
        starts = list(accumulate((len(part) + 1 for part in parts), initial=0))[:-1]
        return "\n".join(parts), starts, list(self._tools)

    def tags(self, entry: ToolEntry) -> tuple[str, ...]:
        """Return the tags of the tool's program or upstream, or of its category if it has neither."""
        group = tool_group(self._catalogue, entry) or self._catalogue["categories"].get(entry["category"])
        return tuple(group["tags"]) if group else ()

    def _group(self, name: str, entries: Sequence[ToolEntry]) -> Group:
        category = self._catalogue["categories"].get(entries[0]["category"])
        program = tool_group(self._catalogue, entries[0])
        return Group(
            name=name,
            description=(program and program["summary"]) or (category["summary"] if category else ""),
            tool_count=len(entries),
            category=entries[0]["category"],
            tags=self.tags(entries[0]),
        )


def command_line(entry: ToolEntry) -> str:
    """Return the program or the upstream of a tool, or its category if it has neither."""
    return entry.get("cli") or entry.get("upstream") or entry["category"]


def _matches(filter_text: str, name: str) -> bool:
    return not filter_text.strip() or fold(filter_text) == fold(name)


def _texts(entry: ToolEntry) -> Iterator[str]:
    tool = entry["tool"]
    yield from (str(tool["name"]), str(tool.get("title", "")), entry["summary"], str(tool.get("description", "")))
    yield from (*entry["keywords"], *entry["use_cases"], *(example["description"] for example in entry["examples"]))
    for name, part in tool["inputSchema"].get("properties", {}).items():
        yield name
        if isinstance(part, dict):
            yield from (str(schema.get("description", "")) for schema in (part, *part.get("anyOf", ())))
