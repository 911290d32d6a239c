"""Costs at 10 to 10,000 tools: generation, start, list, search and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from statistics import median
from time import perf_counter
from typing import Final

from bench.clock import measure_process, process_cpu
from bench.project import PACKAGE, SyntheticProject, make_project
from bench.rounds import Cost, alternate, typical
from bench.session import Program, Session, Workspace, run, session
from bench.synthetic import synthetic_tools

SCALE: Final = (10, 100, 1_000, 10_000)
SHORT_SCALE: Final = (10, 30)
COMMAND_ROUNDS: Final = 1
"""Rounds of the commands: those of the largest project take a minute."""
PAGE_SIZE: Final = 250
"""Tools in a page of the list; the default of a manifest."""
QUERIES: Final = 40
STEP: Final = 7919
"""Tools between two whose use case is searched; a prime, so that all kinds of tools occur."""
GENERATED: Final = "generate, nothing there"
EDITED: Final = "generate, description of one tool edited"
EDITED_SCHEMA: Final = "generate, parameter of one tool edited"
UNCHANGED: Final = "check, nothing changed"
LINTED: Final = "lint"
STARTED: Final = "start and list, default style"
LISTED: Final = "start and list all pages, classic"
FIRST_SEARCH: Final = "first search of a server"
SEARCHED: Final = "search after the first"
STARTED_MEMORY: Final = "memory after the start, default style"
SEARCHED_MEMORY: Final = "memory after a search"
LISTED_MEMORY: Final = "memory after all pages, classic"


@dataclass(frozen=True, slots=True)
class Scale:
    """Costs and resident memory in MiB, by measure and number of tools."""

    sizes: tuple[int, ...]
    costs: dict[str, dict[int, Cost]]
    memory: dict[str, dict[int, float]]

    def cpu_per_tool(self, measure: str) -> dict[int, float]:
        """Return the CPU milliseconds per tool, by number of tools."""
        return {size: cost.cpu * 1000 / size for size, cost in self.costs[measure].items()}

    def memory_per_tool(self, measure: str) -> dict[int, float]:
        """Return the memory in KiB per tool, by number of tools."""
        return {size: memory * 1024 / size for size, memory in self.memory[measure].items()}

    def growth(self, per_tool: Mapping[int, float]) -> float:
        """Compare the cost per tool at the largest size with that at the next smaller one."""
        *_, before, largest = self.sizes
        return per_tool[largest] / per_tool[before]


@dataclass(frozen=True, slots=True)
class _Served:
    """Costs and memory of a server, by measure."""

    costs: dict[str, Cost]
    memory: dict[str, float | None]


def measure_scale(workspace: Workspace, sizes: Sequence[int], rounds: int) -> Scale:
    """Generate a project of each size and measure its commands and its servers, all sizes in turn."""
    projects = {
        size: make_project(workspace.directory / f"scale-{size}", synthetic_tools(size), page_size=PAGE_SIZE)
        for size in sizes
    }
    commands: dict[tuple[str, int], Callable[[], Cost]] = {}
    for size, project in projects.items():
        commands[GENERATED, size] = partial(_generate, workspace, project)
        commands[EDITED, size] = partial(_generate_edited, workspace, project, count(1))
        commands[EDITED_SCHEMA, size] = partial(_generate_narrowed, workspace, project, count(1))
        commands[UNCHANGED, size] = partial(_run, workspace, project, "check")
        commands[LINTED, size] = partial(_run, workspace, project, "lint")
    # In this order in each round: an edit and a check need the generated files.
    costs: dict[tuple[str, int], list[Cost]] = {key: [] for key in commands}
    for _ in range(min(rounds, COMMAND_ROUNDS)):
        for key, command in commands.items():
            costs[key].append(command())
    servers = {size: partial(_serve, workspace, project) for size, project in projects.items()}
    served = alternate(rounds, servers)
    for size, results in served.items():
        for measure in results[0].costs:
            costs[measure, size] = [result.costs[measure] for result in results]
    memory = {
        measure: {size: median(result.memory[measure] or 0.0 for result in results) for size, results in served.items()}
        for measure in served[sizes[0]][0].memory
    }
    return Scale(tuple(sizes), _by_measure(costs), memory)


def _by_measure(costs: Mapping[tuple[str, int], Sequence[Cost]]) -> dict[str, dict[int, Cost]]:
    table: dict[str, dict[int, Cost]] = {}
    for (measure, size), series in costs.items():
        table.setdefault(measure, {})[size] = typical(series)
    return table


def _generate(workspace: Workspace, project: SyntheticProject) -> Cost:
    """Generate with no generated files and an empty cache."""
    workspace.clear(project.generated)
    return _run(workspace, project, "generate")


def _generate_edited(workspace: Workspace, project: SyntheticProject, numbers: Iterator[int]) -> Cost:
    project.write(edited=f" Edition {next(numbers)}.")
    return _run(workspace, project, "generate")


def _generate_narrowed(workspace: Workspace, project: SyntheticProject, numbers: Iterator[int]) -> Cost:
    project.write(narrowed=next(numbers))
    return _run(workspace, project, "generate")


def _run(workspace: Workspace, project: SyntheticProject, command: str) -> Cost:
    return run(workspace, ["toolmason", command], cwd=project.directory)[0]


def _serve(workspace: Workspace, project: SyntheticProject) -> _Served:
    """Start both styles; search in the default one, and list all pages in the other."""
    default = Program("default", PACKAGE, (), project.import_path)
    classic = Program("classic", PACKAGE, ("--classic",), project.import_path)
    tools = project.tools
    queries = [tools[number * STEP % len(tools)].use_case for number in range(QUERIES)]
    begun = perf_counter()
    with session(workspace, default) as running:
        _list_all(running)
        start, start_memory = Cost(perf_counter() - begun, process_cpu(running.pid)), running.memory()
        first, *rest = [_search(running, query) for query in queries]
        search_memory = running.memory()
    begun = perf_counter()
    with session(workspace, classic) as running:
        _list_all(running)
        listing, list_memory = Cost(perf_counter() - begun, process_cpu(running.pid)), running.memory()
    searches = typical(rest)
    return _Served(
        {STARTED: start, LISTED: listing, FIRST_SEARCH: first, SEARCHED: searches},
        {STARTED_MEMORY: start_memory, SEARCHED_MEMORY: search_memory, LISTED_MEMORY: list_memory},
    )


def _list_all(running: Session) -> None:
    """List the tools of all pages."""
    cursor: str | None = ""
    while cursor is not None:
        cursor = running.request("tools/list", {"cursor": cursor} if cursor else {}).get("nextCursor")


def _search(running: Session, query: str) -> Cost:
    with measure_process(running.pid) as timer:
        running.request("tools/call", {"name": "search", "arguments": {"query": query}})
    return timer.cost
