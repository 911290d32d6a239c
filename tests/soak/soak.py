"""Call a server of Workbench many thousand times over stdio and HTTP; check each answer and the server's memory.

    python tests/soak/soak.py                         52,000 calls, 200 clients over HTTP
    python tests/soak/soak.py --short                 1,000 calls, 20 clients: half a minute
    python tests/soak/soak.py --calls 9000 --clients 50

The exit code is 1 if an answer was wrong, lost or swapped, if memory grew by more than `MAX_GROWTH_KB` after the
warm-up, or if a descriptor, thread, child process or temporary file was left. Linux.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2
from holding import Holding
from mixed_calls import AUTOMATIC, Call, Caller, Project
from peers import MAX_LINE_BYTES, TIMEOUT_S, HttpPeer, LostAnswerError, StdioPeer

CALLS: Final = 52_000
CLIENTS: Final = 200
SHORT_CALLS: Final = 1_000
SHORT_CLIENTS: Final = 20
STDIO_SLOTS: Final = 16
"""Calls at once on the connection over stdio."""
WARM_UP: Final = 0.2
"""Part of the calls after which the growth is measured."""
MAX_GROWTH_KB: Final = 24_000
QUIET_S: Final = 20.0
"""Maximum time after the last call until nothing of it is left."""
TIME_LIMIT: Final = "stopped at the time limit of one search"
"""Text of the answer of a search that a busy machine did not finish in time."""
MAX_LIMITED: Final = 0.01
"""Maximum part of the calls with such an answer."""
PARTS: Final = 5
"""Parts of the run whose times are printed."""


@dataclass
class Tally:
    """The outcomes and times of calls."""

    outcomes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    edits: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    async def make(self, peer: StdioPeer | HttpPeer, call: Call) -> None:
        """Make one call, and check its answer."""
        started = time.monotonic()
        try:
            answer = await peer.call(call)
        except (LostAnswerError, httpx2.HTTPError) as error:
            self.outcomes["lost"] += 1
            self.wrong.append(f"{call.kind}: {type(error).__name__}: {error}")
            return
        self.kinds[call.kind] += 1
        if answer is None:
            self.outcomes["cancelled"] += 1
            return
        self.times.append(time.monotonic() - started)
        if call.kind == "edit":
            self.edits.append(time.monotonic() - started)
        if TIME_LIMIT in str(answer):
            self.outcomes["at the time limit"] += 1
            return
        try:
            is_right = call.check(answer)
        except (KeyError, TypeError, OSError):
            is_right = False
        self.outcomes["right" if is_right else "wrong"] += 1
        if not is_right:
            self.wrong.append(f"{call.kind}: {call.params} -> {answer}")


class Server:
    """A server process with its own temporary directory."""

    def __init__(self, directory: Path, project: Project, python: str) -> None:
        self.python = python
        self.temporary = directory / "tmp"
        self.temporary.mkdir(parents=True)
        self.project = project
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), "WORKBENCH_STATE": str(directory / "state")}
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "WORKBENCH_EDITOR", "VSCODE_IPC_HOOK_CLI"):
            self.environment[name] = ""
        self.process: asyncio.subprocess.Process

    async def start(self, *options: str) -> None:
        flags = (
            "--all",
            "--log-level",
            "error",
            "--root",
            str(self.project.directory),
            "--auto-approve",
            f"{AUTOMATIC}/**",
            *options,
        )
        self.process = await asyncio.create_subprocess_exec(
            *(self.python, "-m", "workbench_server", *flags),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self.environment,
            limit=MAX_LINE_BYTES,
        )

    def holding(self) -> Holding:
        return Holding.of(self.process.pid, self.temporary)

    async def quiet(self, earlier: Holding | None = None) -> Holding:
        """Return the resources of the idle server; wait until they are at most `earlier`, up to a time limit."""
        deadline = time.monotonic() + QUIET_S
        await asyncio.sleep(1)
        while (  # noqa: ASYNC110  another process sets no event
            earlier is not None and self.holding().leaks_since(earlier) and time.monotonic() < deadline
        ):
            await asyncio.sleep(0.2)
        return self.holding()


async def soak_stdio(server: Server, calls: int, tally: Tally) -> tuple[Holding, Holding]:
    """Make calls on one connection, several at once; return its resources after the warm-up and at the end."""
    await server.start("--classic")
    peer = StdioPeer(server.process)
    await peer.open()
    callers = [Caller(server.project, number, asks=True, is_classic=True) for number in range(STDIO_SLOTS)]

    async def use(caller: Caller, count: int) -> None:
        for call in caller.calls(count):
            await tally.make(peer, call)

    async def use_all(count: int) -> None:
        await asyncio.gather(*(use(caller, count // STDIO_SLOTS) for caller in callers))

    await use_all(round(calls * WARM_UP))
    warm = await server.quiet()
    await use_all(calls - round(calls * WARM_UP))
    end = await server.quiet(warm)
    await peer.close()
    tally.wrong += [f"unexpected: {message}" for message in peer.unexpected]
    await _check_end(server, tally)
    return warm, end


async def soak_http(server: Server, calls: int, clients: int, tally: Tally) -> tuple[Holding, Holding]:
    """Make calls with many clients at once, each with a connection; every second one has a session."""
    await server.start("--http", "--port", "0")
    assert server.process.stderr is not None
    line = (await server.process.stderr.readline()).decode()
    address = re.search(r"http://\S+/mcp", line)
    if address is None:
        raise LostAnswerError(line + (await server.process.stderr.read()).decode())
    numbers = range(STDIO_SLOTS, STDIO_SLOTS + clients)
    callers = [Caller(server.project, number, asks=bool(number % 2), is_classic=False) for number in numbers]

    async def use(client: httpx2.AsyncClient, caller: Caller, count: int) -> None:
        peer = HttpPeer(client, address[0], is_modern=caller.asks)
        await peer.open()
        for call in caller.calls(count):
            await tally.make(peer, call)
        await peer.close()

    async def use_all(count: int) -> None:
        limits = httpx2.Limits(max_connections=clients + 50, max_keepalive_connections=clients)
        async with httpx2.AsyncClient(timeout=TIMEOUT_S, limits=limits, trust_env=False) as client:
            await asyncio.gather(*(use(client, caller, count // clients) for caller in callers))

    await use_all(round(calls * WARM_UP))
    warm = await server.quiet()
    await use_all(calls - round(calls * WARM_UP))
    end = await server.quiet(warm)
    server.process.terminate()
    await asyncio.wait_for(server.process.wait(), TIMEOUT_S)
    await _check_end(server, tally)
    return warm, end


async def _check_end(server: Server, tally: Tally) -> None:
    assert server.process.stderr is not None
    if server.process.returncode != 0:
        tally.wrong.append(f"the server ended with {server.process.returncode}")
    if text := (await server.process.stderr.read()).decode(errors="replace"):
        tally.wrong.append(f"standard error: {text[-500:]}")


@asynccontextmanager
async def sampled(server: Server, samples: list[int]) -> AsyncIterator[None]:
    """Add the memory of the server to `samples`, every two seconds."""

    async def sample() -> None:
        while True:
            await asyncio.sleep(2)
            samples.append(server.holding().rss_kb)

    task = asyncio.create_task(sample())
    try:
        yield
    finally:
        task.cancel()


def percentile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def print_times(name: str, tally: Tally) -> None:
    size = max(1, len(tally.times) // PARTS)
    parts = [tally.times[start : start + size] for start in range(0, size * PARTS, size)]
    print(
        f"{name}: p50/p99 in ms, in {PARTS} parts of the run:",
        ", ".join(
            f"{1000 * statistics.median(part):.0f}/{1000 * percentile(part, 0.99):.0f}" for part in parts if part
        ),
    )
    size = max(1, len(tally.edits) // PARTS)
    edits = [tally.edits[start : start + size] for start in range(0, size * PARTS, size)]
    print(f"{name}: p50 of edits in ms:", ", ".join(f"{1000 * statistics.median(part):.0f}" for part in edits if part))


def report(name: str, tally: Tally, warm: Holding, end: Holding, seconds: float) -> list[str]:
    """Print the figures of one transport; return the broken promises."""
    outcomes = ", ".join(f"{count:,} {outcome}" for outcome, count in tally.outcomes.most_common())
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in tally.kinds.most_common())
    print(f"{name}: {sum(tally.outcomes.values()):,} calls in {seconds:.0f} s: {outcomes}\n{name}: {kinds}")
    print_times(name, tally)
    print(f"{name}: after the warm-up {warm}\n{name}: at the end         {end}")
    broken = [f"{name}: {text[:600]}" for text in tally.wrong]
    if (limited := tally.outcomes["at the time limit"]) > MAX_LIMITED * sum(tally.outcomes.values()):
        broken.append(f"{name}: {limited} calls ended at a time limit")
    broken += [f"{name}: left over: {text}" for text in end.leaks_since(warm)]
    if end.rss_kb - warm.rss_kb > MAX_GROWTH_KB:
        broken.append(f"{name}: memory grew by {end.rss_kb - warm.rss_kb:,} kB after the warm-up")
    return broken


async def soak(calls: int, clients: int, transports: Sequence[str], python: str) -> int:
    broken: list[str] = []
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        for transport in transports:
            directory = Path(name, transport)
            project = Project(directory / "project")
            project.write()
            server, tally, started = Server(directory, project, python), Tally(), time.monotonic()
            share = calls // len(transports)
            try:
                if transport == "stdio":
                    warm, end = await soak_stdio(server, share, tally)
                else:
                    warm, end = await soak_http(server, share, clients, tally)
            finally:
                if server.process.returncode is None:
                    server.process.kill()
            broken += report(transport, tally, warm, end, time.monotonic() - started)
    for line in broken[:20]:
        print(f"BROKEN {line}")
    print(f"{len(broken)} broken promises")
    return int(bool(broken))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help=f"{SHORT_CALLS:,} calls, {SHORT_CLIENTS} clients")
    parser.add_argument("--calls", type=int, help=f"all calls (default: {CALLS:,})")
    parser.add_argument("--clients", type=int, help=f"clients over HTTP (default: {CLIENTS})")
    parser.add_argument("--only", choices=("stdio", "http"), help="one transport")
    parser.add_argument("--python", default=sys.executable, help="interpreter of the server (default: this one)")
    options = parser.parse_args(arguments)
    calls = options.calls or (SHORT_CALLS if options.short else CALLS)
    clients = options.clients or (SHORT_CLIENTS if options.short else CLIENTS)
    transports = [options.only] if options.only else ["stdio", "http"]
    return asyncio.run(soak(calls, clients, transports, options.python))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
