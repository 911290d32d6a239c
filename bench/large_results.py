"""Results of 1 to 100 MB over stdio: time, peak memory, and the longest wait of another request meanwhile."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Final

from bench.clock import measure_process
from bench.contestants import BARE, FASTMCP, OURS
from bench.peers import Peers
from bench.project import PACKAGE
from bench.rivals import wire_table, write_bare, write_fastmcp_large, write_table
from bench.rounds import Cost, alternate, typical
from bench.session import Program, SessionError, Workspace, run, session

SIZES: Final = (1, 10, 100)
"""Megabytes of a result."""
SHORT_SIZES: Final = (1, 2)
_MANIFEST: Final = """\
edition = 1

[server]
name = "synthetic"
package = "{package}"
handlers = "large_handlers"

[categories.texts]
summary = "Long texts"

[tools.large]
summary = "Return a long text"
category = "texts"
description = "Return a text of so many characters."
handler = "texts:large"
hints = {{ read_only = true, destructive = false, idempotent = true, open_world = false }}
params.size = {{ type = "integer", description = "Characters of the text" }}
"""
_HANDLER: Final = """\
from toolmason_runtime import ToolCall


async def large(params: object, call: ToolCall) -> str:
    return "x" * params.size
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeResult:
    """One program and size: the cost, the peak memory in MiB, and the longest wait for a ping meanwhile in ms."""

    label: str
    megabytes: int
    cost: Cost
    memory: float | None
    longest_ping: float


def measure_large_results(
    workspace: Workspace, peers: Peers, rounds: int, *, is_short: bool = False
) -> tuple[LargeResult, ...]:
    """Call a tool whose text has the size, in a new process each time.

    Raises:
        SessionError: a call failed, or its result is shorter.
    """
    programs = _programs(workspace, peers)
    sizes = SHORT_SIZES if is_short else SIZES
    work = {
        (label, size): partial(_measure, workspace, program, size)
        for size in sizes
        for label, program in programs.items()
    }
    results = alternate(rounds, work)
    return tuple(
        LargeResult(
            label=label,
            megabytes=size,
            cost=typical([cost for cost, _, _ in series]),
            memory=median(known) if (known := [memory for _, memory, _ in series if memory is not None]) else None,
            longest_ping=median(ping for _, _, ping in series),
        )
        for (label, size), series in results.items()
    )


def _programs(workspace: Workspace, peers: Peers) -> dict[str, Program]:
    directory = workspace.directory / "large"
    others = directory / "others"
    texts = {
        "manifest/large.toml": _MANIFEST.format(package=PACKAGE),
        "handlers/large_handlers/__init__.py": "",
        "handlers/large_handlers/texts.py": _HANDLER,
    }
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    run(workspace, ["toolmason", "generate"], cwd=directory)
    generated = directory / "generated"
    table = wire_table(generated)
    tools = str(write_table(others, table))
    return {
        BARE: Program(BARE, write_bare(others, table), (), (others,)),
        FASTMCP: Program(FASTMCP, write_fastmcp_large(others), (), (others,)),
        **{label: Program(label, "", command=(*command, tools)) for label, command in peers.commands.items()},
        OURS: Program(OURS, PACKAGE, ("--classic",), (generated, directory / "handlers")),
    }


def _measure(workspace: Workspace, program: Program, megabytes: int) -> tuple[Cost, float | None, float]:
    """Return the cost of the call, the peak memory of the process, and the longest wait for a ping in milliseconds."""
    size = megabytes * 1_000_000
    with session(workspace, program) as running:
        # The first call imports what all calls need.
        running.request("tools/call", {"name": "large", "arguments": {"size": 1}})
        with measure_process(running.pid) as timer:
            answer, longest = running.request_with_pings("tools/call", {"name": "large", "arguments": {"size": size}})
        result = json.loads(answer).get("result") or {}
        text = (result.get("content") or [{}])[0].get("text", "")
        if len(text) != size:
            raise SessionError(
                f"{program.label}: a result of {megabytes} MB has {len(text):,} characters: {text[:300]}"
            )
        return timer.cost, running.peak_memory(), longest * 1000
