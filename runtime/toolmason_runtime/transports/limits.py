"""Limits of HTTP requests that hold with every ASGI server: concurrent requests, and the time to send a body."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_REQUESTS: Final = 1000
"""Default maximum of concurrent POST requests."""
BODY_TIMEOUT_S: Final = 30.0
"""Seconds until the body of a request must be complete."""

_BUSY: Final = PlainTextResponse("The server is busy; repeat the request.\n", 503, headers={"Retry-After": "1"})
_LATE: Final = PlainTextResponse("The body did not arrive in time.\n", 408, headers={"Connection": "close"})


class _LateBodyError(Exception):
    """A body is not complete in time."""


def limited(app: ASGIApp, max_requests: int, *, body_timeout_s: float = BODY_TIMEOUT_S) -> ASGIApp:
    """Return `app` with both limits. The others are the SDK's limits of the body's size and of sessions.

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
                await _in_time(app, body_timeout_s, scope, receive, send)
            finally:
                running -= 1

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
