"""Serve MCP over streamable HTTP, by default on a loopback address."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from starlette.types import ASGIApp
from toolmason_runtime.audit.http import audited_http
from toolmason_runtime.transports.http_access import (
    LOOPBACK_NAMES,
    AccessError,
    Authorize,
    bracketed,
    host_values,
    origin_value,
)
from toolmason_runtime.transports.http_app import PATH, Extras, http_app
from toolmason_runtime.transports.http_connection import REQUEST_TIMEOUT_S, max_connections
from toolmason_runtime.transports.http_parsers import FastConnection
from toolmason_runtime.transports.limits import MAX_SESSIONS, client_share
from toolmason_runtime.transports.open_access import is_loopback, obstacle
from toolmason_runtime.transports.peers import Peers
from toolmason_runtime.transports.sdk_sessions import SdkSessions
from toolmason_runtime.transports.shutdown import Shutdown

_TICK_S = 1.0
"""Seconds between updates of the `Date` header."""
_MAX_LOOP_ITERATIONS = 20
"""Maximum iterations of the event loop that a response needs from its handler to its socket."""
_KEEP_ALIVE_S = 75
"""Seconds that a connection without a request stays open: longer than clients and balancers keep it, usually 60 s.

A server that closes it first resets the next request of a client that has not noticed.
"""
_BACKLOG = 2048
"""Maximum connections that wait to be accepted."""
NO_EXTRAS = Extras()
_log = logging.getLogger(__name__)


def serve(
    make_server: Callable[[], Server[Any]],
    shutdown: Shutdown,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    token: str = "",
    authorize: Authorize | None = None,
    is_open: bool = False,
    note: str = "",
    request_timeout_s: float = REQUEST_TIMEOUT_S,
    extras: Extras = NO_EXTRAS,
    state_keys: Sequence[str] = (),
    max_client_sessions: int = client_share(MAX_SESSIONS),
    listener: socket.socket | None = None,
    is_lean: bool = True,
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
        authorize: adds the check of access tokens, which replaces that of `token`.
        is_open: serve clients without a token, wherever they are.
        note: text after the printed address.
        request_timeout_s: seconds until an incomplete request is closed.
        extras: routes and middleware of the author, and the limit of concurrent requests.
        state_keys: keys that this process shares with others of the same server; without one, it serves alone.
        max_client_sessions: maximum sessions of one client.
        listener: socket that this process shares with others, which has the address; nothing is printed.
        is_lean: answer valid requests with the lean engine; otherwise the SDK answers them.

    Raises:
        AccessError: clients of other machines may reach the server without `token`, `authorize` or `is_open`, or
            without `allowed_hosts`, or an allowed host or origin is malformed.
        OSError: the address is not available.
    """
    has_token = bool(token or authorize)
    if not is_loopback(host) and not allowed_hosts:
        raise AccessError(f"{host} is reachable from other machines: allowed hosts are required")
    origins = [origin_value(origin) for origin in allowed_origins]
    if not (has_token or is_open) and (reason := obstacle(host, allowed_hosts, allowed_origins)):
        raise AccessError(f"{reason}: a token is required")
    names = [*allowed_hosts, *((*LOOPBACK_NAMES, host) if is_loopback(host) else ())]
    is_shared = listener is not None
    with listener or listen(host, port) as listening:
        number = listening.getsockname()[1]
        hosts = [value for name in names for value in host_values(name, number)]
        served = served_mcp(make_server(), state_keys, max_client_sessions, is_lean=is_lean)
        app = http_app(
            served.endpoint,
            extras,
            hosts=hosts,
            origins=origins,
            token=token,
            authorize=authorize,
            is_direct=not (has_token or is_open),
            body_timeout_s=None,  # the connection closes after `request_timeout_s`
        )
        maximum, accepted = max_connections()
        limits = {"request_timeout_s": request_timeout_s, "max_connections": maximum}
        protocol = type("_LimitedConnection", (FastConnection,), limits)
        config = uvicorn.Config(
            audited_http(app, path=PATH),
            http=protocol,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            backlog=accepted,
        )
        if not is_shared:
            print(f"serving MCP at {address(host, number)}{note}", file=sys.stderr, flush=True)  # noqa: T201  for the user
        asyncio.run(_serve(served, app, config, shutdown, listening))


def address(host: str, port: int) -> str:
    """Return the URL of a server."""
    return f"http://{bracketed(host)}:{port}{PATH}"


@dataclass(frozen=True, slots=True)
class ServedMcp:
    """The sessions of a server, and the connection to other processes if it shares a key with them."""

    sessions: SdkSessions
    peers: Peers | None

    @property
    def endpoint(self) -> ASGIApp:
        """The application that answers the requests of MCP while `run` is open."""
        return self.sessions.handle_request

    @asynccontextmanager
    async def run(self, app: ASGIApp) -> AsyncIterator[None]:
        """Serve the requests of clients, and with `app` those that other processes pass on."""
        async with self.sessions.run():
            if self.peers is None:
                yield
                return
            async with self.peers.serving(app):
                yield


def served_mcp(
    server: Server[Any],
    state_keys: Sequence[str],
    max_client_sessions: int = client_share(MAX_SESSIONS),
    *,
    is_lean: bool = True,
) -> ServedMcp:
    """Return the faster sessions; those of the SDK if it has changed its private names.

    Unless `is_lean`, the SDK answers all requests.
    """
    try:
        from toolmason_runtime.transports.http_sessions import Sessions
    except ImportError as error:
        _log.info("requests are answered by the SDK's own sessions: %s", error)
        return ServedMcp(SdkSessions(server), None)
    peers = Peers(state_keys) if state_keys else None
    lean = getattr(server, "lean", None) if is_lean else None
    return ServedMcp(Sessions(server, peers, max_client_sessions, lean), peers)


async def _serve(
    served: ServedMcp, app: ASGIApp, config: uvicorn.Config, shutdown: Shutdown, listener: socket.socket
) -> None:
    http_server = _Uvicorn(config, served.sessions)
    shutdown.serve(http_server.stop)
    async with served.run(app):
        await http_server.serve(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises OSError if the address is not available."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family)
    # asyncio sets TCP_NODELAY only for an explicit protocol; without it each response takes 40 ms longer.
    return socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=listener.detach())


class _Uvicorn(uvicorn.Server):
    """Handles no signals, and ends at once: uvicorn polls for its end ten times a second, and then sleeps."""

    def __init__(self, config: uvicorn.Config, sessions: SdkSessions) -> None:
        super().__init__(config)
        self._sessions = sessions
        self._stopping = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """Stop the server, from any thread."""
        # uvicorn would log errors about open connections.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self.should_exit = True
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept. The number that asyncio accepts at once is not that of connections that wait."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)

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
        await self._sessions.end()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self.server_state.connections):
            connection.transport.close()
        while self.server_state.connections:  # noqa: ASYNC110  uvicorn has no event for it
            await asyncio.sleep(0.01)
