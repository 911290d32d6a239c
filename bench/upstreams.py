"""Servers from npm, called directly and through a generated server: listed tokens and calls per second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.shared.tokens import estimate_tokens

from bench.clock import measure_process
from bench.rounds import Cost, Ratio, alternate, ratio, typical
from bench.session import Program, Session, SessionError, Workspace, compact, run, session

PACKAGES: Final = Path(__file__).parents[1] / "tests" / "node_modules" / "@modelcontextprotocol"
CALLS: Final = 300
"""Calls of one round, one after the other."""
SHORT_CALLS: Final = 10
_DIRECT: Final = "direct"
_THROUGH: Final = "through"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Called:
    """A server from npm and its measured call. `ours` is the tool's name in the generated server."""

    name: str
    tool: str
    ours: str
    arguments: Mapping[str, Any]


SERVERS: Final = (
    _Called(name="everything", tool="get-sum", ours="get_sum", arguments={"a": 2, "b": 3}),
    _Called(name="filesystem", tool="list_allowed_directories", ours="list_allowed_directories", arguments={}),
    _Called(name="memory", tool="read_graph", ours="read_graph", arguments={}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One server: tokens of its list, directly and through the generated server, and calls per second."""

    name: str
    tools: int
    direct_tokens: int
    default_tokens: int
    """Tokens of the list in the default style."""
    classic_tokens: int
    """Tokens of the list in the style `classic`."""
    direct: Cost
    """Cost of one call of the server itself."""
    through: Cost
    """Cost of one call of the generated server; its CPU is without that of the server behind it."""
    ratio: Ratio
    """Calls per second through the generated server, compared with direct calls."""


def measure_upstreams(workspace: Workspace, rounds: int, *, is_short: bool = False) -> tuple[Served, ...]:
    """Import each server and measure both ways.

    Raises:
        SessionError: the servers from npm are not installed, or a call failed.
    """
    if not PACKAGES.is_dir():
        raise SessionError("the servers from npm are missing; run `npm ci` in tests/")
    return tuple(_measure(workspace, server, rounds, SHORT_CALLS if is_short else CALLS) for server in SERVERS)


def _measure(workspace: Workspace, server: _Called, rounds: int, calls: int) -> Served:
    project = workspace.directory / "upstreams" / server.name
    project.mkdir(parents=True)
    command: tuple[str, ...] = ("node", str(PACKAGES / f"server-{server.name}" / "dist" / "index.js"))
    command += (str(project),) if server.name == "filesystem" else ()
    manifest = f"manifest/{server.name}.toml"
    run(
        workspace, ["toolmason", "import", "server", "-o", manifest, "--name", server.name, "--", *command], cwd=project
    )
    run(workspace, ["toolmason", "generate"], cwd=project)
    memory = {"MEMORY_FILE_PATH": str(project / "memory.jsonl")}
    direct = Program(server.name, "", command=command, variables=memory)
    package = f"{server.name}_server"
    generated = (project / "generated",)
    # Tools of an upstream without trusted hints need approval.
    ours = Program(f"{server.name}, through", package, ("--headless-approve",), generated, variables=memory)
    classic = Program(f"{server.name}, classic", package, ("--classic",), generated, variables=memory)
    sent = {"name": "call", "arguments": {"tool_name": server.ours, "args": dict(server.arguments)}}
    with session(workspace, direct) as alone, session(workspace, ours) as served, session(workspace, classic) as listed:
        work = {
            _DIRECT: partial(_call, alone, {"name": server.tool, "arguments": dict(server.arguments)}, calls),
            _THROUGH: partial(_call, served, sent, calls),
        }
        for warm_up in work.values():
            warm_up()
        costs = alternate(rounds, work)
        return Served(
            name=server.name,
            tools=len(_list(alone)),
            direct_tokens=_tokens(alone),
            default_tokens=_tokens(served),
            classic_tokens=_tokens(listed),
            direct=typical(costs[_DIRECT]),
            through=typical(costs[_THROUGH]),
            ratio=ratio(costs[_DIRECT], costs[_THROUGH]),
        )


def _call(running: Session, params: dict[str, Any], count: int) -> Cost:
    """Return the cost of one call."""
    with measure_process(running.pid) as timer:
        for _ in range(count):
            result = running.request("tools/call", params)
            if result.get("isError"):
                raise SessionError(f"{params['name']}: {compact(result)[:500]}")
    return timer.cost / count


def _list(running: Session) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = running.request("tools/list")["tools"]
    return tools


def _tokens(running: Session) -> int:
    """Return the tokens of a list, without `_meta`, which models do not see."""
    return estimate_tokens(compact([{key: tool[key] for key in tool if key != "_meta"} for tool in _list(running)]))
