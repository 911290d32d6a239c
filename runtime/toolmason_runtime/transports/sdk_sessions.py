"""Sessions of clients of 2025-11-25 and earlier over streamable HTTP, with public names of the SDK only."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send
from toolmason_runtime.transports.framing import validate_bodies
from toolmason_runtime.transports.limits import MAX_SESSIONS
from toolmason_runtime.transports.messages import MAX_MESSAGE_BYTES
from toolmason_runtime.transports.replay import RecentEvents
from toolmason_runtime.transports.session_logs import shorten_logged_ids

RETRY_MS: Final = 500
"""Milliseconds until a client that lost its connection should reconnect."""


class SdkSessions(StreamableHTTPSessionManager):
    """The SDK's sessions, with validated bodies; each session has an event store of its own."""

    def __init__(self, server: Server[Any]) -> None:
        shorten_logged_ids()
        super().__init__(
            server, retry_interval=RETRY_MS, max_sessions=MAX_SESSIONS, max_request_body_size=MAX_MESSAGE_BYTES
        )
        self._validated = validate_bodies(super().handle_request)

    @property
    def event_store(self) -> EventStore:
        """Return a new store; the SDK reads this property once a session."""
        return RecentEvents()

    @event_store.setter
    def event_store(self, shared_store: EventStore | None) -> None:
        """Ignore the store for all sessions."""

    async def handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request of either era."""
        await self._validated(scope, receive, send)

    async def end(self) -> None:
        """Terminate the sessions as their clients do.

        If `run` cancelled them, each running call would try for a second to write to its closed stream.
        """
        sessions = getattr(self, "_server_instances", {})
        await asyncio.gather(*(session.terminate() for session in list(sessions.values())))
