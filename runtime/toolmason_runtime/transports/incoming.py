"""From the bytes that a client writes to messages, and what it is told of those that are none.

The SDK's adapter takes a request whose `id` is wrong for a notification and is silent on the rest, so a client with a
mistake would wait for ever. JSON-RPC 2.0, sections 4, 5 and 5.1: https://www.jsonrpc.org/specification.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter
from pydantic_core import from_json
from toolmason_runtime.protocol.results import encodable

CHUNK = 65_536
"""Bytes read at once."""
MAX_LINE_LENGTH: Final = 4 * 1024 * 1024
"""Bytes of a message beyond which it is skipped, as HTTP answers 413."""

KEPT = 4096
"""Bytes that are kept of either end of a message that is too long: the id stands before the parameters, or after."""

RequestId = int | str


@dataclass(frozen=True, slots=True)
class TooLong:
    """A line of more than `MAX_LINE_LENGTH` bytes: its beginning and its end."""

    head: bytes
    tail: bytes


class MalformedError(Exception):
    """A line that is no message.

    `answer` is what its sender is told, None where nothing may be answered. `outcome` is what whoever waits here for a
    response with its id is told, None where it can be none.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        *,
        request: RequestId | None = None,
        is_answered: bool = True,
        may_answer: bool = False,
    ) -> None:
        super().__init__(reason)
        said = f"{'Parse error' if code == PARSE_ERROR else 'Invalid Request'}: {reason}"
        self.answer = _error(code, said, request) if is_answered else None
        self.outcome = _error(code, f"its answer is malformed: {reason}", request) if may_answer else None


def _error(code: int, said: str, request: RequestId | None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request, error=ErrorData(code=code, message=said))


def lines(source: int) -> Iterator[bytes | TooLong]:
    """Give the lines that are not blank; what stands after the last line end is one too."""
    line = _Line()
    while chunk := os.read(source, CHUNK):
        first, *others = chunk.split(b"\n")
        line.add(first)
        for piece in others:
            yield from line.taken()
            line.add(piece)
    yield from line.taken()


class _Line:
    """A line that comes in pieces, each of them copied once."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._too_long: TooLong | None = None

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= MAX_LINE_LENGTH:
            self._pieces.append(piece)
            return
        if self._too_long is None:
            whole = b"".join([*self._pieces, piece])
            self._too_long = TooLong(whole[:KEPT], whole[-KEPT:])
            self._pieces.clear()
        else:
            self._too_long = TooLong(self._too_long.head, (self._too_long.tail + piece)[-KEPT:])

    def taken(self) -> Iterator[bytes | TooLong]:
        """Give the line unless it is blank, and begin another."""
        line = self._too_long or b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        self._too_long = None
        if isinstance(line, TooLong) or line.strip():
            yield line


def message(line: bytes | TooLong) -> JSONRPCMessage:
    """Read one line. Half a character, which UTF-8 cannot carry on, is replaced, but not in the arguments of a call.

    Raises:
        MalformedError: it is no message.
    """
    if isinstance(line, TooLong):
        raise _too_long(line)
    value = _decoded(line)
    if not isinstance(value, dict):
        raise MalformedError(INVALID_REQUEST, "a message is an object; there are no batches")
    if fault := _fault(value):
        raise _refused(value, fault)
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValueError as error:
        raise _refused(value, "neither a request nor a notification nor a response") from error


def _too_long(line: TooLong) -> MalformedError:
    """Refuse what was not read whole, under its id if that stands at either end: clients wait for no other answer.

    Without one the answer has none, but a response is never answered: its id would be taken for that of a request.
    """
    reason = f"a message has at most {MAX_LINE_LENGTH} bytes"
    found = _beginning(line.head) | _end(line.tail)
    if _identity(found) is None and not found.keys() & {"result", "error"}:
        return MalformedError(INVALID_REQUEST, reason)
    return _refused(found, reason)


def _beginning(head: bytes) -> dict[str, Any]:
    """Give the members at the beginning of an object. The last of them may be cut, so that its value is none."""
    try:
        found = from_json(head.decode("utf-8", "ignore"), allow_partial="trailing-strings")
    except ValueError:
        return {}
    if not isinstance(found, dict):
        return {}
    return found | ({list(found)[-1]: ...} if found else {})


_LAST = re.compile(rb',\s*"(jsonrpc|id|method)"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)\s*\Z')


def _end(tail: bytes) -> dict[str, Any]:
    """Give the members at the end of an object that say what it is, read from its last bracket backwards."""
    found: dict[str, Any] = {}
    rest, closed, after = tail.rstrip().rpartition(b"}")
    while closed and not after and (match := _LAST.search(rest)):
        with suppress(ValueError):
            found.setdefault(match[1].decode(), from_json(match[2]))
        rest = rest[: match.start()]
    return found


def _decoded(line: bytes) -> Any:
    try:
        return from_json(line)
    except ValueError as error:
        is_deep = "recursion limit" in str(error)
    text = line.decode("utf-8", "replace")
    try:
        value = None if is_deep else _encodable(json.loads(text))
    except RecursionError:
        is_deep = True
    except ValueError as error:
        raise MalformedError(PARSE_ERROR, str(error)) from error
    if is_deep:
        raise _too_deep(text)
    try:
        line.decode()
    except UnicodeDecodeError as error:
        raise _refused(value, f"not UTF-8 at byte {error.start + 1}") from error
    return value


def _encodable(value: Any) -> Any:
    """Replace halves of characters, but leave those in arguments to who reads them and can tell the model."""
    params = value.get("params") if isinstance(value, dict) else None
    if not isinstance(params, dict) or "arguments" not in params:
        return encodable(value)
    kept = encodable({**params, "arguments": None}) | {"arguments": params["arguments"]}
    return encodable({**value, "params": None}) | {"params": kept}


def _too_deep(text: str) -> MalformedError:
    """Refuse what no parser follows to its end, under the id that stands beside what is nested."""
    try:
        return _refused(json.loads(_outermost(text)), "nested too deeply")
    except ValueError:
        return MalformedError(PARSE_ERROR, "nested too deeply")


_PIECE = re.compile(r'[\[{]|[\]}]|"(?:[^"\\]|\\.)*+"|[^\[\]{}"]++|"')


def _outermost(text: str) -> str:
    """Give the JSON `text` with each object and array inside of its outermost one as null."""
    kept: list[str] = []
    depth = 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        opens, closes = piece in "[{", piece in "]}"
        depth -= closes
        if depth == 0 or (depth == 1 and not (opens or closes)):
            kept.append(piece)
        elif depth == 1 and opens:
            kept.append("null")
        depth += opens
    return "".join(kept)


def _fault(value: dict[str, Any]) -> str:
    """Say what is wrong with a message; empty if it may be one."""
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0"'
    if "id" in value and "method" in value and _identity(value) is None:
        return "id must be a string or an integer"
    if "method" in value and not isinstance(value["method"], str):
        return "method must be a string"
    if "method" in value and not isinstance(value.get("params"), dict | None):
        return "params must be an object"
    return ""


def _refused(value: Any, reason: str) -> MalformedError:
    """Refuse what may have been a request; notifications and responses are never answered."""
    found = value if isinstance(value, dict) else {}
    identity = _identity(found)
    is_notification = isinstance(found.get("method"), str) and "id" not in found
    is_response = "method" not in found and bool(found.keys() & {"result", "error"})
    return MalformedError(
        INVALID_REQUEST,
        reason,
        request=identity,
        is_answered=not (is_notification or is_response),
        # One without either may have lost its `result`: JSON has no undefined.
        may_answer=identity is not None and not found.keys() & {"method", "params"},
    )


def _identity(value: dict[str, Any]) -> RequestId | None:
    """Give the id that a response would have, None if there is none that one could have."""
    found = value.get("id")
    return found if isinstance(found, int | str) and not isinstance(found, bool) else None
