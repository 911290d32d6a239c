"""Connections of clients over HTTP/1.1, as uvicorn handles them, with a timeout and fewer packets."""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_TIMEOUT_S = 30.0
"""Seconds from the first byte of a request, or from the connection, to the last byte of its body."""
JOIN_BYTES: Final = 65_536
"""Bytes of joined writes that are sent at once."""


class JoinedWrites:
    """A transport that joins the writes of one iteration of the event loop; uvicorn writes head and body separately."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
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
        if parts and not self._transport.is_closing():
            self._transport.writelines(parts)

    def close(self) -> None:
        """Send everything, then close the connection."""
        self.flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(H11Protocol):
    """Closes connections whose request is not complete in time; uvicorn would wait forever."""

    request_timeout_s = REQUEST_TIMEOUT_S
    _timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Start the timeout of the first request."""
        super().connection_made(cast("asyncio.Transport", JoinedWrites(transport, self.loop)))
        self._timeout = self.loop.call_later(self.request_timeout_s, transport.close)

    def data_received(self, data: bytes) -> None:
        """Stop the timeout when a request is complete; start it with the first byte of the next one."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Start the timeout if the next request has begun; until then uvicorn limits the idle time."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timeout."""
        super().connection_lost(exc)
        self._stop_waiting()

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
