"""Serve MCP over streamable HTTP, by default on a loopback address."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import h11
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http import EventStore
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from toolmason_runtime.transports.framing import validate_bodies
from toolmason_runtime.transports.http_access import (
    LOOPBACK_NAMES,
    AccessError,
    bracketed,
    guarded,
    host_values,
    origin_value,
)
from toolmason_runtime.transports.replay import RecentEvents
from toolmason_runtime.transports.shutdown import Shutdown
from uvicorn.protocols.http.h11_impl import H11Protocol

PATH = "/mcp"
RETRY_MS = 500
"""Milliseconds until a client that lost its connection should reconnect."""
REQUEST_TIMEOUT_S = 30.0
"""Seconds from the first byte of a request, or from the connection, to the last byte of its body."""
MAX_SESSIONS = 1000
"""Maximum concurrent sessions, 40 kB each. The SDK ends a session that is idle for half an hour."""
_TICK_S = 1.0
"""Seconds between updates of the `Date` header."""
_MAX_LOOP_ITERATIONS = 20
"""Maximum iterations of the event loop that a response needs from its handler to its socket."""


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    make_server: Callable[[], Server[Any]],
    shutdown: Shutdown,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    token: str = "",
    note: str = "",
    request_timeout_s: float = REQUEST_TIMEOUT_S,
) -> None:
    """Serve at `http://host:port/mcp` until a signal arrives, and print the address to stderr.

    Args:
        make_server: returns the server.
        shutdown: handles the signals.
        host: address to listen on.
        port: port to listen on; 0 selects a free one.
        allowed_hosts: `Host` headers that are allowed in addition to the loopback names (against DNS rebinding).
        allowed_origins: origins of web pages that are allowed.
        token: bearer token that every request needs; empty for none.
        note: text after the printed address.
        request_timeout_s: seconds until an incomplete request is closed.

    Raises:
        AccessError: `host` is reachable from other machines without `allowed_hosts` or `token`, or an allowed host or
            origin is malformed.
        OSError: the address is not available.
    """
    if not is_loopback(host) and not (allowed_hosts and token):
        raise AccessError(f"{host} is reachable from other machines: allowed hosts and a token are required")
    origins = [origin_value(origin) for origin in allowed_origins]
    names = [*allowed_hosts, *((*LOOPBACK_NAMES, host) if is_loopback(host) else ())]
    with listen(host, port) as listener:
        number = listener.getsockname()[1]
        hosts = [value for name in names for value in host_values(name, number)]
        server = make_server()
        app = guarded(validate_bodies(_app(server)), hosts=hosts, origins=origins, token=token)
        protocol = type("_LimitedProtocol", (_Protocol,), {"request_timeout_s": request_timeout_s})
        config = uvicorn.Config(app, http=protocol, log_config=None, access_log=False, lifespan="on", ws="none")
        print(f"serving MCP at http://{bracketed(host)}:{number}{PATH}{note}", file=sys.stderr, flush=True)  # noqa: T201  for the user
        asyncio.run(_serve(server, config, shutdown, listener))


async def _serve(server: Server[Any], config: uvicorn.Config, shutdown: Shutdown, listener: socket.socket) -> None:
    http_server = _Uvicorn(config)
    shutdown.serve(http_server.stop)
    # Requests of 2026-07-28 have no session, so the lifespan stays open until the last of them has ended.
    async with server.lifespan(server):
        await http_server.serve(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError if the address is not available."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family)
    # asyncio sets TCP_NODELAY only for an explicit protocol; without it each response takes 40 ms longer.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


def _app(server: Server[Any]) -> Starlette:
    manager = _Sessions(server, retry_interval=RETRY_MS, max_sessions=MAX_SESSIONS)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:  # noqa: ARG001  Starlette gives it
        async with manager.run():
            yield
            await manager.end()

    return Starlette(routes=[Route(PATH, endpoint=StreamableHTTPASGIApp(manager))], lifespan=lifespan)


class _Sessions(StreamableHTTPSessionManager):
    """Creates an event store for each session: the SDK reads this property once a session."""

    @property
    def event_store(self) -> EventStore:
        """Return a new store."""
        return RecentEvents()

    @event_store.setter
    def event_store(self, shared_store: EventStore | None) -> None:
        """Ignore the store for all sessions."""

    async def end(self) -> None:
        """Terminate the sessions as their clients do.

        If `run` cancelled them, each running call would try for a second to write to its closed stream.
        """
        await asyncio.gather(*(transport.terminate() for transport in list(self._server_instances.values())))


class _Protocol(H11Protocol):
    """Closes connections whose request is not complete in time; uvicorn would wait forever."""

    request_timeout_s = REQUEST_TIMEOUT_S
    _timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Start the timeout of the first request."""
        super().connection_made(transport)
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


class _Uvicorn(uvicorn.Server):
    """Handles no signals, and ends at once: uvicorn polls for its end ten times a second, and then sleeps."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """Stop the server, from any thread."""
        # uvicorn would log errors about open connections.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self.should_exit = True
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stopping.set)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield

    async def main_loop(self) -> None:
        """Serve until `stop` is called."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), _TICK_S)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Send the finished responses, cancel the running calls, and wait until all connections are closed.

        `Shutdown.stop` limits the time.
        """
        for listener in (*self.servers, *(sockets or ())):
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for _ in range(_MAX_LOOP_ITERATIONS):
            await asyncio.sleep(0)
        tasks = list(self.server_state.tasks)
        for task in tasks:
            task.cancel()
        await self.lifespan.shutdown()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self.server_state.connections):
            connection.transport.close()
        while self.server_state.connections:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.01)
