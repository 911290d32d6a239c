"""A client of an ASGI application in this process, which sends any headers and bodies, and can disconnect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from oracle import LEGACY
from probes import normal
from starlette.types import ASGIApp
from starlette.types import Message as AsgiMessage

PATIENCE_S = 60.0
BOTH = "application/json, text/event-stream"
ABOUT = {"name": "probe", "version": "0"}


class Exchange:
    """One HTTP request and its response so far."""

    def __init__(self, app: ASGIApp, method: str, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.headers: Mapping[str, str] = {}
        self.event_ids: list[str] = []
        self._scope = {
            "type": "http",
            "method": method,
            "path": "/mcp",
            "query_string": b"",
            "client": ("127.0.0.1", 1),
            "headers": headers,
        }
        self._sent: list[AsgiMessage] = [{"type": "http.request", "body": body, "more_body": False}]
        self._left = asyncio.Event()
        self._received: asyncio.Queue[AsgiMessage | None] = asyncio.Queue()
        self._text = ""
        self._task = asyncio.create_task(self._run(app))

    async def status(self) -> int:
        """Wait for the head of the response."""
        head = await self._next()
        if head is None:
            return 0
        self.headers = {name.decode().lower(): value.decode() for name, value in head["headers"]}
        status: int = head["status"]
        return status

    async def opened(self) -> None:
        """Wait for the id of the first event, which a silent request also gets."""
        while not self.event_ids:
            part = await self._next()
            assert part is not None
            self._add(part)

    async def messages(self) -> AsyncIterator[Any]:
        """Yield the messages of the body, as they arrive."""
        is_stream = "event-stream" in self.headers.get("content-type", "")
        while (part := await self._next()) is not None:
            for message in self._add(part) if is_stream else ():
                yield message
            self._text += "" if is_stream else part.get("body", b"").decode()
        if self._text.startswith("{"):
            yield normal(json.loads(self._text))

    async def rest(self) -> list[Any]:
        """Wait for the end of the response, and return its messages."""
        return [message async for message in self.messages()]

    def leave(self) -> None:
        """Disconnect."""
        self._left.set()

    def cancel(self) -> None:
        """Cancel the task of the request, as an ASGI server may."""
        self._task.cancel()

    async def end(self) -> None:
        """Disconnect, and wait until the application notices it."""
        self.leave()
        self._task.cancel()
        await asyncio.wait((self._task,))

    def _add(self, part: AsgiMessage) -> list[Any]:
        """Return the messages of the events that end with a part of the body."""
        self._text += part.get("body", b"").decode()
        *events, self._text = self._text.split("\r\n\r\n")
        messages = []
        for event in events:
            lines = dict(line.partition(": ")[::2] for line in event.split("\r\n"))
            self.event_ids += [lines["id"]] if lines.get("id") else []
            messages += [normal(json.loads(lines["data"]))] if lines.get("data") else []
        return messages

    async def _run(self, app: ASGIApp) -> None:
        try:
            await app(self._scope, self._receive, self._send)
        finally:
            self._received.put_nowait(None)

    async def _receive(self) -> AsgiMessage:
        if self._sent:
            return self._sent.pop()
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: AsgiMessage) -> None:
        if not self._left.is_set():
            self._received.put_nowait(message)

    async def _next(self) -> AsgiMessage | None:
        async with asyncio.timeout(PATIENCE_S):
            return await self._received.get()


class AsgiClient:
    """A client of 2025-11-25 or earlier; `open` begins its session."""

    def __init__(self, app: ASGIApp, exchanges: list[Exchange]) -> None:
        self._app = app
        self._exchanges = exchanges
        self.headers = {"content-type": "application/json", "accept": BOTH}

    async def open(self, version: str = LEGACY, capabilities: Mapping[str, Any] | None = None) -> Any:
        """Open a session; return the result of `initialize`."""
        params = {"protocolVersion": version, "capabilities": capabilities or {}, "clientInfo": ABOUT}
        opening = self.begin("POST", {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
        assert await opening.status() == 200
        (opened,) = await opening.rest()
        self.headers |= {"mcp-session-id": opening.headers["mcp-session-id"]}
        self.headers |= {"mcp-protocol-version": opened["result"]["protocolVersion"]}
        assert await self.notify("notifications/initialized") == 202
        return opened["result"]

    def begin(self, method: str, body: Any = b"", **changes: str | None) -> Exchange:
        """Send a request with changed headers; None removes one, and `_` in a name is `-`."""
        headers = self.headers | {name.replace("_", "-"): value for name, value in changes.items()}
        lines = [(name.encode(), value.encode("latin-1")) for name, value in headers.items() if value is not None]
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        exchange = Exchange(self._app, method, lines, data)
        self._exchanges.append(exchange)
        return exchange

    def ask(self, method: str, params: Any, identity: Any = 1, **changes: str | None) -> Exchange:
        """Send a request of MCP."""
        optional = {} if params is None else {"params": params}
        return self.begin("POST", {"jsonrpc": "2.0", "id": identity, "method": method, **optional}, **changes)

    def call(self, name: str, identity: Any = 1, /, **arguments: Any) -> Exchange:
        """Call a tool, with a progress token."""
        meta = {"progressToken": "token"}
        return self.ask("tools/call", {"name": name, "arguments": arguments, "_meta": meta}, identity)

    async def notify(self, method: str, params: Any = None) -> int:
        """Send a notification; return the status of the response."""
        optional = {} if params is None else {"params": params}
        return await self.begin("POST", {"jsonrpc": "2.0", "method": method, **optional}).status()

    async def reply(self, request: Any, **members: Any) -> int:
        """Send the response to a request of the server; return the status of the response."""
        return await self.begin("POST", {"jsonrpc": "2.0", "id": request["id"], **members}).status()


@asynccontextmanager
async def asgi_client(app: ASGIApp) -> AsyncIterator[AsgiClient]:
    """Yield a client; end its requests afterwards."""
    exchanges: list[Exchange] = []
    try:
        yield AsgiClient(app, exchanges)
    finally:
        for exchange in exchanges:
            await exchange.end()
