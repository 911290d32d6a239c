"""Store the recent events of a session, for clients that lost their connection and resume the stream.

Streamable HTTP of 2025-11-25 and earlier, "Resumability and Redelivery"; 2026-07-28 has no resumption.
"""

from __future__ import annotations

import secrets
import time
import weakref
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from mcp.server.streamable_http import EventCallback, EventId, EventMessage, EventStore, StreamId
from mcp.types import JSONRPCError, JSONRPCMessage, JSONRPCResponse

MAX_EVENTS = 200
"""Maximum events stored for a session; a client that missed more gets none."""
ANSWERED_S = 120.0
"""Seconds for which the events of an answered request are stored: clients reconnect in less than a second.

Otherwise, the last answers of each session would take most of the memory of a server with many sessions.
"""


class _Event(NamedTuple):
    id: EventId
    stream: StreamId
    message: JSONRPCMessage | None


class _Answered(NamedTuple):
    """The events of a request that was answered at a time."""

    time: float
    events: weakref.ref[RecentEvents]
    ids: deque[EventId]


_answered: deque[_Answered] = deque()
"""The answered requests of all sessions, oldest first."""


class RecentEvents(EventStore):
    """The last events of one session, in memory.

    A stream has the id of its request, and every client starts its ids at zero: two sessions must never share a store.
    Event ids are random, so that no client can guess them.
    """

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self._max_events = max_events
        self._events: dict[EventId, _Event] = {}
        self._unanswered: dict[StreamId, deque[EventId]] = {}
        """The events of each stream without a response."""

    async def store_event(self, stream_id: StreamId, message: JSONRPCMessage | None) -> EventId:
        """Store `message` (None for an event that only opens a stream) and return the id of the event."""
        event = _Event(secrets.token_urlsafe(16), stream_id, message)
        self._events[event.id] = event
        self._unanswered.setdefault(stream_id, deque()).append(event.id)
        if len(self._events) > self._max_events:
            self._forget_oldest()
        now = time.monotonic()
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            _answered.append(_Answered(now, weakref.ref(self), self._unanswered.pop(stream_id)))
        _forget_answered(now - ANSWERED_S)
        return event.id

    def forget(self, ids: Iterable[EventId]) -> None:
        """Remove events."""
        for each in ids:
            self._events.pop(each, None)

    async def replay_events_after(self, last_event_id: EventId, send_callback: EventCallback) -> StreamId | None:
        """Send the events after `last_event_id` on its stream; return the stream, or None if the id is unknown."""
        last = self._events.get(last_event_id)
        if last is None:
            return None
        events = list(self._events.values())
        for event in events[events.index(last) + 1 :]:
            if event.stream == last.stream and event.message is not None:
                await send_callback(EventMessage(event.message, event.id))
        return last.stream

    def _forget_oldest(self) -> None:
        oldest = self._events.pop(next(iter(self._events)))
        ids = self._unanswered.get(oldest.stream)
        if ids and ids[0] == oldest.id:
            ids.popleft()
            if not ids:
                del self._unanswered[oldest.stream]


def _forget_answered(before: float) -> None:
    """Remove the events of the requests that were answered before a time, from all sessions."""
    while _answered and _answered[0].time < before:
        _, reference, ids = _answered.popleft()
        if (events := reference()) is not None:
            events.forget(ids)
