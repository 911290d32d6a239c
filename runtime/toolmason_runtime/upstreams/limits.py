"""Limits of the messages of an upstream: bytes, values, entries of lists and, over HTTP, whole answers and events.

A message that exceeds them becomes the error of the request that waits for it, before its values are created.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import anyio.to_thread
import httpx2
from pydantic_core import from_json
from toolmason_runtime.remote.parse import count_values
from toolmason_runtime.shared.budget import LARGE_BYTES, MESSAGE
from toolmason_runtime.shared.errors import INTERNAL_ERROR

MAX_ENTRIES: Final = 10_000
"""Tools, prompts, resources or blocks of content in one message."""
_LISTS: Final = ("tools", "prompts", "resources", "resourceTemplates", "content")
_FIELD: Final = re.compile(rb"[\r\n][a-z]")
_END_OF_EVENT: Final = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_OVERLAP: Final = 4
"""Bytes of the longest end of an event."""


def find_excess(data: bytes) -> str:
    """Return why a message is not read; empty for one within the limits. It takes long for a large one."""
    if len(data) > MESSAGE.bytes:
        return f"message exceeds the limit of {MESSAGE.bytes} bytes"
    if len(data) <= LARGE_BYTES:
        return ""
    # Separators are ASCII in UTF-8, so each byte counts as a character here.
    if count_values(data.decode("latin-1"), MESSAGE.values) > MESSAGE.values:
        return f"message has more than {MESSAGE.values:,} values: ask for less"
    try:
        value = from_json(data)
    except ValueError:
        return ""  # the parser of messages reports it
    result = value.get("result") if isinstance(value, dict) else None
    lists = [result.get(name) for name in _LISTS] if isinstance(result, dict) else []
    if any(isinstance(entries, list) and len(entries) > MAX_ENTRIES for entries in lists):
        return f"message has a list with more than {MAX_ENTRIES:,} entries: ask for less"
    return ""


async def find_excess_in_thread(data: bytes) -> str:
    """Return why a message is not read; a large one is counted in a thread."""
    if len(data) <= LARGE_BYTES:
        return ""
    return await anyio.to_thread.run_sync(find_excess, data)


class LimitedTransport(httpx2.AsyncBaseTransport):
    """Passes on answers of an upstream within the limits. The rest of an answer is an error of its request.

    Charsets are left out of the media type of events, which are UTF-8: the HTTP client would use any codec of Python.
    """

    def __init__(self) -> None:
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request and return its answer; an error in place of a compressed one, which nobody offered."""
        # A compressed chunk of 64 kB can have 64 MB, and the HTTP client expands it at once.
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            await response.aclose()
            error = _error(_request_id(request), "the answer is compressed, although no compression was offered")
            return httpx2.Response(200, headers={"content-type": "application/json"}, content=error, request=request)
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_events = media_type == "text/event-stream"
        if is_events:
            response.headers["content-type"] = media_type
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _LimitedStream(response.stream, _request_id(request), is_events=is_events)
        return response

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _LimitedStream(httpx2.AsyncByteStream):
    """The body of an answer to the request with the id `request_id`."""

    def __init__(self, inner: httpx2.AsyncByteStream, request_id: Any, *, is_events: bool) -> None:
        self._inner = inner
        self._request_id = request_id
        self._is_events = is_events

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._events() if self._is_events else self._body()

    async def aclose(self) -> None:
        """Close the connection, or return it to the pool."""
        await self._inner.aclose()

    async def _body(self) -> AsyncIterator[bytes]:
        body = bytearray()
        async for chunk in self._inner:
            body += chunk
            if len(body) > MESSAGE.bytes:
                break
        data = bytes(body)
        del body
        excess = await find_excess_in_thread(data)
        yield self._error(excess) if excess else data

    async def _events(self) -> AsyncIterator[bytes]:
        pending = bytearray()
        empty_bytes = 0
        async for chunk in self._inner:
            start = max(0, len(pending) - _OVERLAP)
            pending += chunk
            ends = [match.end() for match in _END_OF_EVENT.finditer(pending, start)]
            if not ends:
                if len(pending) <= MESSAGE.bytes:
                    continue
                yield self._event(find_excess(bytes(pending)))
                return
            with memoryview(pending) as view:
                complete = bytes(view[: ends[-1]])
            del pending[: ends[-1]]
            # All events but the first are inside of one chunk, and so small.
            if excess := await find_excess_in_thread(complete[: ends[0]]):
                yield self._event(excess)
                return
            if b"data:" in complete:
                empty_bytes = 0
            elif (empty_bytes := empty_bytes + len(complete)) > MESSAGE.bytes:
                yield self._event(f"{MESSAGE.bytes:,} bytes of events without data")
                return
            if not complete.startswith(b":") or _FIELD.search(complete):
                yield complete  # else only comments, which keep a connection open
        yield bytes(pending)

    def _event(self, reason: str) -> bytes:
        return b"event: message\ndata: %b\n\n" % self._error(reason)

    def _error(self, reason: str) -> bytes:
        return _error(self._request_id, reason)


def _error(request_id: Any, reason: str) -> bytes:
    error = {"code": INTERNAL_ERROR, "message": f"malformed response: {reason}"}
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()


def _request_id(request: httpx2.Request) -> Any:
    """Return the id of the JSON-RPC request in an HTTP request; None without one."""
    try:
        message = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return None
    return message.get("id") if isinstance(message, dict) else None
