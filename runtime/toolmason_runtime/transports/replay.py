"""Events sent to one session lately, for a client that lost its connection and asks for what it missed.

Streamable HTTP of 2025-11-25 and earlier, "Resumability and Redelivery"; 2026-07-28 has no such thing.
"""

from __future__ import annotations

import secrets
from collections import deque
from typing import NamedTuple

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import JSONRPCMessage

MAX_EVENTS = 200
"""Events kept for a session; a client that missed more than that gets none."""


class _Event(NamedTuple):
    id: EventId
    stream: StreamId
    message: JSONRPCMessage | None


class RecentEvents(EventStore):
    """The last events of one session, in memory.

    A stream is named for a request, and every client counts its requests from zero: two sessions must never share a
    store. Event ids are random, so that no client guesses one that it was not sent.
    """

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self._events: deque[_Event] = deque(maxlen=max_events)

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Keep `message`, None for one that only opens a stream, and return its id."""
        event = _Event(secrets.token_urlsafe(16), stream_id, message)
        self._events.append(event)
        return event.id

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """Send the events after `last_event_id` on its stream; return the stream, None if the id is not known here."""
        events = list(self._events)
        last = next((index for index, event in enumerate(events) if event.id == last_event_id), None)
        if last is None:
            return None
        for event in events[last + 1 :]:
            if event.stream == events[last].stream and event.message is not None:
                await send_callback(EventMessage(event.message, event.id))
        return events[last].stream
