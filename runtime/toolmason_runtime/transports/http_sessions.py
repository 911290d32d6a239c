"""Sessions of clients of 2025-11-25 and earlier over streamable HTTP.

The SDK starts five tasks for the response of each request. Here the task of the request writes its events itself.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import (
    CONTENT_TYPE_SSE,
    MCP_SESSION_ID_HEADER,
    EventMessage,
    StreamableHTTPServerTransport,
    check_accept_headers,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.types import DEFAULT_NEGOTIATED_VERSION, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from toolmason_runtime.transports.framing import MESSAGE, encode_message, validate_bodies
from toolmason_runtime.transports.replay import RecentEvents

RETRY_MS: Final = 500
"""Milliseconds until a client that lost its connection should reconnect."""
MAX_SESSIONS: Final = 1000
"""Maximum concurrent sessions, 40 kB each. The SDK ends a session that is idle for half an hour."""
PING_S: Final = 15.0
"""Seconds between comments that keep a connection open while a request runs."""
_BUFFERED_EVENTS: Final = 16
_PING: Final = b": ping\r\n\r\n"


class Sessions(StreamableHTTPSessionManager):
    """The SDK's sessions, with validated bodies; each session has an event store of its own."""

    def __init__(self, server: Server[Any]) -> None:
        super().__init__(server, max_sessions=MAX_SESSIONS)
        self._validated = validate_bodies(self._handle_request)

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request of either era."""
        await self._validated(scope, receive, send)

    def _admit_session(self, requestor: Any) -> StreamableHTTPServerTransport | None:  # noqa: ARG002  there are no users
        if len(self._server_instances) >= MAX_SESSIONS:
            return None
        identity = uuid4().hex
        session = _Session(
            identity, event_store=RecentEvents(), retry_interval=RETRY_MS, idle_timeout=self.session_idle_timeout
        )
        self._server_instances[identity] = session
        return session

    async def end(self) -> None:
        """Terminate the sessions as their clients do.

        If `run` cancelled them, each running call would try for a second to write to its closed stream.
        """
        await asyncio.gather(*(session.terminate() for session in list(self._server_instances.values())))


class _Session(StreamableHTTPServerTransport):
    """One session; everything but the requests of an open session is handled by the SDK."""

    async def _handle_post_request(self, scope: Scope, request: Request, receive: Receive, send: Send) -> None:
        message = scope.get(MESSAGE)
        # The SDK answers the requests that it refuses.
        is_accepted = (
            request.headers.get(MCP_SESSION_ID_HEADER) == self.mcp_session_id
            and check_accept_headers(request) == (True, True)
            and self._check_content_type(request)
        )
        if isinstance(message, JSONRPCRequest) and message.method != "initialize" and is_accepted:
            await receive()  # the body, of which `message` was made
            await self._answer(message, request, send)
        else:
            await super()._handle_post_request(scope, request, receive, send)

    async def _answer(self, message: JSONRPCRequest, request: Request, send: Send) -> None:
        """Pass a request to the server, and send its events up to its response."""
        stream = str(message.id)
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
        first = await self._mint_priming_event(stream, version)
        sender, events = anyio.create_memory_object_stream[EventMessage](_BUFFERED_EVENTS)
        self._request_streams[stream] = sender, events
        watching = asyncio.create_task(_watch(request.receive, send, sender))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self._headers()})
            if first is not None:
                await _send_part(send, f"id: {first['id']}\r\ndata: \r\nretry: {RETRY_MS}\r\n\r\n".encode())
            is_answered = False
            # The session, or a client that disconnects, closes the streams.
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                assert self._read_stream_writer is not None  # noqa: S101  the session is open
                await self._read_stream_writer.send(self._create_session_message(message, request, stream, version))
                async for event in events:
                    is_answered = isinstance(event.message, JSONRPCResponse | JSONRPCError)
                    await _send_part(send, _encoded(event), is_last=is_answered)
                    if is_answered:
                        break
            if not is_answered:
                await _send_part(send, b"", is_last=True)
        finally:
            watching.cancel()
            if self._request_streams.get(stream) == (sender, events):
                del self._request_streams[stream]
            sender.close()
            events.close()

    def _headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"cache-control", b"no-cache, no-transform"),
            (b"connection", b"keep-alive"),
            (b"content-type", CONTENT_TYPE_SSE.encode()),
            (MCP_SESSION_ID_HEADER.encode(), (self.mcp_session_id or "").encode()),
            (b"x-accel-buffering", b"no"),
        ]


async def _watch(receive: Receive, send: Send, sender: MemoryObjectSendStream[EventMessage]) -> None:
    """Send pings, and close the stream if the client disconnects; it can resume the stream later."""
    while True:
        try:
            async with asyncio.timeout(PING_S):
                await receive()
        except TimeoutError:
            await _send_part(send, _PING)
        else:
            sender.close()
            return


def _encoded(event: EventMessage) -> bytes:
    return b"id: %b\r\nevent: message\r\ndata: %b\r\n\r\n" % (
        (event.event_id or "").encode(),
        encode_message(event.message),
    )


async def _send_part(send: Send, body: bytes, *, is_last: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": not is_last})
