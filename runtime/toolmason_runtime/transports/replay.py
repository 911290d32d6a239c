"""Store the recent events of a session, for clients that lost their connection and resume the stream.

Streamable HTTP of 2025-11-25 and earlier, "Resumability and Redelivery"; 2026-07-28 has no resumption.
"""

from __future__ import annotations

import secrets
from collections import deque
from typing import NamedTuple

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import JSONRPCMessage

MAX_EVENTS = 200
"""Maximum events stored for a session; a client that missed more gets none."""


class _Event(NamedTuple):
    id: EventId
    stream: StreamId
    message: JSONRPCMessage | None


class RecentEvents(EventStore):
    """The last events of one session, in memory.

    A stream has the id of its request, and every client starts its ids at zero: two sessions must never share a store.
    Event ids are random, so that no client can guess them.
    """

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self._events: deque[_Event] = deque(maxlen=max_events)

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Store `message` (None for an event that only opens a stream) and return the id of the event."""
        event = _Event(secrets.token_urlsafe(16), stream_id, message)
        self._events.append(event)
        return event.id

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """Send the events after `last_event_id` on its stream; return the stream, or None if the id is unknown."""
        events = list(self._events)
        last = next((index for index, event in enumerate(events) if event.id == last_event_id), None)
        if last is None:
            return None
        for event in events[last + 1 :]:
            if event.stream == events[last].stream and event.message is not None:
                await send_callback(EventMessage(event.message, event.id))
        return events[last].stream
