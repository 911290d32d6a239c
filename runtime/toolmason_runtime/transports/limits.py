"""Limits of HTTP requests that hold with every ASGI server: concurrent requests, and the time to send a body."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from functools import lru_cache
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_REQUESTS: Final = 1000
"""Default maximum of concurrent POST requests."""
MAX_SESSIONS: Final = 1000
"""Maximum concurrent sessions, 40 kB each. The SDK ends a session that is idle for half an hour."""
CLIENT_SHARE: Final = 2
"""One client may use at most one of so many parts of a limit, by default."""
BODY_TIMEOUT_S: Final = 30.0
"""Seconds until the body of a request must be complete."""

_BUSY: Final = PlainTextResponse("The server is busy; repeat the request.\n", 503, headers={"Retry-After": "1"})
_BUSY_CLIENT: Final = PlainTextResponse(
    "Too many requests of this client are running; repeat the request.\n", 429, headers={"Retry-After": "1"}
)
_IPV6_PREFIX: Final = 64
"""Bits that the addresses of one IPv6 client share: it can choose the others."""
_LATE: Final = PlainTextResponse("The body did not arrive in time.\n", 408, headers={"Connection": "close"})


class _LateBodyError(Exception):
    """A body is not complete in time."""


def limited(app: ASGIApp, max_requests: int, *, body_timeout_s: float | None = BODY_TIMEOUT_S) -> ASGIApp:
    """Return `app` with both limits. The others are the SDK's limits of the body's size and of sessions.

    `body_timeout_s` is None if the ASGI server limits the time itself.

    Only POST requests count: a client of 2025-11-25 or earlier has one GET request open all the time.
    """
    running = 0

    async def limiting(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal running
        if scope["method"] != "POST":
            await app(scope, receive, send)
        elif running >= max_requests:
            await _BUSY(scope, receive, send)
        else:
            running += 1
            try:
                if body_timeout_s is None:
                    await app(scope, receive, send)
                else:
                    await _in_time(app, body_timeout_s, scope, receive, send)
            finally:
                running -= 1

    return limiting


def client_share(maximum: int) -> int:
    """Return the part of a limit that one client may use."""
    return max(1, maximum // CLIENT_SHARE)


def client_of(scope: Scope) -> str:
    """Return a text that identifies the client of a request: the subject of its access token, or its address.

    Empty for a request over a Unix socket, whose client another process or a proxy knows.
    """
    token = getattr(scope.get("user"), "access_token", None)
    if token is not None:
        claims = getattr(token, "claims", None) or {}
        principal = getattr(token, "subject", None) or token.client_id
        return f"{claims.get('iss', '')} {principal}"
    return _client_at((scope.get("client") or ("",))[0])


@lru_cache(maxsize=1024)
def _client_at(host: str) -> str:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return str(host)
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return str(address.ipv4_mapped or ipaddress.ip_network((address, _IPV6_PREFIX), strict=False))


def limited_by_client(app: ASGIApp, max_client_requests: int) -> ASGIApp:
    """Return `app` with at most so many concurrent POST requests of one client."""
    running = Counter[str]()

    async def limiting(scope: Scope, receive: Receive, send: Send) -> None:
        client = client_of(scope) if scope["method"] == "POST" else ""
        if not client:
            await app(scope, receive, send)
        elif running[client] >= max_client_requests:
            await _BUSY_CLIENT(scope, receive, send)
        else:
            running[client] += 1
            try:
                await app(scope, receive, send)
            finally:
                running[client] -= 1
                if not running[client]:
                    del running[client]

    return limiting


async def _in_time(app: ASGIApp, timeout_s: float, scope: Scope, receive: Receive, send: Send) -> None:
    deadline = asyncio.get_running_loop().time() + timeout_s
    is_complete = is_started = False

    async def receive_in_time() -> Message:
        nonlocal is_complete
        if is_complete:
            return await receive()
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError as error:
            raise _LateBodyError from error
        is_complete = not message.get("more_body", False)
        return message

    async def watch_start(message: Message) -> None:
        nonlocal is_started
        is_started = True
        await send(message)

    try:
        await app(scope, receive_in_time, watch_start)
    except _LateBodyError:
        if is_started:
            raise
        await _LATE(scope, receive, send)
