"""Messages of clients as objects of the SDK: from lines of standard input and from bodies of HTTP POST requests.

The SDK's parser rejects unpaired surrogates, treats a request with an invalid `id` as a notification, and drops
malformed messages without a response, so that a client with a bug would wait forever. Both transports get their
messages from here.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.types import JSONRPCError, JSONRPCMessage, JSONRPCRequest, jsonrpc_message_adapter
from pydantic import TypeAdapter
from pydantic_core import from_json
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from toolmason_runtime.transports.messages import (
    MAX_MESSAGE_BYTES,
    MalformedError,
    Wire,
    check_size,
    checked,
    decode_slowly,
    no_message,
    sanitized,
)

MESSAGE: Final = "toolmason.message"
"""The key of the decoded message of a POST request in its ASGI scope."""

REFUSE: Final = "toolmason.refuse"
"""The key of a function in an ASGI scope that returns the response to a message that is refused, or None."""

LARGE_BYTES: Final = 65_536
"""Minimum bytes of bodies that are decoded one after another, one in each iteration of the event loop."""
_log = logging.getLogger(__name__)
_request_adapter: Final = TypeAdapter(JSONRPCRequest)


@dataclass(frozen=True, slots=True)
class Received:
    """A message. `is_exact`: the SDK's parser gets the same message from the bytes."""

    message: JSONRPCMessage
    is_exact: bool


def receive(data: bytes, *, max_bytes: int = MAX_MESSAGE_BYTES) -> Received:
    """Return the message in `data`.

    Raises:
        MalformedError: it is invalid.
    """
    check_size(data, max_bytes)
    decoded, is_exact = _decode(data)
    value = checked(decoded)
    # Validation as the union of all kinds of messages takes four times as long. The union takes a request with `error`
    # for an answer.
    is_request = "method" in value and "id" in value and "error" not in value
    adapter = _request_adapter if is_request else jsonrpc_message_adapter
    try:
        return Received(adapter.validate_python(value, by_name=False), is_exact)
    except ValueError as error:
        raise no_message(value) from error


_CLASSES: Final = bytes(
    ord("0") if chr(byte).isdigit() and byte < 128 else ord("e") if byte in b"eE" else byte if byte == ord("+") else 32
    for byte in range(256)
)
"""Every digit as `0`, every `e` in lower case, all else as a space."""
_OVERFLOWS: Final = (b"0" * 200, b"e000", b"e+000")
"""Parts of every number that is too large for a float: many digits, or an exponent of at least 100, as in `1e999`."""


def _decode(data: bytes) -> tuple[Any, bool]:
    try:
        value = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        return decode_slowly(data, is_deep="recursion limit" in str(error)), False
    # A regular expression takes ten times as long: 0.1 s for the largest body.
    classes = data.translate(_CLASSES)
    if not any(part in classes for part in _OVERFLOWS):
        return value, True
    safe = sanitized(value)
    return safe, safe is value


def error_message(wire: Wire) -> JSONRPCError:
    """Return the error of a malformed message as an object of the SDK."""
    return JSONRPCError.model_validate(wire)


def encode_message(message: JSONRPCMessage) -> bytes:
    """Return a message as JSON on one line."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def validate_bodies(app: ASGIApp) -> ASGIApp:
    """Return `app` with middleware that validates POST bodies."""
    turn = asyncio.Lock()

    async def validating(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            await _post(app, scope, receive, send, turn)
        else:
            await app(scope, receive, send)

    return _complete_refusals(RequestBodyLimitMiddleware(validating, MAX_MESSAGE_BYTES))


def _complete_refusals(app: ASGIApp) -> ASGIApp:
    """Return `app` with headers in the SDK's refusals: 413 closes the connection, and 503 has a time to repeat."""
    headers = {
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE: (b"connection", b"close"),
        HTTPStatus.SERVICE_UNAVAILABLE: (b"retry-after", b"10"),
    }

    def completing(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        def complete(message: Message) -> Awaitable[None]:
            if message["type"] == "http.response.start" and (header := headers.get(message["status"])):
                message = {**message, "headers": [*message["headers"], header]}
            return send(message)

        return app(scope, receive, complete)

    return completing


async def _post(app: ASGIApp, scope: Scope, rest: Receive, send: Send, turn: asyncio.Lock) -> None:
    first = await rest()
    if first["type"] == "http.disconnect":
        return
    try:
        if len(first["body"]) >= LARGE_BYTES:
            # In turn: else small requests would wait until all large ones are decoded.
            async with turn:
                received = receive(first["body"])
                await asyncio.sleep(0)
        else:
            received = receive(first["body"])
    except MalformedError as malformed:
        _log.warning("ignored invalid request body: %s", malformed)
        if not first["body"] and any(name == b"upgrade" for name, _ in scope["headers"]):
            _log.warning(
                "a request with Upgrade has no body: the ASGI server dropped it; start uvicorn with `--http h11`"
            )
        if malformed.response_error is not None:
            await app(dict(scope), _replay(_body(error_message(malformed.response_error)), rest), _discard)
        await _error_response(malformed)(scope, rest, send)
        return
    if REFUSE in scope and (refusal := scope[REFUSE](received.message)) is not None:
        await refusal(scope, rest, send)
        return
    body = first if received.is_exact else _body(received.message)
    await app({**scope, MESSAGE: received.message}, _replay(body, rest), send)


def _error_response(malformed: MalformedError) -> Response:
    """Return the HTTP response to a malformed message: a JSON-RPC error, or text for a notification or response."""
    if malformed.answer is None:
        return PlainTextResponse(f"{malformed}\n", 400)
    return Response(json.dumps(malformed.answer), 400, media_type="application/json")


def _body(message: JSONRPCMessage) -> Message:
    return {"type": "http.request", "body": encode_message(message)}


def _replay(first: Message, rest: Receive) -> Receive:
    """Return an ASGI `receive` that returns `first`, then the messages of `rest`."""
    pending = [first]

    async def receive_next() -> Message:
        return pending.pop() if pending else await rest()

    return receive_next


async def _discard(message: Any) -> None:
    """Send nothing: the client gets the error response."""
