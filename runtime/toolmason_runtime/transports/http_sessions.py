"""Sessions of clients of 2025-11-25 and earlier over streamable HTTP, faster than those of the SDK.

The SDK starts five tasks for the response of each request. Here the task of the request writes its events itself, and
answers most requests (`lean_session`). That needs private names of the SDK, so importing this module raises ImportError
if one of them is missing or has changed.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from contextlib import suppress
from contextvars import ContextVar
from inspect import signature
from typing import Any, Final
from uuid import uuid4

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import (
    CONTENT_TYPE_SSE,
    MCP_SESSION_ID_HEADER,
    EventMessage,
    StreamableHTTPServerTransport,
)
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import MCP_PROTOCOL_VERSION_HEADER
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher, _InFlight, _JSONRPCDispatchContext
from mcp.shared.message import SessionMessage
from mcp.types import DEFAULT_NEGOTIATED_VERSION, JSONRPCRequest
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send
from toolmason_runtime.transports.event_response import EventResponse
from toolmason_runtime.transports.framing import MESSAGE, validate_bodies
from toolmason_runtime.transports.http_lean import OPENED, LeanRequests, LeanServer, accepts_both
from toolmason_runtime.transports.lean_session import LeanSession
from toolmason_runtime.transports.limits import MAX_SESSIONS, client_of, client_share
from toolmason_runtime.transports.peers import Peers
from toolmason_runtime.transports.replay import RecentEvents
from toolmason_runtime.transports.sdk_sessions import RETRY_MS, SdkSessions

_BUFFERED_EVENTS: Final = 16
_CANCELLATION_S: Final = 0.1
"""Maximum seconds to store the error of a cancelled request."""
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
        "_terminate_unanswered_request": ["self", "request_id"],
    },
    _InFlight: {"__init__": ["self", "scope", "dctx"]},
    _JSONRPCDispatchContext: {"close": ["self"]},
}
"""The private methods of the SDK that are called or replaced here, with their parameters."""
_ATTRIBUTES: Final = {
    StreamableHTTPSessionManager: {"_server_instances", "_session_owners"},
    StreamableHTTPServerTransport: {
        *("_request_streams", "_read_stream_writer", "_write_stream", "_event_store", "idle_scope"),
    },
    JSONRPCDispatcher: {"_in_flight"},
    _JSONRPCDispatchContext: {"cancel_requested"},
}


def _check_sdk() -> None:
    """Raise ImportError if the SDK lacks a private name or has changed a method."""
    for owner in _METHODS.keys() | _ATTRIBUTES.keys():
        unknown = _ATTRIBUTES.get(owner, set()) - {*dir(owner), *vars(owner)["__init__"].__code__.co_names}
        changed = {
            name
            for name, parameters in _METHODS.get(owner, {}).items()
            if not hasattr(owner, name) or list(signature(getattr(owner, name)).parameters) != parameters
        }
        if unknown or changed:
            raise ImportError(f"{owner.__name__} of the SDK has changed: {', '.join(sorted(unknown | changed))}")


_check_sdk()


class Sessions(SdkSessions):
    """Sessions whose requests are answered here. With `lean`, the lean engine answers the valid ones of both eras."""

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
        self._lean = lean
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
        session.lean = LeanSession(self._lean) if self._lean else None
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
    lean: LeanSession | None = None
    """Answers its valid requests; without it, the SDK answers them."""

    @property
    def is_idle(self) -> bool:
        """Whether it has neither a running request nor an open stream."""
        return self.idle_scope is not None and self.last_used() < math.inf

    def last_used(self) -> float:
        """Return the time at which it ends for being idle: the later, the later it was used; infinite while it is."""
        return self.idle_scope.deadline if self.idle_scope else math.inf

    async def terminate(self) -> None:
        """End the session and its running requests."""
        if self.lean is not None:
            self.lean.end()
        await super().terminate()

    async def _handle_post_request(self, scope: Scope, request: Request, receive: Receive, send: Send) -> None:
        message = scope.get(MESSAGE)
        # The SDK answers the requests that it refuses.
        is_accepted = (
            request.headers.get(MCP_SESSION_ID_HEADER) == self.mcp_session_id
            and accepts_both(request.headers.get("accept", ""))
            and self._check_content_type(request)
        )
        if isinstance(message, JSONRPCRequest) and message.method != "initialize" and is_accepted:
            await receive()  # the body, of which `message` was made
            await self._answer(message, request, send)
            return
        if self.lean is not None:
            scope[OPENED] = self.lean.open
        await super()._handle_post_request(scope, request, receive, send)

    async def _answer(self, message: JSONRPCRequest, request: Request, send: Send) -> None:
        """Answer a request with its events up to its response. A client that disconnects can ask for the rest."""
        stream = str(message.id)
        version = request.headers.get(MCP_PROTOCOL_VERSION_HEADER, DEFAULT_NEGOTIATED_VERSION)
        first_event = await self._mint_priming_event(stream, version)
        first = f"id: {first_event['id']}\r\ndata: \r\nretry: {RETRY_MS}\r\n\r\n".encode() if first_event else b""
        sender, events = own = anyio.create_memory_object_stream[EventMessage](_BUFFERED_EVENTS)
        self._request_streams[stream] = own
        response = EventResponse(send, self._headers(), first)

        def leave() -> None:
            if self._request_streams.get(stream) == own:
                del self._request_streams[stream]
            sender.close()

        response.watch(request.receive, leave)
        is_answered = False
        try:
            # The session, or a client that disconnects, closes the streams.
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                if self.lean is not None and self.lean.accepts(message, request):
                    is_answered = await self._answer_here(self.lean, message, request, response, events)
                else:
                    assert self._read_stream_writer is not None  # noqa: S101  the session is open
                    await self._read_stream_writer.send(self._create_session_message(message, request, stream, version))
                    is_answered = await response.send_events(events)
            if not is_answered:
                await response.write(b"", is_last=True)
        finally:
            response.close()
            leave()
            events.close()

    async def _answer_here(
        self,
        lean: LeanSession,
        message: JSONRPCRequest,
        request: Request,
        response: EventResponse,
        events: MemoryObjectReceiveStream[EventMessage],
    ) -> bool:
        """Answer a request, and return whether its response was sent.

        If it has further messages, or its client has disconnected, the response goes through the SDK's streams.
        """
        sending: asyncio.Task[bool] | None = None

        def send_events() -> None:
            nonlocal sending
            sending = sending or asyncio.create_task(response.send_events(events))

        try:
            answer = await lean.answer(message, request, send_events)
            if self.is_terminated:
                return False
            if answer is not None and sending is None and not response.is_disconnected:
                assert self._event_store is not None  # noqa: S101  each session has one
                event_id = await self._event_store.store_event(str(message.id), answer)
                return await response.send_event(EventMessage(answer, event_id))
            if answer is None:
                await self._terminate_unanswered_request(message.id)
            else:
                assert self._write_stream is not None  # noqa: S101  the session is open
                await self._write_stream.send(SessionMessage(answer))
            return await (sending or response.send_events(events))
        except asyncio.CancelledError:
            await self._store_cancellation(message)
            raise
        finally:
            if sending is not None:
                sending.cancel()

    async def _store_cancellation(self, message: JSONRPCRequest) -> None:
        """Store an error for a request that the ASGI server has cancelled; a client may resume its stream.

        Without the error, it would wait forever. If the session ends meanwhile, nothing is stored.
        """
        with (
            anyio.move_on_after(_CANCELLATION_S, shield=True),
            suppress(anyio.ClosedResourceError, anyio.BrokenResourceError),
        ):
            if not self.is_terminated:
                await self._terminate_unanswered_request(message.id)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"cache-control", b"no-cache, no-transform"),
            (b"content-type", CONTENT_TYPE_SSE.encode()),
            (MCP_SESSION_ID_HEADER.encode(), (self.mcp_session_id or "").encode()),
            (b"x-accel-buffering", b"no"),
        ]
