"""Connections with the parsers of uvicorn: httptools, written in C, or h11 where it is not installed."""

from __future__ import annotations

from typing import Final

from toolmason_runtime.transports.http_connection import Connection
from toolmason_runtime.transports.request_framing import RequestFraming
from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
except ImportError:
    HttpToolsProtocol = None  # type: ignore[assignment, misc]  # a platform without it


class H11Connection(Connection, H11Protocol):
    """A connection with h11, which is written in Python."""


_COMMON_METHODS: Final = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
"""Methods that httptools accepts. It rejects some others, such as `BREW`, which h11 accepts."""
FastConnection: type[Connection] = H11Connection
"""The connection with the fastest installed parser."""

if HttpToolsProtocol is not None:

    class HttpToolsConnection(Connection, HttpToolsProtocol):  # type: ignore[misc]  # both have the same attributes
        """A connection with httptools. HTTP/1.0 goes to h11: uvicorn's httptools protocol would send it chunks.

        Uncommon methods go to h11 too, so that the application answers all methods.
        """

        def parse(self, data: bytes) -> None:
            """Give bytes of one request to the parser, or the connection to h11."""
            if self._framing.is_http_1_0 or self._framing.method not in _COMMON_METHODS:
                self._hand_over(data)
            else:
                super().parse(data)

        def end_cycle(self) -> None:
            """Resume reading. The parser needs no preparation."""
            if not self.transport.is_closing():
                self.flow.resume_reading()

        def _hand_over(self, data: bytes) -> None:
            """Give the connection to h11, with all bytes of its current request."""
            other = H11Connection(self.config, self.server_state, self.app_state)
            other.request_timeout_s = self.request_timeout_s
            data, self._received = data + self._received, b""
            self._framing = RequestFraming()
            self._stop_waiting()
            self._stop_progress_check()
            self.connections.discard(self)
            other.connection_made(self.transport)
            if self.flow.write_paused:
                other.pause_writing()
            self.transport.set_protocol(other)
            other.data_received(data)

    FastConnection = HttpToolsConnection
