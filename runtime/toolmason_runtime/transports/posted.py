"""Validate HTTP POST bodies like stdio lines.

The SDK's parser rejects unpaired surrogates, drops malformed responses (the call that waits for one would wait for
ever) and loses the request ids of malformed requests.
"""

from __future__ import annotations

import logging
from typing import Any

from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.types import JSONRPCMessage, JSONRPCRequest
from pydantic_core import from_json
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from toolmason_runtime.protocol.results import encodable
from toolmason_runtime.server.sdk import ARGUMENTS
from toolmason_runtime.transports.incoming import MAX_LINE_LENGTH, MalformedError, message

_log = logging.getLogger(__name__)


def as_lines(app: ASGIApp) -> ASGIApp:
    """Return `app` behind the validation of POST bodies."""

    async def whole(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            await _posted(app, scope, receive, send)
        else:
            await app(scope, receive, send)

    return RequestBodyLimitMiddleware(whole, MAX_LINE_LENGTH)


async def _posted(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    first = await receive()
    if first["type"] == "http.disconnect":
        return
    try:
        read = message(first["body"])
    except MalformedError as malformed:
        _log.warning("skipped a malformed POST body: %s", malformed)
        if malformed.outcome is not None:
            await app(dict(scope), _giving(_body(malformed.outcome), receive), _unsent)
        await _refusal(malformed)(scope, receive, send)
        return
    if isinstance(read, JSONRPCRequest) and not _is_readable(first["body"]):
        params = read.params or {}
        scope[ARGUMENTS] = params.get("arguments")
        first = _body(read.model_copy(update={"params": encodable(params)}))
    await app(scope, _giving(first, receive), send)


def _refusal(malformed: MalformedError) -> Response:
    """Return the answer to a malformed message. A notification or response gets no JSON-RPC error, only the reason."""
    if malformed.answer is None:
        return PlainTextResponse(f"{malformed}\n", 400)
    return Response(_encoded(malformed.answer), 400, media_type="application/json")


def _is_readable(body: bytes) -> bool:
    """Whether the SDK's parser accepts `body` as JSON."""
    try:
        from_json(body)
    except ValueError:
        return False
    return True


def _body(read: JSONRPCMessage) -> Message:
    return {"type": "http.request", "body": _encoded(read)}


def _encoded(read: JSONRPCMessage) -> bytes:
    return read.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _giving(first: Message, receive: Receive) -> Receive:
    """Return a `receive` that yields `first`, then the messages of `receive`."""
    left = [first]

    async def received() -> Message:
        return left.pop() if left else await receive()

    return received


async def _unsent(message: Any) -> None:
    """Send nothing: the client gets the error response instead."""
