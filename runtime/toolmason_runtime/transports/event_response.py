"""The stream of events that answers a POST request of 2025-11-25 or earlier, written by the task of the request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.streamable_http import EventMessage
from mcp.types import JSONRPCError, JSONRPCResponse
from starlette.types import Receive, Send
from toolmason_runtime.transports.framing import encode_message
from toolmason_runtime.transports.http_lean import PING, PING_S
from toolmason_runtime.wire.parts import is_large, json_parts

START_S: Final = 0.05
"""Seconds until a response begins without an event, so that the client can resume it."""


class EventResponse:
    """A stream of events. Its head and `first` are sent together with the first event, in one packet for most calls."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]], first: bytes) -> None:
        self._send = send
        self._headers = headers
        self._first = first
        self.is_disconnected = False
        """Whether the client has disconnected."""
        self._is_started = False
        self._lock = asyncio.Lock()
        self._start: asyncio.Handle | None = None
        self._watching: asyncio.Task[None] | None = None

    def watch(self, receive: Receive, leave: Callable[[], None]) -> None:
        """Send the head if no event comes, then pings; call `leave` if the client disconnects.

        A request that is answered at once needs no task for it.
        """
        self._start = asyncio.get_running_loop().call_soon(self._start_watching, receive, leave)

    def close(self) -> None:
        """Stop watching the client."""
        if self._start is not None:
            self._start.cancel()
        if self._watching is not None:
            self._watching.cancel()

    async def send_events(self, events: MemoryObjectReceiveStream[EventMessage]) -> bool:
        """Send events up to the response; return False if they end without one."""
        with suppress(anyio.ClosedResourceError):
            async for event in events:
                if await self.send_event(event):
                    return True
        return False

    async def send_event(self, event: EventMessage) -> bool:
        """Send an event; return whether it was the response, which ends the stream."""
        message = event.message
        if isinstance(message, JSONRPCResponse) and is_large(message.result):
            await self._write_parts(_encoded_parts(event, message))
            return True
        is_last = isinstance(message, JSONRPCResponse | JSONRPCError)
        await self.write(_encoded(event), is_last=is_last)
        return is_last

    async def write(self, body: bytes, *, is_last: bool = False) -> None:
        """Write a part of the stream."""
        async with self._lock:
            if not self._is_started:
                self._is_started = True
                body = self._first + body
                # A response of a known length costs less than one in chunks.
                length = [(b"content-length", str(len(body)).encode())] if is_last else []
                await self._send({"type": "http.response.start", "status": 200, "headers": self._headers + length})
            await self._send({"type": "http.response.body", "body": body, "more_body": not is_last})

    async def _write_parts(self, parts: Iterable[bytes]) -> None:
        """Write the last event, one part after another, as fast as the client reads."""
        async with self._lock:
            if not self._is_started:
                self._is_started = True
                await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})
                parts = chain([self._first], parts)
            for part in parts:
                await self._send({"type": "http.response.body", "body": part, "more_body": True})
                await asyncio.sleep(0)
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def _start_watching(self, receive: Receive, leave: Callable[[], None]) -> None:
        self._watching = asyncio.create_task(self._watch(receive, leave))

    async def _watch(self, receive: Receive, leave: Callable[[], None]) -> None:
        wait_s, part = START_S, b""
        while True:
            try:
                async with asyncio.timeout(wait_s):
                    await receive()
            except TimeoutError:
                await self.write(part)
                wait_s, part = PING_S, PING
            else:
                self.is_disconnected = True
                leave()
                return


def _encoded_parts(event: EventMessage, message: JSONRPCResponse) -> Iterator[bytes]:
    yield b"id: %b\r\nevent: message\r\ndata: " % (event.event_id or "").encode()
    for part in json_parts({"jsonrpc": "2.0", "id": message.id, "result": message.result}):
        yield part.encode()
    yield b"\r\n\r\n"


def _encoded(event: EventMessage) -> bytes:
    return b"id: %b\r\nevent: message\r\ndata: %b\r\n\r\n" % (
        (event.event_id or "").encode(),
        encode_message(event.message),
    )
