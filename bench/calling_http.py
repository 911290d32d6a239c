"""Calls over streamable HTTP, of our server and of those of its peers.

All check the host, the bearer token and the envelope of the request. All store events for clients that resume, except
the server of the TypeScript SDK: its handler for both eras has no sessions.
"""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from bench.clock import measure_process
from bench.contestants import BARE, FASTMCP, OURS, Contestants
from bench.peers import GO, TYPESCRIPT, Peers
from bench.rivals import wire_table, write_bare_http, write_fastmcp_http, write_table
from bench.rounds import Cost, Ratio, alternate, ratio
from bench.session import TIMEOUT_S, Program, SessionError, Workspace

ERAS: Final = ("2026-07-28", "2025-11-25")
"""The era without sessions, and the last one with a handshake."""
CLIENTS: Final = (1, 16, 64)
CALLS: Final = 512
"""Calls of one round, by all clients together."""
SHORT_CALLS: Final = 64
_TOKEN: Final = "a-token-for-the-benchmark"  # noqa: S105  not a secret
_OK: Final = b"HTTP/1.1 200"
_DONE: Final = b"done"
_ABOUT: Final = {"name": "bench", "version": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCalls:
    """The costs of one call in one era, with a number of clients, by program and round.

    `refused` has the reason of each peer that does not serve the era.
    """

    era: str
    clients: int
    costs: dict[str, list[Cost]]
    refused: dict[str, str]

    def speedup(self, label: str) -> Ratio:
        """Compare the calls per second with those of the bare SDK server."""
        return ratio(self.costs[BARE], self.costs[label])


def measure_http_calls(
    workspace: Workspace, peers: Peers, compared: Contestants, rounds: int, *, is_short: bool = False
) -> tuple[HttpCalls, ...]:
    """Call one tool with every number of clients in both eras, all servers in turn.

    Raises:
        SessionError: a server did not start, or a call failed.
    """
    others = compared.project.directory.parent / "others"
    table = wire_table(compared.project.generated)
    token_file = workspace.directory / "token"
    token_file.write_text(_TOKEN, encoding="ascii")
    token_file.chmod(0o600)
    programs = {
        OURS: compared.ours("--classic", "--http", "--token-file", str(token_file), "--port"),
        BARE: Program(BARE, write_bare_http(others, table, _TOKEN), (), (others,)),
        FASTMCP: Program(FASTMCP, write_fastmcp_http(others, compared.project.tools, _TOKEN), (), (others,)),
    }
    path = str(write_table(others, table))
    for label in (TYPESCRIPT, GO):
        if label in peers.commands:
            programs[label] = Program(label, "", command=(*peers.commands[label], path, _TOKEN))
    tool = next(tool for tool in compared.project.tools if tool.reads)
    call = {"name": tool.name, "arguments": tool.arguments}
    with ExitStack() as stack:
        servers = {label: stack.enter_context(_serving(workspace, program)) for label, program in programs.items()}
        calls = SHORT_CALLS if is_short else CALLS
        return tuple(_compare(servers, _Load(era, clients, calls, call), rounds) for era in ERAS for clients in CLIENTS)


@dataclass(frozen=True, slots=True)
class _Load:
    """Calls of one round, by all clients together."""

    era: str
    clients: int
    calls: int
    call: dict[str, Any]


def _compare(servers: Mapping[str, _Server], load: _Load, rounds: int) -> HttpCalls:
    refused: dict[str, str] = {}
    for label, server in servers.items():
        try:
            _burst(server, replace(load, calls=load.clients))
        except SessionError as error:
            if label in {OURS, BARE}:
                raise
            refused[label] = str(error).splitlines()[-1][:200]
    work = {label: partial(_burst, server, load) for label, server in servers.items() if label not in refused}
    return HttpCalls(era=load.era, clients=load.clients, costs=alternate(rounds, work), refused=refused)


@dataclass(frozen=True, slots=True)
class _Server:
    process: subprocess.Popen[bytes]
    port: int


@contextmanager
def _serving(workspace: Workspace, program: Program) -> Iterator[_Server]:
    """Start `program` with a free port as its last argument, and end it afterwards."""
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    with workspace.directory.joinpath(f"stderr-{port}").open("w+b") as stderr:
        process = subprocess.Popen(  # noqa: S603  a program of the benchmark
            [*(program.command or (program.python, "-m", program.module, *program.arguments)), str(port)],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=workspace.directory,
            env=workspace.environment(*program.import_path),
        )
        try:
            _wait_until_open(process, port, program)
            yield _Server(process, port)
        except (SessionError, OSError) as error:
            stderr.seek(0)
            raise SessionError(f"{error}\n{stderr.read().decode('utf-8', 'replace')[-2000:]}") from error
        finally:
            process.kill()
            process.wait()


def _wait_until_open(process: subprocess.Popen[bytes], port: int, program: Program) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise SessionError(f"{program.label} did not start")


def _burst(server: _Server, load: _Load) -> Cost:
    """Return the cost of one call."""
    return asyncio.run(_call_all(server, load))


async def _call_all(server: _Server, load: _Load) -> Cost:
    """Call with every client at once, each waiting for its answer before its next call."""
    loop = asyncio.get_running_loop()
    opened = [await loop.create_connection(_Client, "127.0.0.1", server.port) for _ in range(load.clients)]
    count = load.calls // load.clients
    async with asyncio.timeout(TIMEOUT_S):
        try:
            requests = [await _prepared(client, server.port, load.era, load.call) for _, client in opened]
            with measure_process(server.process.pid) as timer:
                await asyncio.gather(
                    *(client.repeat(request, count) for (_, client), request in zip(opened, requests, strict=True))
                )
        finally:
            for transport, _ in opened:
                transport.close()
    return timer.cost / (count * load.clients)


async def _prepared(client: _Client, port: int, era: str, call: dict[str, Any]) -> bytes:
    """Return the request of a call, after the handshake if the era has one."""
    headers = {
        "Host": f"127.0.0.1:{port}",
        "Authorization": f"Bearer {_TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": era,
    }
    if era == ERAS[0]:
        about = {"protocolVersion": era, "clientInfo": _ABOUT, "clientCapabilities": {}}
        meta = {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}
        routing = {"Mcp-Method": "tools/call", "Mcp-Name": call["name"]}
        return _request(headers | routing, "tools/call", call | {"_meta": meta}, 1)
    opening = {"protocolVersion": era, "capabilities": {}, "clientInfo": _ABOUT}
    head, _ = await client.ask(_request(headers, "initialize", opening, 0))
    for line in head.split("\r\n"):
        if line.lower().startswith("mcp-session-id:"):
            headers["Mcp-Session-Id"] = line.partition(":")[2].strip()
    await client.ask(_request(headers, "notifications/initialized", {}, None))
    return _request(headers, "tools/call", call, 1)


def _request(headers: Mapping[str, str], method: str, params: dict[str, Any], number: int | None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    body = json.dumps(message, separators=(",", ":")).encode()
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


class _Client(asyncio.Protocol):
    """A connection that is kept open, as cheap as possible: the client runs on the same machine."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._request = b""
        self._remaining = 0
        """Answers to `_request` that are still expected."""
        self._last: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        """Send the request again after each expected answer. A task for that would add to the measured time."""
        self._received += data
        if self._last is None or not _is_complete(self._received):
            return
        answer = bytes(self._received)
        self._received.clear()
        self._remaining -= 1
        if self._remaining and answer.startswith(_OK) and _DONE in answer:
            self._transport.write(self._request)
        else:
            self._last.set_result(answer)
            self._last = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._last is not None:
            self._last.set_exception(SessionError(f"a server closed its connection: {exc}"))

    async def ask(self, request: bytes, count: int = 1) -> tuple[str, bytes]:
        """Send a request `count` times; return head and body of the last answer, or of the first unexpected one."""
        self._last = answer = asyncio.get_running_loop().create_future()
        self._request, self._remaining = request, count
        self._transport.write(request)
        head, _, body = (await answer).partition(b"\r\n\r\n")
        if not head.startswith((_OK, b"HTTP/1.1 202")) or b'"error"' in body:
            raise SessionError(f"{head.decode('latin-1')}\n{body.decode('utf-8', 'replace')[:500]}")
        return head.decode("latin-1"), body

    async def repeat(self, request: bytes, count: int) -> None:
        """Send the same call `count` times, each after the answer to the one before."""
        _, body = await self.ask(request, count)
        if _DONE not in body or self._remaining:
            raise SessionError(f"unexpected result: {body[:500]!r}")


def _is_complete(received: bytearray) -> bool:
    head, separator, body = received.partition(b"\r\n\r\n")
    head = head.lower()
    if b"transfer-encoding: chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
    return bool(separator) and len(body) >= int(length or 0)
