"""Fairness between the servers of a gateway: a tool that several have is one hit, and no server fills a page.

The rank of a server's tools depends on its texts, so a server with many tools, or with texts made for searches, could
hide the others. Tools of the author's own handlers, programs and databases are not limited.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from toolmason_runtime.shared.catalogue import ToolEntry, server_of
from toolmason_runtime.shared.search.text import words
from toolmason_runtime.shared.search.words import SearchData

PAGE: Final = 10
"""Successive hits of which a server has at most `SHARE`, if other servers have matching tools."""
SHARE: Final = 5
"""Maximum hits of one server on a page."""
MAX_SHARED_HITS: Final = 100
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

    def named_in(self, query: str) -> frozenset[str]:
        """Return the servers whose whole names are in `query`: its tools are wanted, so they are not limited."""
        wanted = set(words(query))
        return frozenset(server for server in set(self.servers.values()) if wanted.issuperset(words(server)))

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

        queue = _Queue(merged, limited)
        return [*queue.fair(), *queue.rest()], groups

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
        if not self.same:
            return list(ranked), groups
        present: Collection[str] = set(ranked)
        seen: set[str] = set()
        merged: list[str] = []
        for name in ranked:
            group = self.same.get(name)
            if group is None:
                merged.append(name)
            elif name not in seen:
                tools = {server: tool for server, tool in group.tools.items() if tool in candidates}
                seen.update(tools.values())
                matching = {server: tool for server, tool in tools.items() if tool in present}
                wanted = [tool for server, tool in matching.items() if server in named]
                first = name if is_exact(name) else [*wanted, *matching.values()][0]
                merged.append(first)
                if len(tools) > 1:
                    groups[first] = SameTool(group.name, tools)
        return merged, groups


@dataclass
class _Queue:
    """Names, best first, of which a server has at most `SHARE` of `PAGE` successive ones, if others follow.

    `server_of` returns the server of a name, or an empty text for one without a limit.
    """

    names: Sequence[str]
    server_of: Callable[[str], str]
    held: dict[str, deque[int]] = field(default_factory=dict)
    """The places of hits that wait, by server."""
    next_place: int = 0

    def fair(self) -> Iterator[str]:
        """Yield at most `MAX_SHARED_HITS` names, the best first of those whose server has not had its share."""
        last: deque[str] = deque(maxlen=PAGE - 1)
        for _ in range(MAX_SHARED_HITS):
            place = self._next({server for server in last if server and last.count(server) >= SHARE})
            if place is None:
                return
            last.append(self.server_of(self.names[place]))
            yield self.names[place]

    def _next(self, full: Collection[str]) -> int | None:
        """Return the best place of a server that is not in `full`; None if there is none."""
        waiting = min(
            (places[0] for server, places in self.held.items() if server not in full and places), default=None
        )
        if waiting is not None:
            self.held[self.server_of(self.names[waiting])].popleft()
            return waiting
        while self.next_place < len(self.names):
            place, self.next_place = self.next_place, self.next_place + 1
            server = self.server_of(self.names[place])
            if server not in full:
                return place
            self.held.setdefault(server, deque()).append(place)
        return None

    def rest(self) -> Iterator[str]:
        """Yield the other names, best first."""
        held = sorted(place for places in self.held.values() for place in places)
        for place in (*held, *range(self.next_place, len(self.names))):
            yield self.names[place]
