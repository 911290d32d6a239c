"""Calls over stdio: one after the other, and many at once; the first call of a server, and its exit."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any, Final

from bench.clock import measure_process
from bench.contestants import (
    BARE,
    FASTMCP,
    OURS,
    OURS_DEFAULT,
    OURS_SDK,
    WORKBENCH,
    Contestants,
)
from bench.peers import GO, TYPESCRIPT, TYPESCRIPT_1
from bench.rounds import Cost, Ratio, alternate, ratio, typical
from bench.session import Program, Session, SessionError, Workspace, compact, session

CALLS: Final = 2000
"""Calls of one round with several requests in flight."""
SEQUENTIAL_CALLS: Final = 500
SHORT_CALLS: Final = 50
IN_FLIGHT: Final = 64
"""Requests without an answer. More would measure queues."""
PAUSE_S: Final = 0.5
"""Seconds between a search and the first call: less than a model takes to read the result."""
QUIET_S: Final = 1.0
"""Seconds between the first list and a call after a pause: less than a model takes to write the call."""
WORKBENCH_CALLS: Final[tuple[tuple[str, str, dict[str, Any]], ...]] = (
    ("read_files", "read the lines of a text file", {"files": [{"path": "bench.txt"}]}),
    ("query_json", "extract values from a JSON file", {"file_path": "bench.json", "jq_expression": ".a"}),
    ("validate_paths", "check if the paths of files exist", {"paths": ["bench.txt"]}),
    ("git_status", "what has changed in the git repository", {}),
)
"""Tool, search and arguments, in different categories; the last one runs a program."""
CALLED: Final = (BARE, FASTMCP, TYPESCRIPT_1, TYPESCRIPT, GO)
"""Peers whose calls are measured, where they can run."""


@dataclass(frozen=True, slots=True)
class Calls:
    """The costs of one call by program, one after the other and with `IN_FLIGHT` requests at once."""

    sequential: dict[str, list[Cost]]
    pipelined: dict[str, list[Cost]]

    def speedup(self, label: str) -> Ratio:
        """Compare the calls per second with those of the bare SDK server."""
        return ratio(self.pipelined[BARE], self.pipelined[label])


@dataclass(frozen=True, slots=True)
class FirstCall:
    """The first call of a server: at once after its first list, after a pause or after a search; and its exit."""

    label: str
    tool: str
    at_once: Cost
    after_pause: Cost
    after_search: Cost | None
    """None for servers without a search."""
    exit: Cost


class _When(Enum):
    """The time of the first call."""

    AT_ONCE = auto()
    AFTER_PAUSE = auto()
    AFTER_SEARCH = auto()


@dataclass(frozen=True, slots=True)
class _Scenario:
    """A program, its call, and its request of a search; None without a search."""

    program: Program
    call: Mapping[str, Any]
    search: Mapping[str, Any] | None = None


def measure_calls(workspace: Workspace, compared: Contestants, rounds: int, *, is_short: bool = False) -> Calls:
    """Call a tool that returns a constant, on all servers in turn."""
    tool = next(tool for tool in compared.project.tools if tool.reads)
    direct = {"name": tool.name, "arguments": tool.arguments}
    through = {"name": "call", "arguments": {"tool_name": tool.name, "args": tool.arguments}}
    labels = [label for label in CALLED if label in compared.programs]
    calls = dict.fromkeys(labels, direct) | {OURS: direct, OURS_DEFAULT: through}
    programs = {label: compared.programs[label] for label in calls}
    programs[OURS_SDK] = compared.ours("--classic", "--engine", "sdk")
    calls[OURS_SDK] = direct
    with ExitStack() as stack:
        running = {label: stack.enter_context(session(workspace, program)) for label, program in programs.items()}
        for label, opened in running.items():
            _check(opened.request("tools/call", dict(calls[label])), label)
        return Calls(
            *(
                alternate(
                    rounds,
                    {
                        label: partial(_exchange, opened, calls[label], SHORT_CALLS if is_short else count, in_flight)
                        for label, opened in running.items()
                    },
                )
                for count, in_flight in ((SEQUENTIAL_CALLS, 1), (CALLS, IN_FLIGHT))
            )
        )


def measure_first_calls(workspace: Workspace, compared: Sequence[Contestants], rounds: int) -> tuple[FirstCall, ...]:
    """Measure the first call of new servers: ours, the peers with the fewest tools, and Workbench."""
    scenarios = {}
    for contestants in compared:
        tool = contestants.project.tools[-2]
        direct = {"name": tool.name, "arguments": tool.arguments}
        labels = CALLED if contestants is compared[0] else ()
        peers = [_Scenario(contestants.programs[label], direct) for label in labels if label in contestants.programs]
        ours = _Scenario(
            contestants.programs[OURS_DEFAULT], _through(tool.name, tool.arguments), _search(tool.use_case)
        )
        for scenario in (*peers, ours):
            scenarios[f"{scenario.program.label}, {contestants.size} tools", tool.name] = scenario
    project = workspace.directory / "first-call"
    project.mkdir()
    (project / "bench.txt").write_text("one line\n", encoding="utf-8")
    (project / "bench.json").write_text(json.dumps({"a": 1}), encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(project)], check=True)  # noqa: S603, S607
    workbench = Program(WORKBENCH, "workbench_server", ("--root", str(project)))
    for name, query, arguments in WORKBENCH_CALLS:
        scenarios[WORKBENCH, name] = _Scenario(workbench, _through(name, arguments), _search(query))
    work = {}
    for key, scenario in scenarios.items():
        for when in _When:
            if when is not _When.AFTER_SEARCH or scenario.search is not None:
                work[*key, when] = partial(_first_call, workspace, scenario, when)
    results = alternate(rounds, work)

    def call(label: str, tool: str, when: _When) -> Cost:
        return typical([cost for cost, _ in results[label, tool, when]])

    return tuple(
        FirstCall(
            label,
            tool,
            at_once=call(label, tool, _When.AT_ONCE),
            after_pause=call(label, tool, _When.AFTER_PAUSE),
            after_search=call(label, tool, _When.AFTER_SEARCH) if scenario.search is not None else None,
            exit=typical([end for _, end in results[label, tool, _When.AFTER_PAUSE]]),
        )
        for (label, tool), scenario in scenarios.items()
    )


def _through(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "call", "arguments": {"tool_name": name, "args": dict(arguments)}}


def _search(query: str) -> dict[str, Any]:
    return {"name": "search", "arguments": {"query": query}}


def _first_call(workspace: Workspace, scenario: _Scenario, when: _When) -> tuple[Cost, Cost]:
    """Return the cost of the first call and that of the exit."""
    with session(workspace, scenario.program) as running:
        running.request("tools/list")
        if when is _When.AFTER_PAUSE:
            time.sleep(QUIET_S)
        elif when is _When.AFTER_SEARCH:
            running.request("tools/call", dict(scenario.search or {}))
            time.sleep(PAUSE_S)
        with measure_process(running.pid) as timer:
            result = running.request("tools/call", dict(scenario.call))
        _check(result, scenario.program.label)
        return timer.cost, running.end()


def _exchange(running: Session, call: Mapping[str, Any], count: int, in_flight: int) -> Cost:
    """Return the cost of one of `count` calls."""
    message = {"jsonrpc": "2.0", "method": "tools/call", "params": call}
    lines = [compact(message | {"id": f"call-{number}"}).encode() + b"\n" for number in range(count)]
    with measure_process(running.pid) as timer:
        answers = running.exchange(lines, window=in_flight)
    if answers.count(b'"result"') != count or b'"isError":true' in answers:
        raise SessionError(f"a call failed: {answers[-500:]!r}")
    return timer.cost / count


def _check(result: Mapping[str, Any], label: str) -> None:
    if result.get("isError"):
        raise SessionError(f"{label}: {compact(result)[:500]}")
