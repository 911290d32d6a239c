"""Parse the messages of clients: lines of standard input and bodies of HTTP POST requests.

The SDK's parser rejects unpaired surrogates, treats a request with an invalid `id` as a notification, and drops
malformed messages without a response, so that a client with a bug would wait forever. Both transports get their
messages from here: https://www.jsonrpc.org/specification, sections 4, 5 and 5.1.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from mcp.server.transport_security import RequestBodyLimitMiddleware
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic_core import from_json
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from toolmason_runtime.protocol.json_boundary import NotFiniteError, sanitize

CHUNK_BYTES = 65_536
"""Bytes read at once."""
MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a message. HTTP answers a larger one with 413."""

EDGE_BYTES: Final = 512
"""Bytes at each end of a message that is not parsed, in which its id is looked for."""

RequestId = int | str
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Received:
    """A message. `is_exact`: the SDK's parser gets the same message from the bytes."""

    message: JSONRPCMessage
    is_exact: bool


class MalformedError(Exception):
    """Bytes that are not a message.

    `answer` is sent to the client; it is None for notifications and responses. `response_error` is for the call in this
    server that waits for a response with the same id; it is None if the message cannot be a response.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        *,
        request: RequestId | None = None,
        is_answered: bool = True,
        may_be_response: bool = False,
    ) -> None:
        super().__init__(reason)
        text = f"{'Parse error' if code == PARSE_ERROR else 'Invalid Request'}: {reason}"
        self.answer = _error(code, text, request) if is_answered else None
        self.response_error = _error(code, f"malformed response: {reason}", request) if may_be_response else None


def _error(code: int, text: str, request: RequestId | None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=text))


def lines(source: int) -> Iterator[bytes]:
    """Yield the lines of a file descriptor that are not blank; the last one needs no line end.

    A line that is too long is shortened in its middle, to more than the maximum, so that `receive` rejects it.
    """
    buffer = LineBuffer()
    while chunk := os.read(source, CHUNK_BYTES):
        yield from buffer.feed(chunk)
    yield from buffer.feed(b"\n")


class LineBuffer:
    """Splits bytes into lines that are not blank, each of at most `max_bytes` and a little more."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._line = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that end in `chunk`."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            self._extend(piece)
            if self._line and not self._line.isspace():
                yield bytes(self._line)
            self._line.clear()
        self._extend(rest)

    def _extend(self, piece: bytes) -> None:
        """Append `piece`; keep at most the maximum and the last bytes of a line, which may contain its id."""
        self._line += piece
        if len(self._line) > self._max_bytes + EDGE_BYTES:
            del self._line[self._max_bytes : -EDGE_BYTES]


def receive(data: bytes, *, max_bytes: int = MAX_MESSAGE_BYTES) -> Received:
    """Return the message in `data`.

    Raises:
        MalformedError: it is invalid.
    """
    if len(data) > max_bytes:
        raise _malformed(_edge_members(data), f"message exceeds the limit of {max_bytes} bytes")
    value, is_exact = _decode(data)
    if not isinstance(value, dict):
        raise MalformedError(INVALID_REQUEST, "message must be a JSON object; batches are not supported")
    if fault := _fault(value):
        raise _malformed(value, fault)
    try:
        return Received(jsonrpc_message_adapter.validate_python(value, by_name=False), is_exact)
    except ValueError as error:
        raise _malformed(value, "message must be a request, a notification or a response") from error


_MAY_OVERFLOW: Final = re.compile(rb"\d{200}|[eE]\+?\d{3}")
"""Part of every number that is too large for a float: many digits, or an exponent of at least 100, as in `1e999`."""
_TOO_DEEP: Final = "nested too deeply"


def _decode(data: bytes) -> tuple[Any, bool]:
    try:
        value = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        return _decode_slowly(data, is_deep="recursion limit" in str(error)), False
    if not _MAY_OVERFLOW.search(data):
        return value, True
    safe = _sanitize(value)
    return safe, safe is value


def _sanitize(value: Any) -> Any:
    try:
        return sanitize(value)
    except NotFiniteError as error:
        raise _malformed(value, str(error)) from error


def _decode_slowly(data: bytes, *, is_deep: bool) -> Any:
    """Decode a message that the fast parser rejects: it may be JSON, or its error response needs an id."""
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        safe = value if is_deep else _sanitize(value)
    except RecursionError as error:
        raise _malformed(_edge_members(data), _TOO_DEEP) from error
    except ValueError as error:
        raise MalformedError(PARSE_ERROR, str(error)) from error
    if is_deep:
        raise _malformed(value, _TOO_DEEP)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise _malformed(value, f"not UTF-8 at byte {error.start + 1}") from error
    return safe


_FIRST_ID: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,')
"""As in `{"jsonrpc":"2.0","id":1,"method":...`."""
_LAST_ID: Final = re.compile(rb',\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
"""As in `...,"jsonrpc":"2.0","id":1}`. The last brace closes the message, so this `id` is its own."""


def _edge_members(data: bytes) -> dict[str, Any]:
    """Return the members of a message that is too large to parse, as far as its first and last bytes contain them.

    A client that gets no error with the id of its request waits for ever.
    """
    head, tail = data[:EDGE_BYTES], data[-EDGE_BYTES:]
    members = {name: "" for name in ("method", "result", "error") if f'"{name}"'.encode() in head + tail}
    match = _FIRST_ID.match(head) or _LAST_ID.search(tail)
    return members | ({"id": json.loads(match[1])} if match else {})


def _fault(value: dict[str, Any]) -> str:
    """Return the first problem of a message; empty without one."""
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "id" in value and "method" in value and _identity(value) is None:
        return "id must be a string or an integer"
    if "method" in value and not isinstance(value["method"], str):
        return "method must be a string"
    if "method" in value and not isinstance(value.get("params"), dict | None):
        return "params must be an object"
    return ""


def _malformed(value: Any, reason: str) -> MalformedError:
    """Return the error for a decoded message; notifications and responses get no error response."""
    members = value if isinstance(value, dict) else {}
    identity = _identity(members)
    is_notification = isinstance(members.get("method"), str) and "id" not in members
    is_response = "method" not in members and bool(members.keys() & {"result", "error"})
    return MalformedError(
        INVALID_REQUEST,
        reason,
        request=identity,
        is_answered=not (is_notification or is_response),
        # A response may lack `result`: JavaScript drops a member that is undefined.
        may_be_response=identity is not None and not members.keys() & {"method", "params"},
    )


def _identity(value: dict[str, Any]) -> RequestId | None:
    """Return the id that a response would have; None if a response could not have it."""
    identity = value.get("id")
    return identity if isinstance(identity, int | str) and not isinstance(identity, bool) else None


def encode_message(message: JSONRPCMessage) -> bytes:
    """Return a message as JSON on one line."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def validate_bodies(app: ASGIApp) -> ASGIApp:
    """Return `app` with middleware that validates POST bodies."""

    async def validating(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            await _post(app, scope, receive, send)
        else:
            await app(scope, receive, send)

    return RequestBodyLimitMiddleware(validating, MAX_MESSAGE_BYTES)


async def _post(app: ASGIApp, scope: Scope, rest: Receive, send: Send) -> None:
    first = await rest()
    if first["type"] == "http.disconnect":
        return
    try:
        received = receive(first["body"])
    except MalformedError as malformed:
        _log.warning("ignored invalid request body: %s", malformed)
        if malformed.response_error is not None:
            await app(dict(scope), _replay(_body(malformed.response_error), rest), _discard)
        await _error_response(malformed)(scope, rest, send)
        return
    await app(scope, _replay(first if received.is_exact else _body(received.message), rest), send)


def _error_response(malformed: MalformedError) -> Response:
    """Return the HTTP response to a malformed message: a JSON-RPC error, or text for a notification or response."""
    if malformed.answer is None:
        return PlainTextResponse(f"{malformed}\n", 400)
    return Response(encode_message(malformed.answer), 400, media_type="application/json")


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
