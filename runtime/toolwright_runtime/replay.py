"""What was sent on a stream lately, for a client that lost its connection and asks for what it missed.

Streamable HTTP of 2025-11-25 and earlier, "Resumability and Redelivery"; 2026-07-28 has no such thing.
"""

from __future__ import annotations

from collections import deque
from itertools import count

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import JSONRPCMessage

MOST_EVENTS = 1_000
"""Events kept over all streams; a client that comes back later than that gets none."""


class RecentEvents(EventStore):
    """The last events of all streams, in memory."""

    def __init__(self, most: int = MOST_EVENTS) -> None:
        self._numbers = count(1)
        self._events: deque[tuple[int, StreamId, JSONRPCMessage | None]] = deque(maxlen=most)

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Keep `message`, None for one that only opens a stream, and give its id."""
        number = next(self._numbers)
        self._events.append((number, stream_id, message))
        return str(number)

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """Send what followed `last_event_id` on its stream; give the stream, or None if it is forgotten or unknown."""
        stream = next((stream for number, stream, _ in self._events if str(number) == last_event_id), None)
        if stream is None:
            return None
        missed = [each for each in self._events if each[1] == stream and each[0] > int(last_event_id)]
        for number, _, message in missed:
            if message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream
