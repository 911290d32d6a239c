"""A client over stdio that measures time: it starts a server, sends requests and reads responses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import IO, Any, Final

from toolmason_runtime.shared.tokens import estimate_tokens

from bench.clock import measure_children, process_cpu
from bench.rounds import Cost

PROTOCOL: Final = "2025-11-25"
"""The newest revision with a handshake. All compared servers support it."""
TIMEOUT_S: Final = 300.0
"""Seconds after which a program is killed."""
_PING_S: Final = 0.01
"""Seconds between two pings."""
_MAX_PING_BYTES: Final = 10_000
"""Answers with more bytes are not those of a ping."""
_MEMORY: Final = re.compile(r"^(VmHWM|VmRSS):\s+(\d+) kB$", re.MULTILINE)


class SessionError(Exception):
    """A server ended or answered with an error. The message contains the end of its stderr."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A temporary directory for one run. It also has the byte code and the caches of all measured programs."""

    directory: Path

    @property
    def cache(self) -> Path:
        """The cache directory of the user, for measured programs."""
        return self.directory / "cache"

    def clear(self, generated: Path) -> None:
        """Remove the generated files of a project and everything that earlier commands have stored."""
        for directory in (generated, self.cache):
            shutil.rmtree(directory, ignore_errors=True)

    def environment(self, *import_path: Path) -> dict[str, str]:
        """Return the environment variables of measured programs."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FASTMCP_"))}
        return inherited | {
            "PYTHONPATH": os.pathsep.join(map(str, import_path)),
            "PYTHONPYCACHEPREFIX": str(self.directory / "bytecode"),
            "PYTHONUTF8": "1",
            "FASTMCP_CHECK_FOR_UPDATES": "off",
            "XDG_CACHE_HOME": str(self.cache),
            "LOCALAPPDATA": str(self.cache),
            # With it, `toolmason` uses no cache.
            "CI": "",
        }


@dataclass(frozen=True, slots=True)
class Program:
    """A server to start: its label in the tables, the module, its arguments and its import path.

    `python` is its interpreter, and `variables` are added to its environment. `command` is the whole command line of a
    program that is not in Python.
    """

    label: str
    module: str
    arguments: tuple[str, ...] = ()
    import_path: tuple[Path, ...] = ()
    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=dict)
    command: tuple[str, ...] = ()


@dataclass(slots=True)
class Session:
    """A running, initialized server."""

    _process: subprocess.Popen[bytes]
    _stderr: IO[bytes]
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """What the client supports."""
    answer: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    """Returns the result of a request of the server."""
    _number: int = 0
    received: int = field(default=0)
    """Bytes of the last response, including its line end."""

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return its result.

        Raises:
            SessionError: the server ended, or answered with an error.
        """
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        while line := self._reader.readline():
            if not line.startswith(b"{"):  # a program that prints to its protocol stream
                continue
            message = json.loads(line)
            if "method" in message:
                if "id" in message and self.answer is not None:
                    self._send({"jsonrpc": "2.0", "id": message["id"], "result": self.answer(message)})
                continue
            if message.get("id") != self._number:
                continue
            if "result" not in message:
                raise SessionError(f"{method}: {message.get('error')}")
            self.received = len(line)
            result: dict[str, Any] = message["result"]
            return result
        self._stderr.seek(0)
        raise SessionError(f"{method}: no answer\n{self._stderr.read().decode('utf-8', 'replace')[-2000:]}")

    def initialize(self) -> None:
        """Send the handshake."""
        about = {"name": "bench", "version": "1"}
        self.request(
            "initialize", {"protocolVersion": PROTOCOL, "capabilities": self.capabilities, "clientInfo": about}
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def exchange(self, lines: Sequence[bytes], *, window: int) -> bytes:
        """Send encoded requests, at most `window` of them without an answer, and return all answers."""
        assert self._process.stdin is not None  # noqa: S101  started with a pipe
        received, answered, sent = [], 0, 0
        while answered < len(lines):
            ready = min(len(lines), answered + window)
            if sent < ready:
                self._process.stdin.write(b"".join(lines[sent:ready]))
                self._process.stdin.flush()
                sent = ready
            block = os.read(self._reader.fileno(), 1 << 16)
            if not block:
                raise SessionError("the server ended during its requests")
            received.append(block)
            answered += block.count(b"\n")
        return b"".join(received)

    def request_with_pings(self, method: str, params: dict[str, Any]) -> tuple[bytes, float]:
        """Send a request and pings until its answer; return the answer and the seconds of the slowest ping.

        A server that sends both on one stream answers a ping later than it handles it: a client waits for both.
        """
        self._number += 1
        number, sent, longest, answer = self._number, {}, 0.0, b""
        is_done = threading.Event()

        def ping() -> None:
            count = 0
            while not is_done.is_set():
                sent[f"ping-{count}"] = perf_counter()
                self._send({"jsonrpc": "2.0", "id": f"ping-{count}", "method": "ping"})
                count += 1
                is_done.wait(_PING_S)

        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        pinger = threading.Thread(target=ping)
        pinger.start()
        try:
            while not answer or sent:
                line = self._reader.readline()
                if not line:
                    raise SessionError(f"{method}: no answer")
                if len(line) > _MAX_PING_BYTES:
                    answer = line
                    is_done.set()
                    pinger.join()
                    continue
                message = json.loads(line)
                if message.get("id") == number:
                    raise SessionError(f"{method}: {line[:500]!r}")
                if (begun := sent.pop(message.get("id"), None)) is not None:
                    longest = max(longest, perf_counter() - begun)
        finally:
            is_done.set()
            pinger.join()
        return answer, longest

    def end(self) -> Cost:
        """Close the input, which ends a server, and return the cost until its exit."""
        cpu = process_cpu(self.pid)
        with measure_children() as timer:
            assert self._process.stdin is not None  # noqa: S101  started with a pipe
            self._process.stdin.close()
            # Without a timeout: with one, `wait` polls. A server that does not end is killed by the timer of `session`.
            self._process.wait()
        return Cost(timer.cost.wall, timer.cost.cpu - cpu)

    def peak_memory(self) -> float | None:
        """Return the peak resident memory in MiB; None if the system does not report it."""
        return self._memory("VmHWM")

    def memory(self) -> float | None:
        """Return the resident memory in MiB; None if the system does not report it."""
        return self._memory("VmRSS")

    def _memory(self, name: str) -> float | None:
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return None
        sizes = dict(_MEMORY.findall(status))
        return int(sizes[name]) / 1024 if name in sizes else None

    @property
    def _reader(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101  started with a pipe
        return self._process.stdout

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101  started with a pipe
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def session(
    workspace: Workspace,
    program: Program,
    *,
    capabilities: Mapping[str, Any] | None = None,
    answer: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Iterator[Session]:
    """Start `program` and initialize it; end it afterwards. `answer` answers its requests to the client."""
    command = program.command or (program.python, "-m", program.module, *program.arguments)
    with workspace.directory.joinpath("stderr").open("w+b") as stderr:
        process = subprocess.Popen(  # noqa: S603  a program of the benchmark
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=workspace.directory,
            env={**workspace.environment(*program.import_path), **program.variables},
        )
        timer = threading.Timer(timeout_s, process.kill)
        timer.start()
        try:
            running = Session(process, stderr, capabilities or {}, answer)
            running.initialize()
            yield running
        finally:
            timer.cancel()
            _end(process)


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a server up to its first list: its cost, peak memory in MiB, bytes of the list, and its tools.

    `end` is the cost from the end of its input to its exit.
    """

    cost: Cost
    memory: float | None
    size: int
    tools: int
    listed_tokens: int
    """Estimated tokens of all listed tools as compact JSON, without `_meta`, which models do not see."""
    hint_bytes: float
    """Mean bytes of the hints of one tool."""
    end: Cost


def start(workspace: Workspace, program: Program) -> Start:
    """Start `program`, list its tools, and end it."""
    started = perf_counter()
    with session(workspace, program) as running:
        tools = running.request("tools/list")["tools"]
        cost = Cost(perf_counter() - started, process_cpu(running.pid))
        memory, size = running.peak_memory(), running.received
        end = running.end()
    return Start(
        cost=cost,
        memory=memory,
        size=size,
        tools=len(tools),
        listed_tokens=_tokens(compact([{key: tool[key] for key in tool if key != "_meta"} for tool in tools])),
        hint_bytes=sum(len(f',"annotations":{compact(tool["annotations"])}') for tool in tools if "annotations" in tool)
        / len(tools),
        end=end,
    )


@lru_cache
def _tokens(text: str) -> int:
    """Return the estimated tokens; all rounds have the same lists."""
    return estimate_tokens(text)


def run(
    workspace: Workspace,
    arguments: Sequence[str],
    *,
    cwd: Path,
    expected: Sequence[int] = (0,),
    variables: Mapping[str, str] | None = None,
) -> tuple[Cost, int]:
    """Run a Python module to its end, with more environment variables; return its cost and exit code.

    Raises:
        SessionError: the exit code is not in `expected`.
    """
    with measure_children() as timer:
        ran = subprocess.run(  # noqa: S603  our module or a compared one
            [sys.executable, "-m", *arguments],
            cwd=cwd,
            env={**workspace.environment(), **(variables or {})},
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    if ran.returncode not in expected:
        output = (ran.stdout + ran.stderr).decode("utf-8", "replace")[-2000:]
        raise SessionError(f"{' '.join(arguments)}: exit code {ran.returncode}\n{output}")
    return timer.cost, ran.returncode


def compact(value: object) -> str:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, which ends a server; kill it if it continues."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
