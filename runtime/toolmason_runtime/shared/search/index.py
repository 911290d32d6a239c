"""Search, browse and look up the tools of a server. Every discovery style uses this index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry, command_line, tool_group

if TYPE_CHECKING:
    from toolmason_runtime.shared.search.hits import Hit, PartHits
    from toolmason_runtime.shared.search.postings import SemanticPostings
    from toolmason_runtime.shared.search.rankers import RankerFactory
    from toolmason_runtime.shared.search.ranking import Ranking
    from toolmason_runtime.shared.search.words import SearchData


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

    Args:
        catalogue: all tools.
        visible: the names of the visible ones.
        load_index: returns the content of `search_index.json`; called at the first search.
        load_postings: returns the content of `semantic.postings`, or the parsed postings; called at the first search.
            None if there is no file.
        ranker: creates the ranking that replaces that by words; called at the first search. None keeps it.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        visible: Iterable[str],
        load_index: Callable[[], SearchData],
        *,
        load_postings: Callable[[], bytes | SemanticPostings] | None = None,
        ranker: RankerFactory | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._tools = {name: catalogue["tools"][name] for name in visible}
        self._load = load_index
        self._load_postings = load_postings
        self._make_ranker = ranker

    @property
    def tools(self) -> Mapping[str, ToolEntry]:
        """The visible tools, in the order of the manifest."""
        return self._tools

    @cached_property
    def categories(self) -> Mapping[str, int]:
        """The categories of the visible tools, in the order of the manifest, with the number of tools in each."""
        members = self._grouped(lambda entry: entry["category"])
        return {name: len(members[name]) for name in self._catalogue["categories"] if name in members}

    def search(self, query: str = "", *, category: str = "", cli: str = "") -> Sequence[Hit]:
        """Return the tools that match `query`, in `category` and of the program `cli`, best first.

        Without a query they are in the order of the manifest. A query without a letter or digit has no matches.
        """
        return self._ranking.search(query, category=category, cli=cli)

    def browse(self, names: Iterable[str]) -> Sequence[Hit]:
        """Return visible tools in the order of `names`, with one hit for a tool that several servers have."""
        return self._ranking.browse(names)

    def search_parts(self, request: str, *, category: str = "", cli: str = "") -> PartHits:
        """Return the tools for each part of a request for several tools, in turn.

        Where the parts are sentences, the ranking of the whole request takes part: a sentence may only explain another.
        """
        return self._ranking.search_parts(request, category=category, cli=cli)

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Return the `count` tools with the most similar names, the most similar first."""
        return self._ranking.nearest(name, count)

    def nearest_words(self, query: str) -> list[str]:
        """Return words of the visible tools that are spelled most like those of a query without a match."""
        return self._ranking.nearest_words(query)

    def others(self, query: str, *, category: str = "", cli: str = "") -> dict[str, int]:
        """Return the matches of `query` that `category` and `cli` leave out: their number in each category."""
        return self._ranking.others(query, category=category, cli=cli)

    @cached_property
    def _ranking(self) -> Ranking:
        """The ranking. Its modules are imported at the first search, because calls do not need them."""
        from toolmason_runtime.shared.search.ranking import Ranking

        return Ranking(
            self._catalogue,
            self._tools,
            self._aliases,
            self._load,
            load_postings=self._load_postings,
            ranker=self._make_ranker,
        )

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
        return BUILT_IN.get(name) or self._tools.get(self._aliases.get(name, name))

    @cached_property
    def _aliases(self) -> dict[str, str]:
        return {alias: name for name, entry in self._tools.items() for alias in entry.get("aliases", ())}

    def tags(self, entry: ToolEntry) -> tuple[str, ...]:
        """Return the tags of the tool's program, API or upstream, or else of its category, and its own."""
        return tuple(dict.fromkeys((*self._group_tags(entry), *entry.get("tags", ()))))

    def _group_tags(self, entry: ToolEntry) -> tuple[str, ...]:
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
            tags=self._group_tags(entries[0]),
        )
