"""A map of a repository: files and definitions, ranked by the question and by the references between files.

It follows the map of aider: files are nodes, a reference to a name is an edge from its file to each file that defines
the name, and PageRank starts from the files that fit the question.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from workbench_research.context.tags import Tags

DAMPING: Final = 0.85
MAX_ITERATIONS: Final = 50
TOLERANCE: Final = 1e-6
MAX_DEFINING: Final = 5
"""Files that define a name, beyond which a reference to it hardly matters: `run`, `__init__`."""
MIN_LONG_NAME: Final = 8
MAX_EDGES_OF_NAME: Final = 2_000
"""Maximum edges of one name; a name that is defined and used everywhere says nothing."""


@dataclass(frozen=True, slots=True)
class RepoMap:
    """Ranks of files, which add up to 1, and of definitions by path and name."""

    files: Mapping[str, float]
    definitions: Mapping[tuple[str, str], float] = field(repr=False)


def rank(
    tags: Mapping[str, Tags], *, personalization: Mapping[str, float] | None = None, mentioned: Collection[str] = ()
) -> RepoMap:
    """Rank the files by the references between them. `mentioned` are names of the question in lower case."""
    defining: defaultdict[str, list[str]] = defaultdict(list)
    referring: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for path, found in tags.items():
        for name in dict.fromkeys(definition.name for definition in found.definitions):
            defining[name].append(path)
        for name, count in found.references:
            referring[name].append((path, count))
    edges: defaultdict[str, dict[str, float]] = defaultdict(dict)
    by_name: list[tuple[str, str, str, float]] = []
    for name, paths in defining.items():
        users = referring.get(name, ())
        if not users or len(users) * len(paths) > MAX_EDGES_OF_NAME:
            continue
        weight = _weight_of_name(name, len(paths), mentioned)
        for user, count in users:
            for path in paths:
                value = weight * math.sqrt(count)
                edges[user][path] = edges[user].get(path, 0.0) + value
                by_name.append((user, path, name, value))
    ranks = _page_rank(list(tags), edges, personalization or {})
    totals = {user: sum(targets.values()) for user, targets in edges.items()}
    definitions: defaultdict[tuple[str, str], float] = defaultdict(float)
    for user, path, name, value in by_name:
        definitions[path, name] += ranks[user] * value / totals[user]
    return RepoMap(ranks, dict(definitions))


def _weight_of_name(name: str, files: int, mentioned: Collection[str]) -> float:
    weight = 10.0 if name.lower() in mentioned else 1.0
    is_compound = "_" in name.strip("_") or (any(map(str.isupper, name)) and any(map(str.islower, name)))
    if is_compound and len(name) >= MIN_LONG_NAME:
        weight *= 10
    if name.startswith("_"):
        weight *= 0.1
    if files > MAX_DEFINING:
        weight *= 0.1
    return weight


def _page_rank(
    nodes: Sequence[str], edges: Mapping[str, Mapping[str, float]], personalization: Mapping[str, float]
) -> dict[str, float]:
    """Return the PageRank of each node by power iteration. Rank of nodes without edges goes to the start again."""
    if not nodes:
        return {}
    number = {node: index for index, node in enumerate(nodes)}
    start = [max(0.0, personalization.get(node, 0.0)) for node in nodes]
    total = sum(start)
    start = [value / total for value in start] if total else [1 / len(nodes)] * len(nodes)
    outgoing = []
    for user, targets in edges.items():
        sum_of_weights = sum(targets.values())
        outgoing.append(
            (number[user], [(number[target], weight / sum_of_weights) for target, weight in targets.items()])
        )
    ends = sorted(set(range(len(nodes))) - {user for user, _ in outgoing})
    ranks = start
    for _ in range(MAX_ITERATIONS):
        lost = DAMPING * sum(ranks[node] for node in ends)
        following = [(1 - DAMPING + lost) * value for value in start]
        for source, shares in outgoing:
            passed = DAMPING * ranks[source]
            for target, share in shares:
                following[target] += passed * share
        change = sum(abs(first - second) for first, second in zip(ranks, following, strict=True))
        ranks = following
        if change < TOLERANCE:
            break
    return dict(zip(nodes, ranks, strict=True))
