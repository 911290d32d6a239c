"""Find the tools that several servers have: the same name apart from a prefix, for the same purpose.

A search shows them as one result, so that a gateway to three issue trackers does not show `create_issue` three times.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, Final

from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry, server_of
from toolmason_runtime.shared.search.text import STOP_WORDS, stem, words
from toolmason_runtime.shared.search.words import SameTools

MIN_SUMMARY: Final = 0.55
"""Minimum Dice coefficient of the words of two summaries."""
MIN_PARAMETERS: Final = 0.25
"""Minimum share of the words in the parameter names of one tool that the other one has, the smaller set of words."""
MIN_PARAMETERS_OF_VAGUE: Final = 0.5
"""The same for a name of one word, such as `search`, which servers use for different things."""
FILLERS: Final = frozenset({"new", "given", "specific", "specified", "existing", "single", "using", "via"})
"""Words of summaries that distinguish no tools, besides stop words."""

_RUN: Final = re.compile(r"[^\W_]+")


def same_tools(catalogue: Catalogue) -> list[SameTools]:
    """Return the groups of tools that at least two servers have, in the order of their first tools.

    A tool joins a group if it resembles the first tool of the group, and the group has no tool of its server: a server
    cannot add more than one tool to a group.
    """
    groups: list[list[_Tool]] = []
    by_name: dict[str, list[list[_Tool]]] = {}
    for tool in _tools(catalogue):
        candidates = (group for name in tool.names for group in by_name.get(name, ()))
        group = next((group for group in candidates if _belongs(tool, group)), None)
        if group is None:
            group = []
            groups.append(group)
            for name in tool.names:
                by_name.setdefault(name, []).append(group)
        group.append(tool)
    return [
        {"name": _shared_name(group), "tools": [tool.position for tool in group]} for group in groups if len(group) > 1
    ]


@dataclass(frozen=True)
class _Tool:
    """A tool of a server.

    Attributes:
        position: its place in the catalogue.
        names: its name as words with `_`, whole and without each prefix or suffix of its server.
        ignored: words of all servers' names, which distinguish no purpose.
    """

    position: int
    server: str
    names: tuple[str, ...]
    entry: ToolEntry
    ignored: frozenset[str]

    @cached_property
    def summary(self) -> frozenset[str]:
        # `GitHub` is one word here, as in the name of its server.
        return self._terms(run.casefold() for run in _RUN.findall(self.entry["summary"]))

    @cached_property
    def parameters(self) -> frozenset[str]:
        properties: Mapping[str, Any] = self.entry["tool"]["inputSchema"].get("properties", {})
        return self._terms(word for name in properties for word in _parts(name)) - {"id"}

    @cached_property
    def has_effects(self) -> bool:
        return not self.entry["tool"].get("annotations", {}).get("readOnlyHint", False)

    def _terms(self, found: Iterable[str]) -> frozenset[str]:
        return frozenset(map(stem, set(found) - STOP_WORDS - FILLERS)) - self.ignored


def _tools(catalogue: Catalogue) -> Iterator[_Tool]:
    names: dict[str, list[tuple[str, ...]]] = {}
    for name, entry in catalogue["tools"].items():
        if server := server_of(entry):
            names.setdefault(server, []).append(_parts(name))
    if len(names) < 2:
        return
    affixes = {server: _affixes(server, own) for server, own in names.items()}
    ignored = frozenset(stem(word) for server in names for word in words(server))
    for position, (name, entry) in enumerate(catalogue["tools"].items()):
        if server := server_of(entry):
            yield _Tool(position, server, _without_affixes(_parts(name), affixes[server]), entry, ignored)


def _parts(name: str) -> tuple[str, ...]:
    """Return the words of a name: `("create", "issue")` for `createIssue`."""
    parts: list[str] = []
    for run in _RUN.findall(name):
        found = words(run)
        # A run of several words is also in them as a whole.
        parts += found[:-1] if len(found) > 1 and found[-1] == run.casefold() else found
    return tuple(parts)


def _affixes(server: str, names: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Return the words with which names of a server's tools may begin or end: its name, and the start of all names."""
    columns = zip(*names, strict=False) if len(names) > 1 else ()
    common = tuple(column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns))
    return tuple(dict.fromkeys(affix for affix in (_parts(server), common) if affix))


def _without_affixes(parts: tuple[str, ...], affixes: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    found = [parts]
    for affix in affixes:
        size = len(affix)
        if size < len(parts):
            found += [parts[size:]] if parts[:size] == affix else []
            found += [parts[:-size]] if parts[-size:] == affix else []
    return tuple(dict.fromkeys("_".join(rest) for rest in found))


def _belongs(tool: _Tool, group: Sequence[_Tool]) -> bool:
    return all(tool.server != other.server for other in group) and _is_same(group[0], tool)


def _is_same(one: _Tool, other: _Tool) -> bool:
    """Return whether two tools with a common name have the same effects, and similar summaries and parameters."""
    name = next(name for name in one.names if name in other.names)
    if one.has_effects != other.has_effects:
        return False
    # A name of several words is a verb and its object, which is the purpose. That of `search` is in the summary alone.
    is_vague = "_" not in name
    ignored = frozenset(map(stem, name.split("_"))) if is_vague else frozenset()
    summaries = one.summary - ignored, other.summary - ignored
    if _dice(*summaries) < MIN_SUMMARY:
        return False
    minimum = MIN_PARAMETERS_OF_VAGUE if is_vague else MIN_PARAMETERS
    return _overlap(one.parameters, other.parameters) >= minimum


def _dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Dice coefficient of two sets; 1 for two empty ones."""
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the smaller set that is in the other; 1 for two empty ones, 0 for one."""
    if not one or not other:
        return float(one == other)
    return len(one & other) / min(len(one), len(other))


def _shared_name(group: Sequence[_Tool]) -> str:
    """Return the longest name that all tools of a group have, or else the shortest one of the first."""
    first = sorted(group[0].names, key=len, reverse=True)
    return next((name for name in first if all(name in tool.names for tool in group)), first[-1])
