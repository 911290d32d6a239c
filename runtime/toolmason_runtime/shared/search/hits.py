"""The tools of a search result, with their kinds of match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, overload

from toolmason_runtime.shared.catalogue import ToolEntry

if TYPE_CHECKING:
    from toolmason_runtime.shared.search.servers import SameTool, Servers

Reason = Literal["name", "literal", "words", "spelling", "meaning", "rest", "browse"]
WEAK_REASONS: Final = frozenset({"spelling", "meaning"})
"""Kinds of hits that may be other tools than those that are meant."""
LAST_REASONS: Final = WEAK_REASONS | {"rest"}
"""Kinds of hits that follow those that match words of the query."""


class Hit(NamedTuple):
    """A tool in a search result, its kind of match, and the same tool of other servers, if there are any."""

    name: str
    entry: ToolEntry
    reason: Reason
    same: SameTool | None = None

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that the hit stands for, in the order of the manifest."""
        return tuple(self.same.tools.values()) if self.same else (self.name,)

    @property
    def identity(self) -> str:
        """A name that is equal for hits of the same tool of different servers."""
        return self.tools[0]


class Hits(Sequence[Hit]):
    """The tools of a search result, best first. A `Hit` is created on access: most hits are only counted.

    Args:
        tools: the tools by name.
        names: the names of the hits.
        reasons: the kinds of match by name; a missing one is `words`.
        same: the tools that several servers have, by name.
    """

    def __init__(
        self,
        tools: Mapping[str, ToolEntry],
        names: Sequence[str],
        reasons: Mapping[str, Reason],
        same: Mapping[str, SameTool] | None = None,
    ) -> None:
        self._tools = tools
        self._names = names
        self._reasons = reasons
        self._same = same or {}

    def __len__(self) -> int:
        return len(self._names)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        names = self._names[index]
        return self._hit(names) if isinstance(names, str) else [self._hit(name) for name in names]

    def _hit(self, name: str) -> Hit:
        return Hit(name, self._tools[name], self._reason(name), self._same.get(name))

    def arranged(self, servers: Servers, query: str) -> Hits:
        """Return the hits in an order that is fair to `servers`, with one hit for a tool that several have."""
        # The hits with these reasons are the last ones.
        end = len(self) - sum(reason in LAST_REASONS for reason in self._reasons.values())
        names, same = servers.arrange(self._names[:end], query, self._tools, self._is_exact)
        if end == len(self):
            return Hits(self._tools, names, self._reasons, same)
        merged = {tool for group in same.values() for tool in group.tools.values()}
        weak = [name for name in self._names[end:] if name not in merged]
        weak_names, weak_same = servers.arrange(weak, query, self._tools, self._is_exact)
        return Hits(self._tools, [*names, *weak_names], self._reasons, same | weak_same)

    def merged(self, servers: Servers) -> Hits:
        """Return the hits in their order, with one for a tool that several of `servers` have."""
        names, same = servers.merge(self._names, self._tools)
        return Hits(self._tools, names, self._reasons, same)

    def _is_exact(self, name: str) -> bool:
        return self._reason(name) == "name"

    def _reason(self, name: str) -> Reason:
        return self._reasons.get(name, "words")


class PartHits(NamedTuple):
    """The hits for a request, its parts, and the number of the part that each tool serves best, from 1.

    `parts` is empty for a request for one tool.
    """

    hits: Sequence[Hit]
    parts: tuple[str, ...]
    places: Mapping[str, int]
