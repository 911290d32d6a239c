"""Connections of clients over HTTP/1.1, as uvicorn handles them, with timeouts and fewer packets."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any, Final, cast

from toolmason_runtime.transports.request_framing import FramingError, RequestFraming

if TYPE_CHECKING:
    from uvicorn.protocols.http.h11_impl import H11Protocol
else:
    H11Protocol = object  # at run time, a protocol of uvicorn is the second base (`http_parsers`)

REQUEST_TIMEOUT_S = 30.0
"""Seconds from the first byte of a request, or from the connection, to the last byte of its body."""
JOIN_BYTES: Final = 65_536
"""Bytes of joined writes that are sent at once."""
MAX_DISCARDED_BYTES: Final = 65_536
"""Bytes of a request that are read after its answer, so that a client can use its connection again."""
LINGER_S: Final = 1.0
"""Seconds in which a client that still sends a refused request can read the answer. Nothing is read meanwhile."""
MAX_UNSENT_BYTES: Final = 64 * 1024 * 1024
"""Maximum bytes of a process that wait for clients which do not read; above it, the slowest are disconnected."""
MAX_ACCEPTED: Final = 16
"""Maximum connections that are accepted in one iteration of the event loop."""
_RESERVED_DESCRIPTORS: Final = 32
"""Minimum descriptors that are not used for connections."""
STALL_S: Final = 30.0
"""Seconds without progress until a client that does not read its answer is disconnected."""
_log = logging.getLogger(__name__)
_stalled: dict[Connection, None] = {}
"""The connections of this process whose clients do not read fast enough, those that began first in front."""


class JoinedWrites:
    """A transport that joins the writes of one iteration of the event loop; uvicorn writes head and body separately."""

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        is_sending: Callable[[], bool] = lambda: False,
    ) -> None:
        """Args: `is_sending` returns whether the client is still sending a request."""
        self._transport = transport
        self._loop = loop
        self._is_sending = is_sending
        self._is_lingering = False
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Send `data` with what follows it in this iteration."""
        if not self._parts:
            self._loop.call_soon(self.flush)
        self._parts.append(data)
        self._size += len(data)
        if self._size >= JOIN_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send everything now."""
        parts, self._parts, self._size = self._parts, [], 0
        if parts and not self.is_closing():
            self._transport.writelines(parts)

    def close(self) -> None:
        """Send everything, then close the connection.

        A connection with unread bytes is closed later: it would be reset, and the client would lose the answer.
        """
        self.flush()
        if self._is_lingering or self._transport.is_closing() or not self._is_sending():
            self._transport.close()
            return
        self._is_lingering = True
        self._transport.pause_reading()
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._loop.call_later(LINGER_S, self._transport.close)

    def is_closing(self) -> bool:
        """Return whether the connection is closed, or will be."""
        return self._is_lingering or self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def max_connections() -> tuple[int, int]:
    """Return how many connections the descriptors allow besides files and programs, and how many to accept at once.

    The first number is 0 if there is no limit. asyncio accepts again in each of the four iterations of the event loop
    until a new connection is counted here. Without a descriptor it would log thousands of errors.
    """
    if sys.platform == "win32":
        return 0, MAX_ACCEPTED
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return 0, MAX_ACCEPTED
    reserved = max(limit // 4, _RESERVED_DESCRIPTORS)
    accepted = (reserved - _RESERVED_DESCRIPTORS // 2) // 4
    return max(limit - reserved, 1), min(accepted, MAX_ACCEPTED)


class Connection(H11Protocol):
    """Closes connections whose request is ambiguous, refused, or not complete in time; uvicorn would wait forever.

    The parser of uvicorn gets one request after another, each when the one before it is answered.
    """

    request_timeout_s = REQUEST_TIMEOUT_S
    max_connections = 0
    """Maximum connections of the server; 0 for no limit."""
    stall_s = STALL_S
    _timer: asyncio.TimerHandle | None = None
    """Checks `_deadline`. A later deadline needs no new timer: this one is set again when it expires too early."""
    _deadline = inf
    """The time of the event loop at which the connection is closed; `inf` for never."""
    _is_request_limited = True
    """Whether `_deadline` limits the time of a request, as opposed to the time between requests."""
    _progress_check: asyncio.TimerHandle | None = None
    _unsent = 0
    _idle_since = 0.0
    _discarded = 0
    _is_refused = False
    _received = b""
    """Bytes received but not yet parsed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Limit the time of the first request."""
        self._framing = RequestFraming()
        self._joined = JoinedWrites(transport, self.loop, self._is_sending)
        super().connection_made(cast("asyncio.Transport", self._joined))
        self._idle_since = self.loop.time()
        self._close_at(self._idle_since + self.request_timeout_s)
        if self.max_connections and len(self.connections) > self.max_connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Parse the bytes of the current request."""
        if self._is_refused or self.transport.is_closing():
            return
        is_discarded = self._framing.is_in_body and self.cycle.response_complete
        self._received += data
        self._parse()
        self._watch()
        if is_discarded:
            self._discarded += len(data)
            if self._framing.is_in_body and self._discarded > MAX_DISCARDED_BYTES:
                self.transport.close()

    def on_response_complete(self) -> None:
        """Parse the next request."""
        self._joined.flush()
        self._discarded = 0
        self.end_cycle()
        self._parse()
        self._watch()

    def end_cycle(self) -> None:
        """Prepare the parser for the next request."""
        super().on_response_complete()
        self._unset_keepalive_if_required()  # `_watch` limits the idle time

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeouts."""
        super().connection_lost(exc)
        self._stop_waiting()
        self._stop_progress_check()

    def pause_writing(self) -> None:
        """Wait for the client to read, for a limited time and with limited memory for all of them."""
        super().pause_writing()
        _stalled[self] = None
        self._watch_progress()
        unsent = {connection: connection.unsent_bytes() for connection in _stalled}
        total = sum(unsent.values())
        for connection, size in unsent.items():
            if total <= MAX_UNSENT_BYTES:
                break
            total -= size
            connection.drop("it does not read its answers, and too many bytes wait")

    def resume_writing(self) -> None:
        """Stop waiting for the client."""
        super().resume_writing()
        self._stop_progress_check()

    def unsent_bytes(self) -> int:
        """Return how many bytes wait for the client."""
        return self.transport.get_write_buffer_size()

    def drop(self, reason: str, level: int = logging.WARNING) -> None:
        """Disconnect the client at once, and forget what waits for it."""
        _log.log(level, "disconnected a client: %s", reason)
        self._stop_progress_check()
        self.transport.abort()

    def _watch_progress(self) -> None:
        self._unsent = self.unsent_bytes()
        self._progress_check = self.loop.call_later(self.stall_s, self._check_progress)

    def _check_progress(self) -> None:
        if self.unsent_bytes() < self._unsent:
            self._watch_progress()
        else:
            self.drop(f"it has read nothing of its answer for {self.stall_s:g} s")

    def _stop_progress_check(self) -> None:
        _stalled.pop(self, None)
        if self._progress_check is not None:
            self._progress_check.cancel()
            self._progress_check = None

    def _make_room(self) -> None:
        """Close the connection that has been idle for longest, or this one: descriptors are limited."""
        connections = (
            each for each in self.connections if isinstance(each, Connection) and not each.transport.is_closing()
        )
        idle = [each for each in connections if each.cycle is None or each.cycle.response_complete]
        oldest = min(idle, key=lambda each: each._idle_since, default=self)  # noqa: SLF001
        oldest.drop("there are too many connections", logging.INFO)

    def parse(self, data: bytes) -> None:
        """Give bytes of one request to the parser."""
        super().data_received(data)

    def _parse(self) -> None:
        """Parse the current request, then each next one once the previous response is complete."""
        while self._received and not (self._is_answering() or self._is_refused or self.transport.is_closing()):
            data, self._received = self._received, b""
            is_started = self._framing.is_in_body and self.cycle.response_started
            try:
                parsed, size = self._framing.feed(data)
            except FramingError as error:
                self._refuse(error, is_started=is_started)
                return
            self._received = data[size:]
            if parsed:
                self.parse(parsed)
        if self._received:
            self.flow.pause_reading()

    def _is_answering(self) -> bool:
        return self._framing.is_between and self.cycle is not None and not self.cycle.response_complete

    def _is_sending(self) -> bool:
        return self._is_refused or self._framing.is_in_body

    def _refuse(self, error: FramingError, *, is_started: bool) -> None:
        """Refuse an ambiguous request: answer 400 unless the response `is_started`, and close."""
        _log.warning("refused an invalid HTTP request: %s", error)
        self._is_refused = True
        self._stop_waiting()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if is_started:
            self.transport.close()
        else:
            self.send_400_response("Invalid HTTP request received.")

    def _watch(self) -> None:
        """Limit the time of a request from its first byte to its last one, and the time between requests."""
        is_over = self not in self.connections  # lost, or handed over to another protocol
        if is_over or self._is_refused or self.transport.is_closing():
            return
        if not self._framing.is_between:
            if not self._is_request_limited:
                self._is_request_limited = True
                self._close_at(self.loop.time() + self.request_timeout_s)
            return
        self._is_request_limited = False
        if self._is_answering():
            self._deadline = inf
        else:
            self._idle_since = self.loop.time()
            self._close_at(self._idle_since + self.timeout_keep_alive)

    def _close_at(self, deadline: float) -> None:
        self._deadline = deadline
        if self._timer is None or self._timer.when() > deadline:
            self._stop_waiting()
            self._timer = self.loop.call_at(deadline, self._check_deadline)

    def _check_deadline(self) -> None:
        self._timer = None
        if self._deadline <= self.loop.time():
            self.transport.close()
        elif self._deadline < inf:
            self._close_at(self._deadline)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
