"""A real HTTP server on loopback, and the server generated from `tracker.toml`, whose tools call it."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from oracle import LEGACY, MODERN, Oracle, watched

HERE = Path(__file__).parent
TOKEN = "s3cret/token+1"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Seen:
    """A request that the server has received."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Reply:
    """An answer of the server. The server waits for `gate` after the first byte of the body."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    gate: threading.Event | None = None
    is_dropped: bool = False


class Tracker(ThreadingHTTPServer):
    """Answers with the replies of each path, the last one again and again."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[Seen] = []
        self.replies: dict[str, list[Reply]] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str, *replies: Any, **options: Any) -> None:
        """Set the answers of a path: JSON values or replies."""
        rest = options.pop("headers", {})
        self.replies[path] = [
            reply
            if isinstance(reply, Reply)
            else Reply(body=json.dumps(reply).encode(), headers={"content-type": "application/json", **rest}, **options)
            for reply in replies
        ]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Tracker

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append(Seen(self.command, self.path, headers, body))
        replies = self.server.replies.get(self.path.partition("?")[0], [Reply(404, b'{"message": "none"}')])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        if reply.is_dropped:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in {"content-length": str(len(reply.body)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(reply.body[:1])
        if reply.gate:
            reply.gate.wait(30)
        try:
            self.wfile.write(reply.body[1:])
        except OSError:  # the client has closed the connection
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  names of the base class

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature of the base class
        pass


@pytest.fixture
def tracker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tracker]:
    """The server that the variables of the API name."""
    yield from _running(monkeypatch, "TRACKER_URL")


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[Tracker]:
    """Another server, at another port."""
    yield from _running(monkeypatch, "OTHER_URL")


def _running(monkeypatch: pytest.MonkeyPatch, variable: str) -> Iterator[Tracker]:
    with Tracker() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        monkeypatch.setenv(variable, server.url)
        monkeypatch.setenv("TRACKER_TOKEN", TOKEN)
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def tracker_project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, generated."""
    project = tmp_path_factory.mktemp("tracker")
    (project / "manifest").mkdir()
    shutil.copy(HERE / "tracker.toml", project / "manifest")
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    return project


@pytest.fixture
def build_server(tracker_project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """The function that builds the generated server; its packages are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tracker_project / "generated"))
    yield importlib.import_module("tracker_server.server").build_server
    for name in [name for name in sys.modules if name.partition(".")[0] == "tracker_server"]:
        del sys.modules[name]


Talk = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
def talking(tracker: Tracker, build_server: Callable[..., Any]) -> Talk:  # noqa: ARG001  its variables
    """Open a client; the oracle checks every message."""

    @asynccontextmanager
    async def talk(mode: str = MODERN, commands: Any = None, **options: Any) -> AsyncIterator[Client]:
        oracle = Oracle(LEGACY if mode == "legacy" else MODERN)
        async with Client(watched(build_server(commands=commands), oracle), mode=mode, **options) as client:
            yield client

    return talk
