"""Decode and check JSON-RPC messages without the SDK: https://www.jsonrpc.org/specification, sections 4, 5 and 5.1."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from math import isfinite
from typing import Any, Final

from toolmason_runtime.shared.errors import INVALID_REQUEST, PARSE_ERROR
from toolmason_runtime.wire.json_boundary import NotFiniteError, sanitize

CHUNK_BYTES = 65_536
"""Bytes read at once."""
MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of a message. HTTP answers a larger one with 413."""
EDGE_BYTES: Final = 512
"""Bytes at each end of a message that is not parsed, which are searched for its id."""
MAX_DEPTH: Final = 200
"""Maximum depth of the arrays and objects of a message that contain anything, as in the parser of the SDK."""

RequestId = int | str
Wire = dict[str, Any]
"""A decoded message."""


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
        self.code = code
        text = f"{'Parse error' if code == PARSE_ERROR else 'Invalid Request'}: {reason}"
        self.answer = _error(code, text, request) if is_answered else None
        self.response_error = _error(code, f"malformed response: {reason}", request) if may_be_response else None


def _error(code: int, text: str, request: RequestId | None) -> Wire:
    return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": text}}


def lines(source: int) -> Iterator[bytes]:
    """Yield the lines of a file descriptor that are not blank; the last one needs no line end.

    A line that is too long is shortened in its middle, to more than the maximum, so that `decode` rejects it.
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
            if not self._line and len(piece) <= self._max_bytes:
                if piece and not piece.isspace():
                    yield piece
                continue
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


def decode(data: bytes) -> Wire:
    """Return the message in `data`: a request, a notification or a response.

    Raises:
        MalformedError: it is invalid.
    """
    check_size(data, MAX_MESSAGE_BYTES)
    message = checked(_decode(data))
    if not _is_message(message):
        raise no_message(message)
    return message


def check_size(data: bytes, max_bytes: int) -> None:
    """Raise MalformedError for a message that is too large."""
    if len(data) > max_bytes:
        raise unread(data, f"message exceeds the limit of {max_bytes} bytes")


def unread(data: bytes, reason: str) -> MalformedError:
    """Return the error for a message that is not parsed."""
    return malformed(_edge_members(data), reason)


def checked(value: Any) -> Wire:
    """Return a decoded message whose common members are valid; raise MalformedError for others."""
    if not isinstance(value, dict):
        raise MalformedError(INVALID_REQUEST, "message must be a JSON object; batches are not supported")
    if fault := _fault(value):
        raise malformed(value, fault)
    return value


def no_message(value: Wire) -> MalformedError:
    """Return the error for an object that is not a message."""
    return malformed(value, "message must be a request, a notification or a response")


_MAY_BE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
"""Part of every unpaired surrogate."""
_JSON_SPACE: Final = " \t\n\r"
_TOO_DEEP: Final = "nested too deeply"


def _finite(text: str) -> float:
    if not isfinite(number := float(text)):
        raise NotFiniteError(text)
    return number


def _refuse_constant(name: str) -> float:
    raise NotFiniteError(name)


_raw_decode: Final = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant).raw_decode


def _decode(data: bytes) -> Any:
    try:
        text = data.decode().strip(_JSON_SPACE)
        value, end = _raw_decode(text)
        is_sound = end == len(text) and not _may_have_surrogate(data)
    except (ValueError, RecursionError):
        is_sound = False
    if not is_sound:
        return _decode_unsound(data)
    if _is_deep(value, data):
        raise malformed(value, _TOO_DEEP)
    return value


def _decode_unsound(data: bytes) -> Any:
    """Decode a message that may be invalid JSON, or have a number or a text that cannot be encoded again."""
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError):
        return decode_slowly(data)
    if _is_deep(value, data):
        raise malformed(value, _TOO_DEEP)
    return sanitized(value)


def _may_have_surrogate(data: bytes) -> bool:
    return b"\\u" in data and _MAY_BE_SURROGATE.search(data) is not None


def _is_deep(value: Any, data: bytes) -> bool:
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
    return any(level)


def sanitized(value: Any) -> Any:
    """Return a decoded message that can be encoded as JSON in UTF-8; raise MalformedError if that is impossible."""
    try:
        return sanitize(value)
    except NotFiniteError as error:
        raise malformed(value, str(error)) from error


def decode_slowly(data: bytes, *, is_deep: bool = False) -> Any:
    """Decode a message that a fast parser rejects: it may be JSON, or its error response needs an id."""
    try:
        value = json.loads(data.decode("utf-8", "replace"))
        safe = value if is_deep else sanitized(value)
    except RecursionError as error:
        raise malformed(_edge_members(data), _TOO_DEEP) from error
    except ValueError as error:
        raise MalformedError(PARSE_ERROR, str(error)) from error
    if is_deep:
        raise malformed(value, _TOO_DEEP)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise malformed(value, f"not UTF-8 at byte {error.start + 1}") from error
    return safe


_FIRST_ID: Final = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,')
"""As in `{"jsonrpc":"2.0","id":1,"method":...`."""
_LAST_ID: Final = re.compile(rb',\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')
"""As in `...,"jsonrpc":"2.0","id":1}`. The last brace closes the message, so this `id` is its own."""

_OBJECT: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{")


def _edge_members(data: bytes) -> dict[str, Any]:
    """Return the members of a message that is too large to parse, as far as its first and last bytes contain them.

    A client that gets no error with the id of its request waits forever.
    """
    head, tail = data[:EDGE_BYTES], data[-EDGE_BYTES:]
    members = {name: "" for name in ("method", "result", "error") if f'"{name}"'.encode() in head + tail}
    # A line of a log may contain a message behind other text.
    match = _FIRST_ID.match(head) or (_LAST_ID.search(tail) if _OBJECT.match(head) else None)
    return members | ({"id": json.loads(match[1])} if match else {})


def _fault(value: Wire) -> str:
    """Return the first problem of a message; empty without one."""
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "method" not in value:
        return ""
    if "id" in value and _identity(value) is None:
        return "id must be a string or an integer"
    if not isinstance(value["method"], str):
        return "method must be a string"
    if (params := value.get("params")) is not None and not isinstance(params, dict):
        return "params must be an object"
    return ""


def _is_message(value: Wire) -> bool:
    if "method" in value:
        return True
    if isinstance(value.get("result"), dict):
        return _identity(value) is not None
    match value:
        case {"id": None | int() | str(), "error": {"code": int(), "message": str()}}:
            return not isinstance(value["id"], bool)
    return False


def malformed(value: Any, reason: str) -> MalformedError:
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


def _identity(value: Wire) -> RequestId | None:
    """Return the id that a response would have; None if a response could not have it."""
    identity = value.get("id")
    return identity if isinstance(identity, (int, str)) and not isinstance(identity, bool) else None
