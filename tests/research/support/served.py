"""The whole server with research in it: a process at the other end of the official client, and one without a process.

    async with served(environ, project) as server:               # `python -m workbench_server` over stdio
        answer = await server.call("quick_query", prompt="...")
    with serving_http(environ, project) as address:              # the same over HTTP
        ...
    async with inside(project) as dispatcher:                    # the dispatcher in this process and its environment
        ...

Every message is held against MCP, and every structured result against its tool's `outputSchema`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from fake_cli import Fake
from gemini_homes import KEY
from listed_schemas import assert_fits
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ListRootsResult, Root, TextContent
from oracle import LEGACY, MODERN, Oracle
from pydantic import FileUrl
from toolmason_runtime.calls.call import Level
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.selection import Selection

from workbench_server.catalogue import CATALOGUE
from workbench_server.options import Options
from workbench_server.server import build_dispatcher

PATIENCE_S: Final = 30.0
"""How long a test waits for what must happen; the machine may be slow."""
APPENDIX_B: Final = {
    "INVALID_ARGUMENT",
    "PATH_NOT_ALLOWED",
    "GEMINI_CLI_NOT_FOUND",
    "GEMINI_CLI_ERROR",
    "AUTH_MISSING",
    "QUOTA_EXCEEDED",
    "CACHE_EXPIRED",
    "INVALID_CHUNK_INDEX",
    "INTERNAL",
}
_OLD: Final = "legacy"

Ear = Callable[[Any, Oracle], AbstractAsyncContextManager[Any]]


@dataclass(frozen=True)
class Said:
    """What a tool answered."""

    is_error: bool
    texts: tuple[str, ...]
    data: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, tool: str, result: CallToolResult | Mapping[str, Any]) -> Said:
        """Take a result, however it came, and hold it to what its tool promises."""
        if isinstance(result, CallToolResult):
            texts = tuple(each.text for each in result.content if isinstance(each, TextContent))
            said = cls(bool(result.is_error), texts, result.structured_content or {})
        else:
            texts = tuple(each["text"] for each in result["content"])
            said = cls(bool(result.get("isError")), texts, result.get("structuredContent", {}))
        entry = CATALOGUE["tools"].get(tool)
        schema = entry["tool"].get("outputSchema") if entry else None
        if entry and schema and not said.is_error:
            assert_fits(tool, said.data)
            assert json.loads(said.texts[0]) == said.data, "some clients show a model the text alone"
        return said

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def error(self) -> dict[str, Any]:
        """The error, in the form of the specification: one block of JSON, without structure beside it."""
        assert self.is_error, self.text[:500]
        assert not self.data
        (text,) = self.texts
        whole = json.loads(text)
        assert whole.keys() == {"error"}
        error: dict[str, Any] = whole["error"]
        assert {"code", "message"} <= error.keys() <= {"code", "message", "details"}
        assert error["code"] in APPENDIX_B | {"STILL_RUNNING"}, error
        return error


@dataclass
class Server:
    """A server that runs, as its client sees it."""

    client: Client
    log: Path
    oracle: Oracle

    @property
    def heard(self) -> list[dict[str, Any]]:
        """Give every message of the server so far, as it came."""
        return list(self.oracle.seen)

    async def call(
        self,
        tool: str,
        /,
        *,
        told: Callable[[str], None] | None = None,
        timeout_s: float = PATIENCE_S,
        **arguments: Any,
    ) -> Said:
        """Call a tool; `told` is given the messages of progress, which must grow."""
        last = -1.0

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            nonlocal last
            assert total is None
            assert progress > last, (progress, last)
            last = progress
            if told is not None:
                told(message or "")

        with anyio.fail_after(timeout_s):
            result = await self.client.call_tool(tool, arguments, progress_callback=tell if told else None)
        return Said.of(tool, result)

    def logged(self) -> str:
        return self.log.read_text(encoding="utf-8")


def environment(home: Path, *programs: Fake | Path, **more: str) -> dict[str, str]:
    """Give the whole environment of a server that finds these programs, which has a key and does not wait long."""
    directories = [str(each.directory if isinstance(each, Fake) else each) for each in programs]
    home.mkdir(exist_ok=True)
    return {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "PATH": os.pathsep.join([*directories, "/usr/bin", "/bin"]),
        "LANG": "C.UTF-8",
        "GEMINI_API_KEY": KEY,
        "WORKBENCH_RESEARCH": "gemini-cli",
        "WORKBENCH_STATE": "/dev/null/state",  # no answer is kept: equal questions are asked again
        "GEMINI_RETRY_INITIAL_DELAY": "0.01",
        **more,
    }


def settle(monkeypatch: pytest.MonkeyPatch, environ: Mapping[str, str]) -> None:
    """Let this process have an environment, and nothing else of its own but what Python needs."""
    for name in list(os.environ):
        if name.startswith(("GEMINI_", "GOOGLE_", "WORKBENCH_", "RESPONSE_", "XDG_")):
            monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


@asynccontextmanager
async def served(
    environ: Mapping[str, str],
    project: Path,
    *arguments: str,
    overheard: Ear,
    mode: str = MODERN,
    styles: Sequence[str] = ("--classic", "--all"),
    directories: Sequence[Path] | None = None,
) -> AsyncIterator[Server]:
    """Run the server with `arguments` and connect the official client to it; its log is a file.

    With `directories` the client says which ones it works in, and the server was told of none.
    """
    root = ["--root", str(project)] if directories is None else []
    command = [sys.executable, "-m", "workbench_server", *root, *styles, *arguments]
    async with serve(command, environ, project, overheard=overheard, mode=mode, directories=directories) as server:
        yield server


@asynccontextmanager
async def serve(
    command: Sequence[str],
    environ: Mapping[str, str],
    project: Path,
    *,
    overheard: Ear,
    mode: str = MODERN,
    directories: Sequence[Path] | None = None,
) -> AsyncIterator[Server]:
    """Run a command that is the server, as `served` does."""
    log = project.parent / f"log-{time.monotonic_ns()}.txt"
    parameters = StdioServerParameters(command=command[0], args=list(command[1:]), env=dict(environ), cwd=project)
    oracle = Oracle(LEGACY if mode == _OLD else MODERN)

    async def roots(context: Any) -> ListRootsResult:
        del context  # the callback's one argument
        return ListRootsResult(roots=[Root(uri=FileUrl(each.as_uri())) for each in directories or ()])

    with log.open("w", encoding="utf-8") as file:
        transport = overheard(stdio_client(parameters, errlog=file), oracle)
        async with Client(transport, mode=mode, list_roots_callback=None if directories is None else roots) as client:
            yield Server(client, log, oracle)


@contextmanager
def serving_http(environ: Mapping[str, str], project: Path) -> Iterator[str]:
    """Run the server over HTTP on a free port and give its address."""
    command = [sys.executable, "-m", "workbench_server", "--root", str(project), "--classic", "--http", "--port", "0"]
    with (project.parent / "http-log.txt").open("w+", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log, env=dict(environ), cwd=project)
        try:
            yield _address(process, Path(log.name))
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    ends = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends and process.poll() is None:
        if found := re.search(r"serving MCP at (http://\S+:\d+/mcp)\n", log.read_text(encoding="utf-8")):
            return found[1]
        time.sleep(0.02)
    raise AssertionError(log.read_text(encoding="utf-8"))


@dataclass
class Near:
    """The far end of a call in this process: what it was told."""

    told: list[tuple[float, str]] = field(default_factory=list)
    operation_id: str = "1"
    is_local: bool = True
    principal: None = None
    client_name: str = "toolmason"
    is_modern: bool = False
    answered: tuple[str, ...] = ()
    has_progress_token: bool = True
    capabilities: Mapping[str, Any] = field(default_factory=dict)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        assert not self.told or progress > self.told[-1][0]
        self.told.append((progress, message or ""))

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        raise AssertionError((level, data, logger))

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        raise AssertionError((key, method, params))


@dataclass
class Inside:
    """The dispatcher in this process."""

    dispatcher: Dispatcher

    async def call(self, tool: str, /, *, client: Near | None = None, **arguments: Any) -> Said:
        with anyio.fail_after(PATIENCE_S):
            return await self.unbounded(tool, client, arguments)

    async def unbounded(self, tool: str, client: Near | None, arguments: Mapping[str, Any]) -> Said:
        """Call a tool, to be cancelled from outside."""
        params = {"name": tool, "arguments": dict(arguments)}
        return Said.of(tool, await self.dispatcher.dispatch("tools/call", params, client or Near()))


@asynccontextmanager
async def inside(project: Path, *, style: str = "classic", state: Sequence[object] = ()) -> AsyncIterator[Inside]:
    """Run the server's dispatcher in this process, and in its environment: see `settle`."""
    selection = Selection(style, all_tools=True)
    dispatcher = build_dispatcher(selection, state=state, options=Options(root=(str(project),)))
    try:
        yield Inside(dispatcher)
    finally:
        await dispatcher.aclose()


async def until(condition: Callable[[], Any], what: str = "") -> None:
    """Let time pass until something is so: other processes do not tell when it is."""
    with anyio.move_on_after(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await anyio.sleep(0.02)
    assert condition(), what or "it did not happen"


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has buried does not."""
    try:
        os.kill(pid, 0)
        if sys.platform != "linux":
            return True
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {b"Z", b"X"}
