"""A generated server as a process, whose tools ask hostile servers, and its resources while it answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import hostile_upstream
import pytest
from hostile_api import serving
from stdio_peer import PATIENCE_S, Peer

HERE = Path(__file__).parent
PING_S = 0.05
MAX_RESIDENT_MB = 160
"""Resident memory from which on a server is replaced before a call is measured."""
TOKEN = "t0ken/of-the-api"


@dataclass
class Measured:
    """A call of a tool, and what happened meanwhile. Memory in MB."""

    result: dict[str, Any]
    call_s: float
    pings_s: list[float] = field(default_factory=list)
    """Seconds that each ping waited."""
    ping_cpu_s: float = 0.0
    """Most processor time that the server used while a ping waited: the wait on an idle machine."""
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    child_mb: float = 0.0
    """Peak of the largest child that parses or reduces."""
    children: int = 0

    @property
    def text(self) -> str:
        return "\n".join(block.get("text", "") for block in self.result["content"])

    def __str__(self) -> str:
        ping = max(self.pings_s, default=0.0)
        return (
            f"call {self.call_s:.2f} s, ping {ping:.2f} s ({self.ping_cpu_s:.2f} s of cpu), cpu {self.cpu_s:.2f} s, "
            f"peak {self.peak_mb:.0f} MB, child {self.child_mb:.0f} MB: {self.text[:120]!r}"
        )


CALLS: Final[dict[tuple[str, str], Measured]] = {}
"""The last call of each tool with each kind, for tests that need no new one: an answer of 16 MB takes seconds."""


class HostilePeer:
    """A client that pings the server while a call runs."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.pid = peer.process.pid
        self.answers: dict[int, Any] = {}
        self._others = _pids()

    def call(self, tool: str, **arguments: Any) -> Measured:
        with suppress(OSError):
            Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")  # resets VmHWM
        started, cpu = time.monotonic(), _cpu_s(self.pid)
        number = self.peer.send("tools/call", name=tool, arguments=arguments)
        measured = Measured({}, 0.0)
        seen: set[int] = set()
        while True:
            pinged, used = time.monotonic(), _cpu_s(self.pid)
            self._wait_for(self.peer.send("ping"))
            measured.pings_s.append(time.monotonic() - pinged)
            measured.ping_cpu_s = max(measured.ping_cpu_s, _cpu_s(self.pid) - used)
            for pid, peak in self.children():
                seen.add(pid)
                measured.child_mb = max(measured.child_mb, peak)
            if number in self.answers:
                break
            time.sleep(PING_S)
        measured.result = self.answers[number]["result"]
        measured.call_s = time.monotonic() - started
        measured.cpu_s = _cpu_s(self.pid) - cpu
        measured.peak_mb = _peak_mb(self.pid)
        measured.children = len(seen)
        CALLS[tool, arguments.get("kind", "")] = measured
        return measured

    def children(self) -> list[tuple[int, float]]:
        """Return the ids and the peak in MB of the processes of this server that parse or reduce an answer."""
        return list(_children(self.pid, _pids() - self._others))

    def start(self, tool: str, kind: str) -> int:
        """Call a tool; return the id of the request."""
        return self.peer.send("tools/call", name=tool, arguments={"kind": kind})

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Ping the server until something is so."""
        until = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < until
            self._wait_for(self.peer.send("ping"))
            time.sleep(PING_S / 5)

    def _wait_for(self, number: int) -> None:
        while number not in self.answers:
            message = self.peer.next_message()
            if "method" not in message:
                self.answers[message["id"]] = message


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def _peak_mb(pid: int) -> float:
    return _status_mb(pid, "VmHWM")


def _status_mb(pid: int, name: str) -> float:
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith(name)), 0.0)


def _pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdecimal()}  # noqa: PTH208  names alone


def _children(server: int, pids: set[int]) -> Iterator[tuple[int, float]]:
    for pid in pids:
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            is_child = b"worker_main.py" in command or b"select_main.py" in command
            # Tests run side by side: the children of other servers do not count.
            if is_child and server in _ancestors(pid):
                yield pid, _peak_mb(pid)


def _ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        yield pid


@pytest.fixture(scope="session")
def hostile_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, generated."""
    project = tmp_path_factory.mktemp("hostile")
    (project / "manifest").mkdir()
    shutil.copy(HERE / "hostile.toml", project / "manifest")
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture(scope="module")
def server(hostile_project: Path) -> Iterator[Callable[[], HostilePeer]]:
    """Return a client of the server; of a new one if an earlier test has left a large heap, whose peak would count."""
    with serving() as url, ExitStack() as running:
        env = {
            "HOSTILE_URL": url,
            "HOSTILE_PORT": url.rpartition(":")[2],
            "HOSTILE_TOKEN": TOKEN,
            "HOSTILE_UPSTREAM": hostile_upstream.__file__,
            "PYTHON": sys.executable,
            "PYTHONPATH": str(hostile_project / "generated"),
        }
        clients: list[HostilePeer] = []

        def client() -> HostilePeer:
            if not clients or _status_mb(clients[-1].pid, "VmRSS") > MAX_RESIDENT_MB:
                running.close()
                peer = Peer([sys.executable, "-m", "hostile_server"], "2025-11-25", env=env)
                running.callback(peer.close)
                peer.open()
                clients.append(HostilePeer(peer))
                for tool in ("get", "reduced", "typed", "pages", "program", "remote"):
                    clients[-1].call(tool, kind="fine")  # imports, which are not measured
            return clients[-1]

        yield client


@pytest.fixture
def hostile(server: Callable[[], HostilePeer]) -> HostilePeer:
    """A client of the server."""
    return server()
