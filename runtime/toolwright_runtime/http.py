"""Serves over streamable HTTP, on this machine alone unless told otherwise."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from toolwright_runtime.ending import Ending
from toolwright_runtime.posted import as_lines
from toolwright_runtime.replay import RecentEvents

PATH = "/mcp"
RETRY_MS = 500
"""Milliseconds after which a client that lost its connection should come back."""


def is_loopback(host: str) -> bool:
    """Whether only programs on this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def serve(
    make_server: Callable[[], Server[Any]],
    ending: Ending,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    allow_remote: bool = False,
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Serve what `make_server` makes at `http://host:port/mcp` until a signal comes; the address goes to stderr.

    Port 0 takes a free one. Requests for other hosts are refused (DNS rebinding): on a loopback address only its names
    are good, elsewhere `allowed_hosts`, or any if there are none.

    Raises:
        ValueError: `host` can be reached from other machines and `allow_remote` does not say so.
        OSError: the address cannot be had.
    """
    if not (allow_remote or is_loopback(host)):
        raise ValueError(f"{host} can be reached from other machines, and there is no authentication")
    with _listening(host, port) as listener:
        number = listener.getsockname()[1]
        app = make_server().streamable_http_app(
            streamable_http_path=PATH,
            transport_security=_security(host, allowed_hosts),
            event_store=RecentEvents(),
            retry_interval=RETRY_MS,
        )
        config = uvicorn.Config(
            as_lines(app), log_config=None, access_log=False, lifespan="on", ws="none", timeout_graceful_shutdown=0
        )
        server = _Uvicorn(config)
        ending.serve(server.stop)
        print(f"serving MCP at http://{_bracketed(host)}:{number}{PATH}", file=sys.stderr, flush=True)  # noqa: T201  said to a person
        asyncio.run(server.serve(sockets=[listener]))


class _Uvicorn(uvicorn.Server):
    """Leaves signals to others, and does not complain of connections that are open when it ends."""

    def stop(self) -> None:
        """End within a few tenths of a second."""
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _security(host: str, allowed_hosts: Sequence[str]) -> TransportSecuritySettings:
    names = [*allowed_hosts, *(("127.0.0.1", "localhost", "[::1]", _bracketed(host)) if is_loopback(host) else ())]
    hosts = [spelling for name in names for spelling in (name, f"{name}:*")]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in hosts]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=bool(hosts), allowed_hosts=hosts, allowed_origins=origins
    )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
