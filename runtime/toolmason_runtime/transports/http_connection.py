"""Connections of clients over HTTP/1.1, as uvicorn handles them, with a timeout and fewer packets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, cast

import h11
from toolmason_runtime.transports.request_framing import FramingError, RequestFraming
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT_S = 30.0
"""Seconds from the first byte of a request, or from the connection, to the last byte of its body."""
JOIN_BYTES: Final = 65_536
"""Bytes of joined writes that are sent at once."""
LINGER_S: Final = 1.0
"""Seconds in which a client that still sends a refused request can read the answer. Nothing is read meanwhile."""
_log = logging.getLogger(__name__)


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


class Connection(H11Protocol):
    """Closes connections whose request is ambiguous, refused, or not complete in time; uvicorn would wait forever."""

    request_timeout_s = REQUEST_TIMEOUT_S
    _timeout: asyncio.TimerHandle | None = None
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Start the timeout of the first request."""
        self._framing = RequestFraming()
        joined = JoinedWrites(transport, self.loop, self._is_sending)
        super().connection_made(cast("asyncio.Transport", joined))
        self._timeout = self.loop.call_later(self.request_timeout_s, transport.close)

    def data_received(self, data: bytes) -> None:
        """Check the framing; stop the timeout when a request is complete, start it with the first byte of the next."""
        if self._is_refused:
            return
        try:
            self._framing.feed(data)
        except FramingError as error:
            self._refuse(error)
            return
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Start the timeout if the next request has begun; until then uvicorn limits the idle time.

        A connection whose request was answered before its end is closed: nobody needs the rest.
        """
        if self._is_sending():
            self.transport.close()
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout."""
        super().connection_lost(exc)
        self._stop_waiting()

    def _is_sending(self) -> bool:
        return self._is_refused or self.conn.their_state is h11.SEND_BODY

    def _refuse(self, error: FramingError) -> None:
        """Answer an ambiguous request with 400 instead of all requests that are not answered yet, and close."""
        _log.warning("refused an invalid HTTP request: %s", error)
        self._is_refused = True
        self._stop_waiting()
        self._unset_keepalive_if_required()
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.send_400_response("Invalid HTTP request received.")
        else:
            self.transport.close()

    def _watch(self) -> None:
        state = self.conn.their_state
        is_incomplete = state is h11.SEND_BODY or (state is h11.IDLE and bool(self.conn.trailing_data[0]))
        if not is_incomplete:
            self._stop_waiting()
        elif self._timeout is None:
            self._timeout = self.loop.call_later(self.request_timeout_s, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None
