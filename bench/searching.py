"""Search: latency in process and over stdio, and the rank of tool names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median, quantiles
from typing import Any

from toolmason_runtime.shared.search.index import ToolIndex

from bench.clock import measure_own, measure_process
from bench.contestants import FASTMCP_SEARCH, OURS_DEFAULT, Contestants, package_directory
from bench.rounds import Cost, typical
from bench.session import Session, Workspace, session

MAX_QUERIES = 60
"""Queries of one round; evenly drawn from what the tools are for."""
MAX_NAMES = 40
"""Names looked up over stdio; in process all are."""


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds: the first answer, which may load or build an index, the typical and the slow ones.

    `cpu` is that of the engine for a typical answer.
    """

    first: float
    typical: float
    slow: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Search:
    """What was measured at one size."""

    size: int
    in_process: Latency
    ours: Latency
    fastmcp: Latency
    named: float
    """Share of exact names that stood first, of all tools."""
    spaced: float
    """The same for names written with spaces."""
    fastmcp_named: float
    fastmcp_spaced: float


def measure_search(workspace: Workspace, contestants: Contestants, rounds: int) -> Search:
    """Ask the same questions of our index, our server and FastMCP's, in turn."""
    queries = _sample([tool.use_case for tool in contestants.project.tools], MAX_QUERIES)
    names = [tool.name for tool in contestants.project.tools]
    index = _index(contestants)
    ours, fastmcp = _over_stdio(workspace, contestants, queries, rounds)
    with session(workspace, contestants.programs[FASTMCP_SEARCH]) as running:
        sample = _sample(names, MAX_NAMES)
        fastmcp_named = sum(_fastmcp_first(running, name) == name for name in sample) / len(sample)
        fastmcp_spaced = sum(_fastmcp_first(running, _spaced(name)) == name for name in sample) / len(sample)
    return Search(
        size=contestants.size,
        in_process=_in_process(contestants, queries, rounds),
        ours=ours,
        fastmcp=fastmcp,
        named=sum(_is_first(index, name, name) for name in names) / len(names),
        spaced=sum(_is_first(index, _spaced(name), name) for name in names) / len(names),
        fastmcp_named=fastmcp_named,
        fastmcp_spaced=fastmcp_spaced,
    )


def _index(contestants: Contestants) -> ToolIndex:
    """Return the index of a newly started server, before anything is loaded."""
    directory = package_directory(contestants.project)
    catalogue = json.loads(directory.joinpath("catalogue.json").read_bytes())

    def load() -> Any:
        return json.loads(directory.joinpath("search_index.json").read_text(encoding="utf-8"))

    return ToolIndex(catalogue, catalogue["tools"], load)


def _in_process(contestants: Contestants, queries: Sequence[str], rounds: int) -> Latency:
    times = []
    for _ in range(rounds):
        index = _index(contestants)
        times.append([timed(partial(index.search, query)) for query in queries])
    return latency(times)


def _over_stdio(
    workspace: Workspace, contestants: Contestants, queries: Sequence[str], rounds: int
) -> tuple[Latency, Latency]:
    """Send each query to both servers in turn, with new processes in each round."""
    ours, fastmcp = [], []
    for _ in range(rounds):
        with (
            session(workspace, contestants.programs[OURS_DEFAULT]) as mine,
            session(workspace, contestants.programs[FASTMCP_SEARCH]) as other,
        ):
            pairs = [
                (_search_time(mine, "search", query), _search_time(other, "search_tools", query)) for query in queries
            ]
        ours.append([pair[0] for pair in pairs])
        fastmcp.append([pair[1] for pair in pairs])
    return latency(ours), latency(fastmcp)


def _search_time(running: Session, tool: str, query: str) -> Cost:
    with measure_process(running.pid) as timer:
        running.request("tools/call", {"name": tool, "arguments": {"query": query}})
    return timer.cost


def timed(work: Callable[[], object]) -> Cost:
    """Return the cost of `work` in this process."""
    with measure_own() as timer:
        work()
    return timer.cost


def latency(rounds: Sequence[Sequence[Cost]]) -> Latency:
    """Return the latencies of the queries of several rounds."""
    rest = [cost.wall for costs in rounds for cost in costs[1:]]
    cpu = typical([cost for costs in rounds for cost in costs[1:]]).cpu
    first = median(costs[0].wall for costs in rounds)
    return Latency(*(seconds * 1000 for seconds in (first, median(rest), quantiles(rest, n=20)[-1], cpu)))


def _is_first(index: ToolIndex, query: str, name: str) -> bool:
    hits = index.search(query)
    return bool(hits) and hits[0].name == name


def _fastmcp_first(running: Session, query: str) -> str:
    answer = running.request("tools/call", {"name": "search_tools", "arguments": {"query": query}})
    hits = json.loads(answer["content"][0]["text"]) if answer["content"] else []
    return str(hits[0]["name"]) if hits else ""


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _sample(items: Sequence[str], most: int) -> list[str]:
    """Return at most `most` of `items`, evenly spread."""
    step = max(1, len(items) / most)
    return [items[int(index * step)] for index in range(min(most, len(items)))]
