"""Fairness between the servers of a gateway: a tool that several have is one hit, and no server fills a page.

The rank of a server's tools depends on its texts, so a server with many tools, or with texts made for searches, could
hide the others. Tools of the author's own handlers, programs and databases are not limited.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final, NamedTuple

from toolmason_runtime.shared.catalogue import ToolEntry, server_of
from toolmason_runtime.shared.search.text import words
from toolmason_runtime.shared.search.words import SearchData

PAGE: Final = 10
"""Successive hits of which a server has at most `SHARE`, if other servers have matching tools."""
SHARE: Final = 5
"""Maximum hits of one server on a page.

With 3 of 5 instead, recall@5 of three joined catalogues falls by .01, and an attacker with 200 stuffed tools is among
the first five of .11 instead of .024 of the queries: weak matches of other servers come earlier.
"""
MAX_SHARED_HITS: Final = 50
"""Number of first hits whose order is fair; nobody reads more pages."""


class SameTool(NamedTuple):
    """A tool that several servers have: its name without their prefixes, and the name of each server's tool."""

    name: str
    tools: Mapping[str, str]


@dataclass(frozen=True)
class Servers:
    """The servers that implement visible tools.

    Args:
        servers: the server of each tool that is not the author's own.
        same: the group of each tool that several servers have.
    """

    servers: Mapping[str, str]
    same: Mapping[str, SameTool]

    @classmethod
    def of(cls, tools: Mapping[str, ToolEntry], load: Callable[[], SearchData]) -> Servers | None:
        """Return the servers of `tools`; None for fewer than two, which need no fairness."""
        servers = {name: server for name, entry in tools.items() if (server := server_of(entry))}
        if len(set(servers.values())) < 2:
            return None
        data = load()
        same: dict[str, SameTool] = {}
        for group in data.get("same", ()):
            names = [name for place in group["tools"] if (name := data["tools"][place]) in servers]
            if len(names) > 1:
                member = SameTool(group["name"], {servers[name]: name for name in names})
                same |= dict.fromkeys(names, member)
        return cls(servers, same)

    def arrange(
        self, ranked: Sequence[str], query: str, candidates: Collection[str], is_exact: Callable[[str], bool]
    ) -> tuple[list[str], dict[str, SameTool]]:
        """Return tools that match equally well in a fair order, and the groups of those that stand for several.

        Args:
            ranked: the names of the tools, best first.
            query: the text that they match.
            candidates: the names of all tools that may be shown.
            is_exact: whether the query is the name of a tool, which then comes first.
        """
        named = self._named_in(query)
        merged, groups = self.merge(ranked, candidates, named, is_exact)

        def limited(name: str) -> str:
            server = self.servers.get(name, "")
            return "" if name in groups or server in named or is_exact(name) else server

        return _shared(merged, limited), groups

    def _named_in(self, query: str) -> frozenset[str]:
        """Return the servers whose names are in the query. Their tools are wanted, so they are not limited."""
        wanted = set(words(query))
        return frozenset(server for server, parts in self._words.items() if wanted.issuperset(parts))

    @cached_property
    def _words(self) -> dict[str, list[str]]:
        names = {server: words(server) for server in dict.fromkeys(self.servers.values())}
        return {server: parts for server, parts in names.items() if parts}

    def merge(
        self,
        ranked: Sequence[str],
        candidates: Collection[str],
        named: Collection[str] = (),
        is_exact: Callable[[str], bool] = lambda _: False,
    ) -> tuple[list[str], dict[str, SameTool]]:
        """Return `ranked` with one tool for each group, at the place of the best one, and the groups of these tools.

        That is the tool with the name that was searched, or of a server in `named`, or the first one in the manifest:
        its texts bring no server to the first place.
        """
        groups: dict[str, SameTool] = {}
        found = [place for place, name in enumerate(ranked) if name in self.same] if self.same else []
        if not found:
            return list(ranked), groups
        present = {ranked[place] for place in found}
        shown = list(ranked)
        seen: set[str] = set()
        left_out = []
        for place in found:
            if ranked[place] in seen:
                left_out.append(place)
                continue
            group = self.same[ranked[place]]
            tools = {server: tool for server, tool in group.tools.items() if tool in candidates}
            seen.update(tools.values())
            matching = {server: tool for server, tool in tools.items() if tool in present}
            wanted = [tool for server, tool in matching.items() if server in named]
            shown[place] = ranked[place] if is_exact(ranked[place]) else [*wanted, *matching.values()][0]
            if len(tools) > 1:
                groups[shown[place]] = SameTool(group.name, tools)
        for place in reversed(left_out):
            del shown[place]
        return shown, groups


def _shared(names: Sequence[str], server_of: Callable[[str], str]) -> list[str]:
    """Return `names`, best first, with at most `SHARE` of `PAGE` successive ones of a server, if others follow.

    This holds for the first `MAX_SHARED_HITS`. `server_of` returns an empty text for a name without a limit.
    """
    shared: list[str] = []
    # Of the last names before the next one: the number of each server, and the one server that has had its share.
    last: deque[str] = deque()
    counts: Counter[str] = Counter()
    full = ""
    held: dict[str, deque[tuple[int, str]]] = {}
    rest = iter(enumerate(names))
    while len(shared) < MAX_SHARED_HITS:
        waiting = min((places[0] for server, places in held.items() if places and server != full), default=None)
        if waiting is not None:
            server = server_of(waiting[1])
            held[server].popleft()
        elif (waiting := next(rest, None)) is None:
            break
        elif (server := server_of(waiting[1])) and server == full:
            held.setdefault(server, deque()).append(waiting)
            continue
        shared.append(waiting[1])
        last.append(server)
        counts[server] += 1
        if len(last) == PAGE:
            counts[last.popleft()] -= 1
        full = next((name for name in (server, full) if name and counts[name] >= SHARE), "")
    return [*shared, *(name for _, name in sorted(chain.from_iterable(held.values()))), *(name for _, name in rest)]
