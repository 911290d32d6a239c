"""A client on the far side of stdio that knows the time: it starts a server, sends requests and reads answers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import IO, Any, Final

from toolmason_runtime.protocol.tokens import estimate_tokens

PROTOCOL: Final = "2025-11-25"
"""The newest revision with a handshake: all who are compared here speak it."""
PATIENCE_S: Final = 120.0
"""Seconds after which a server counts as hung."""
_PEAK: Final = re.compile(r"^VmHWM:\s+(\d+) kB$", re.MULTILINE)


class SessionError(Exception):
    """A server that ended or answered with an error, with the end of what it said on stderr."""


@dataclass(frozen=True, slots=True)
class Room:
    """A temporary folder for one run: byte code of everything measured is cached in it, as it is after a first use."""

    folder: Path

    def environment(self, *import_path: Path) -> dict[str, str]:
        """Give the environment in which whatever is measured runs."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FASTMCP_"))}
        return kept | {
            "PYTHONPATH": os.pathsep.join(map(str, import_path)),
            "PYTHONPYCACHEPREFIX": str(self.folder / "bytecode"),
            "PYTHONUTF8": "1",
            "FASTMCP_CHECK_FOR_UPDATES": "off",
        }


@dataclass(frozen=True, slots=True)
class Program:
    """A server to start: its label in the tables, the module, its arguments and its import path."""

    label: str
    module: str
    arguments: tuple[str, ...] = ()
    import_path: tuple[Path, ...] = ()


@dataclass(slots=True)
class Session:
    """A running server that has shaken hands."""

    _process: subprocess.Popen[bytes]
    _stderr: IO[bytes]
    _number: int = 0
    received: int = field(default=0)
    """Bytes of the last answer, line end included."""

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and give its result.

        Raises:
            SessionError: the server ended, or answered with an error.
        """
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params or {}})
        while line := self._reader.readline():
            message = json.loads(line)
            if message.get("id") != self._number:
                continue
            if "result" not in message:
                raise SessionError(f"{method}: {message.get('error')}")
            self.received = len(line)
            result: dict[str, Any] = message["result"]
            return result
        self._stderr.seek(0)
        raise SessionError(f"{method}: no answer\n{self._stderr.read().decode('utf-8', 'replace')[-2000:]}")

    def shake_hands(self) -> None:
        """Open the session as clients do."""
        about = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": about})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def peak_memory(self) -> float | None:
        """Give the most memory that was resident so far, in MiB; None where the system does not say."""
        try:
            status = Path(f"/proc/{self._process.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return None
        found = _PEAK.search(status)
        return int(found[1]) / 1024 if found else None

    @property
    def _reader(self) -> IO[bytes]:
        assert self._process.stdout is not None  # noqa: S101  a pipe was asked for
        return self._process.stdout

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None  # noqa: S101  a pipe was asked for
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()


@contextmanager
def session(room: Room, program: Program) -> Iterator[Session]:
    """Start `program` and shake hands; end it afterwards."""
    command = [sys.executable, "-m", program.module, *program.arguments]
    with room.folder.joinpath("stderr").open("w+b") as stderr:
        process = subprocess.Popen(  # noqa: S603  a program that the bench has written
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=room.folder,
            env=room.environment(*program.import_path),
        )
        hung = threading.Timer(PATIENCE_S, process.kill)
        hung.start()
        try:
            running = Session(process, stderr)
            running.shake_hands()
            yield running
        finally:
            hung.cancel()
            _end(process)


@dataclass(frozen=True, slots=True)
class Start:
    """What it took from nothing to the first list: seconds, MiB at most, bytes of the list, and what it lists."""

    seconds: float
    memory: float | None
    size: int
    tools: tuple[dict[str, Any], ...]

    @property
    def listed_tokens(self) -> int:
        """Estimate the tokens of all listed tools, as compact JSON; no model reads `_meta`."""
        return estimate_tokens(_compact([{key: tool[key] for key in tool if key != "_meta"} for tool in self.tools]))

    @property
    def hint_bytes(self) -> float:
        """Give what the hints take of one tool, on average."""
        hints = [tool["annotations"] for tool in self.tools if "annotations" in tool]
        return sum(len(f',"annotations":{_compact(each)}') for each in hints) / len(self.tools)


def start(room: Room, program: Program) -> Start:
    """Start `program`, list its tools, and end it."""
    begun = perf_counter()
    with session(room, program) as running:
        tools = running.request("tools/list")["tools"]
        seconds = perf_counter() - begun
        return Start(seconds, running.peak_memory(), running.received, tuple(tools))


def run(room: Room, arguments: Sequence[str], *, cwd: Path, expected: Sequence[int] = (0,)) -> tuple[float, int]:
    """Run a Python module to its end; give seconds and exit code.

    Raises:
        SessionError: it ended with a code that was not `expected`.
    """
    begun = perf_counter()
    ran = subprocess.run(  # noqa: S603  a module of ours or one that is compared
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env=room.environment(),
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    seconds = perf_counter() - begun
    if ran.returncode not in expected:
        said = (ran.stdout + ran.stderr).decode("utf-8", "replace")[-2000:]
        raise SessionError(f"{' '.join(arguments)}: exit code {ran.returncode}\n{said}")
    return seconds, ran.returncode


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, which ends every server; one that stays is killed."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
