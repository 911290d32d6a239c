"""Sessions of clients of 2025-11-25 and earlier over streamable HTTP, faster than those of the SDK.

The SDK starts five tasks for the response of each request. Here the task of the request writes its events itself. That
needs private names of the SDK, so importing this module raises ImportError if one of them is missing or has changed.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from inspect import signature
from itertools import chain
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
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from toolmason_runtime.transports.framing import MESSAGE, encode_message, validate_bodies
from toolmason_runtime.transports.http_lean import PING, PING_S, LeanRequests, LeanServer
from toolmason_runtime.transports.limits import MAX_SESSIONS, client_of, client_share
from toolmason_runtime.transports.peers import Peers
from toolmason_runtime.transports.replay import RecentEvents
from toolmason_runtime.transports.sdk_sessions import RETRY_MS, SdkSessions
from toolmason_runtime.wire.parts import is_large, json_parts

START_S: Final = 0.05
"""Seconds until a response begins without an event, so that the client can resume it."""
_BUFFERED_EVENTS: Final = 16
_MAX_SEARCHED_CLIENTS: Final = 5
"""Clients with most sessions, of which one loses an idle session."""
_client: ContextVar[str] = ContextVar("client", default="")
"""The client whose request is handled."""
_METHODS: Final = {
    StreamableHTTPSessionManager: {
        "_admit_session": ["self", "requestor"],
        "_handle_request": ["self", "scope", "receive", "send"],
    },
    StreamableHTTPServerTransport: {
        "_handle_post_request": ["self", "scope", "request", "receive", "send"],
        "_check_content_type": ["self", "request"],
        "_create_session_message": ["self", "message", "request", "request_id", "protocol_version"],
        "_mint_priming_event": ["self", "stream_id", "protocol_version"],
    },
}
"""The private methods of the SDK that are called or replaced here, with their parameters."""
_ATTRIBUTES: Final = {
    StreamableHTTPSessionManager: {"_server_instances", "_session_owners"},
    StreamableHTTPServerTransport: {"_request_streams", "_read_stream_writer", "idle_scope"},
}


def _check_sdk() -> None:
    """Raise ImportError if the SDK lacks a private name or has changed a method."""
    for owner, methods in _METHODS.items():
        unknown = _ATTRIBUTES[owner] - {*dir(owner), *vars(owner)["__init__"].__code__.co_names}
        changed = {
            name
            for name, parameters in methods.items()
            if not hasattr(owner, name) or list(signature(getattr(owner, name)).parameters) != parameters
        }
        if unknown or changed:
            raise ImportError(f"{owner.__name__} of the SDK has changed: {', '.join(sorted(unknown | changed))}")


_check_sdk()


class Sessions(SdkSessions):
    """Sessions whose requests are answered here. With `lean`, its engine answers the requests of 2026-07-28."""

    def __init__(
        self,
        server: Server[Any],
        peers: Peers | None = None,
        max_client_sessions: int = client_share(MAX_SESSIONS),
        lean: LeanServer | None = None,
    ) -> None:
        super().__init__(server)
        self._peers = peers
        self._max_client_sessions = max_client_sessions
        self._validated = validate_bodies(LeanRequests(lean, self._handle_request) if lean else self._handle_request)

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, or pass it to the process that has its session."""
        _client.set(client_of(scope))
        session_id = Headers(scope=scope).get(MCP_SESSION_ID_HEADER)
        if self._peers and session_id and (owner := self._peers.owner(session_id)):
            await self._peers.forward(owner, scope, receive, send)
        else:
            await super()._handle_request(scope, receive, send)

    def _admit_session(self, requestor: Any) -> StreamableHTTPServerTransport | None:
        client = _client.get()
        if not self._make_room(client):
            return None
        identity = self._peers.new_id() if self._peers else uuid4().hex
        session = _Session(
            identity, event_store=RecentEvents(), retry_interval=RETRY_MS, idle_timeout=self.session_idle_timeout
        )
        session.client = client
        if requestor is not None:
            # The SDK answers requests of other principals with 404.
            self._session_owners[identity] = requestor
        self._server_instances[identity] = session
        return session

    def _make_room(self, client: str) -> bool:
        """Return whether `client` may open another session, after the end of one that is idle.

        A client that has its quota loses its own; if all places are taken, the client with most sessions loses one.
        """
        sessions = [session for session in self._server_instances.values() if isinstance(session, _Session)]
        counts = Counter(session.client for session in sessions)
        if client and counts[client] >= self._max_client_sessions:
            return self._end_idle(sessions, client)
        if len(sessions) < MAX_SESSIONS:
            return True
        return any(self._end_idle(sessions, other) for other, _ in counts.most_common(_MAX_SEARCHED_CLIENTS))

    def _end_idle(self, sessions: list[_Session], client: str) -> bool:
        """End the session of `client` without a running request or stream that was not used for longest."""
        idle = [session for session in sessions if session.client == client and session.is_idle]
        if not idle:
            return False
        oldest = min(idle, key=_Session.last_used)
        identity = oldest.mcp_session_id or ""
        self._server_instances.pop(identity, None)
        self._session_owners.pop(identity, None)
        assert oldest.idle_scope is not None  # noqa: S101  it is idle
        oldest.idle_scope.cancel()  # the task of the session ends, as after half an hour
        return True


class _Session(StreamableHTTPServerTransport):
    """One session. The SDK handles everything except the requests of an open session."""

    client = ""
    """The client that opened it."""

    @property
    def is_idle(self) -> bool:
        """Whether it has neither a running request nor an open stream."""
        return self.idle_scope is not None and self.last_used() < math.inf

    def last_used(self) -> float:
        """Return the time at which it ends for being idle: the later, the later it was used; infinite while it is."""
        return self.idle_scope.deadline if self.idle_scope else math.inf

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
        first_event = await self._mint_priming_event(stream, version)
        first = f"id: {first_event['id']}\r\ndata: \r\nretry: {RETRY_MS}\r\n\r\n".encode() if first_event else b""
        sender, events = anyio.create_memory_object_stream[EventMessage](_BUFFERED_EVENTS)
        self._request_streams[stream] = sender, events
        response = _EventResponse(send, self._headers(), first)
        watching = asyncio.create_task(_watch(request.receive, response, sender))
        try:
            # The session, or a client that disconnects, closes the streams.
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                assert self._read_stream_writer is not None  # noqa: S101  the session is open
                await self._read_stream_writer.send(self._create_session_message(message, request, stream, version))
                async for event in events:
                    is_last = isinstance(event.message, JSONRPCResponse | JSONRPCError)
                    if isinstance(event.message, JSONRPCResponse) and is_large(event.message.result):
                        await response.write_parts(_encoded_parts(event, event.message))
                    else:
                        await response.write(_encoded(event), is_last=is_last)
                    if is_last:
                        return
            await response.write(b"", is_last=True)
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


class _EventResponse:
    """A stream of events. Its head and `first` are sent with the first event: one packet for most calls."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]], first: bytes) -> None:
        self._send = send
        self._headers = headers
        self._first = first
        self._is_started = False
        self._lock = asyncio.Lock()

    async def write(self, body: bytes, *, is_last: bool = False) -> None:
        async with self._lock:
            if not self._is_started:
                self._is_started = True
                await self._send({"type": "http.response.start", "status": 200, "headers": self._headers})
                body = self._first + body
            await self._send({"type": "http.response.body", "body": body, "more_body": not is_last})

    async def write_parts(self, parts: Iterable[bytes]) -> None:
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


async def _watch(receive: Receive, response: _EventResponse, sender: MemoryObjectSendStream[EventMessage]) -> None:
    """Send the head if no event comes, then pings, and close the stream if the client disconnects."""
    wait_s, part = START_S, b""
    while True:
        try:
            async with asyncio.timeout(wait_s):
                await receive()
        except TimeoutError:
            await response.write(part)
            wait_s, part = PING_S, PING
        else:
            sender.close()
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
