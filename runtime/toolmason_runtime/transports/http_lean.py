"""The lean engine over HTTP: answers the requests of 2026-07-28 with fewer tasks, models and middleware than the SDK.

Only valid requests are answered here. The SDK answers all others, so that its rules for headers and its errors hold.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.streamable_http import CONTENT_TYPE_JSON, CONTENT_TYPE_SSE, check_accept_headers
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundModernRoute,
    classify_inbound_request,
    validate_mcp_param_headers,
    x_mcp_header_map,
)
from mcp.types import JSONRPCRequest
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send
from toolmason_runtime.audit.http import mark_reached, origin
from toolmason_runtime.calls.dispatcher import DispatcherProtocol
from toolmason_runtime.calls.principal import Principal
from toolmason_runtime.calls.request_context import refused_by_client
from toolmason_runtime.shared.errors import INTERNAL_ERROR, MethodError
from toolmason_runtime.transports.framing import MESSAGE
from toolmason_runtime.transports.session_context import SessionContext
from toolmason_runtime.transports.stdio.encoding import encode, encode_error, encode_result
from toolmason_runtime.transports.stdio.session import Session
from toolmason_runtime.wire.requests import DEFAULT_LEVEL, MODERN_VERSIONS, meta_of, request_shape

OPENED: Final = "toolmason.opened"
"""The key of a function in the ASGI scope of `initialize` that gets the SDK's session."""
PING_S: Final = 15.0
"""Seconds without a message until a stream begins, and between comments that keep its connection open."""
PING: Final = b": ping\r\n\r\n"
_DISCOVER: Final = "server/discover"
_ROUTING: Final = (MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER)
_PARAM_PREFIX: Final = MCP_PARAM_HEADER_PREFIX.lower()
TRACE: Final = "traceparent"
"""The header, and the member of `_meta`, of a request that belongs to a trace."""
_JSON_TYPE: Final = (b"content-type", CONTENT_TYPE_JSON.encode())
_STREAM_HEADERS: Final = [
    (b"content-type", CONTENT_TYPE_SSE.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_log = logging.getLogger(__name__)


class HttpContext(SessionContext):
    """One request of 2026-07-28 over HTTP."""

    call_timeout_s: float | None = None
    """Maximum seconds of the request; None for no limit."""
    is_local = False

    def __init__(
        self, message: JSONRPCRequest, scope: Scope, session: Session, principal: Principal | None, exchange: Exchange
    ) -> None:
        super().__init__(message.params, session, DEFAULT_LEVEL, is_modern=True)
        self._id = message.id
        self._scope = scope
        self._exchange = exchange
        self.principal = principal

    @property
    def origin(self) -> Mapping[str, Any]:
        """The transport, the client's version and address, and the request's id, for the audit log."""
        version = self._session.client_version(self._params) or None
        return {"transport": "http", **origin(self._scope), "client_version": version, "request": self._id}

    async def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        await self._exchange.notify(method, params)

    async def _send_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        raise refused_by_client(method, "a server of 2026-07-28 sends no requests")


Answer = Callable[[str, Mapping[str, Any], HttpContext], Awaitable[dict[str, Any]]]
"""Returns the result of a request, with the client's answers so far if it is `input_required`."""
Seal = Callable[[str, Mapping[str, Any], dict[str, Any]], Awaitable[dict[str, Any]]]
"""Returns a result that is `input_required` with its `requestState` sealed."""


@dataclass(frozen=True, slots=True)
class LeanServer:
    """The functions of a server that the lean engine needs."""

    dispatcher: DispatcherProtocol
    methods: Collection[str]
    """The methods that `answer` accepts."""
    answer: Answer
    answer_in_session: Callable[[ServerRequestContext[None]], Awaitable[dict[str, Any]]]
    """Returns the result of a request of 2025-11-25 or earlier."""
    seal: Seal
    input_schema: Callable[[str], Mapping[str, Any] | None]
    """Returns the schema of a listed tool."""
    principal_of: Callable[[object], Principal | None]
    """Returns the owner of the verified token, from the `user` of a scope."""
    is_usable: Callable[[], bool]
    """Returns False while something, such as traces, needs the SDK's own path."""


class LeanRequests:
    """Answers valid requests of 2026-07-28, and passes all other HTTP requests to `otherwise`."""

    def __init__(self, server: LeanServer, otherwise: ASGIApp) -> None:
        self._server = server
        self._otherwise = otherwise
        dispatcher = server.dispatcher
        self._session = Session(dispatcher.server, dispatcher.methods, dispatcher.instructions)
        self._session.is_modern = True
        self._has_headers: dict[str, bool] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request whose body has been decoded."""
        message = scope.get(MESSAGE)
        if not isinstance(message, JSONRPCRequest) or not self._accepts(message, scope):
            await self._otherwise(scope, receive, send)
            return
        first = await receive()  # the body, of which `message` was made
        if not first.get("more_body", False):
            await self._serve(message, scope, receive, send)

    def _accepts(self, message: JSONRPCRequest, scope: Scope) -> bool:
        """Return whether a request is valid, and needs nothing that the SDK alone can do."""
        headers = _routed_headers(scope)
        method, params = message.method, message.params
        if headers is None or params is None or not (method in self._server.methods or method == _DISCOVER):
            return False
        route = classify_inbound_request({"method": method, "params": params}, headers=headers)
        shape = request_shape(method, is_modern=True)
        return (
            isinstance(route, InboundModernRoute)
            and shape is not None
            and shape(params)
            and params.get("requestState") is None
            and TRACE not in headers
            and TRACE not in meta_of(params)
            and self._server.is_usable()
            and (method != "tools/call" or self._has_valid_param_headers(params, headers, scope))
        )

    def _has_valid_param_headers(self, params: Mapping[str, Any], headers: Mapping[str, str], scope: Scope) -> bool:
        """Return whether the headers of arguments agree with the arguments."""
        arguments = params.get("arguments") or {}
        if not arguments and not any(name.startswith(_PARAM_PREFIX) for name in headers):
            return True
        name = params["name"]
        schema = self._server.input_schema(name)
        if schema is None:
            return True
        if name not in self._has_headers:
            self._has_headers[name] = bool(x_mcp_header_map(schema))
        return not self._has_headers[name] or (
            validate_mcp_param_headers(schema, arguments, Headers(scope=scope)) is None
        )

    async def _serve(self, message: JSONRPCRequest, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(receive, send)
        try:
            mark_reached(scope)
            principal = self._server.principal_of(scope.get("user"))
            context = HttpContext(message, scope, self._session, principal, exchange)
            await exchange.finish(*await self._response(message, context))
        except asyncio.CancelledError:
            if not exchange.is_withdrawn():
                raise
        finally:
            exchange.close()

    async def _response(self, message: JSONRPCRequest, context: HttpContext) -> tuple[int, bytes]:
        """Return the status and the body of a response."""
        try:
            result = await self._result(message.method, message.params or {}, context)
            return 200, encode_result(message.id, result)
        except MethodError as error:
            failure = error
        except MCPError as error:
            failure = MethodError(error.error.code, error.error.message, error.error.data)
        except Exception:  # noqa: BLE001  its text is not for the client
            _log.exception("%s failed", message.method)
            failure = MethodError(INTERNAL_ERROR, "Internal server error")
        return ERROR_CODE_HTTP_STATUS.get(failure.code, 200), encode_error(message.id, failure)

    async def _result(self, method: str, params: Mapping[str, Any], context: HttpContext) -> dict[str, Any]:
        if (result := self._session.answer(method, params)) is not None:
            return result
        result = await self._server.answer(method, params, context)
        if result.get("resultType") == "input_required":
            result = await self._server.seal(method, params, result)
        return self._session.complete(method, result)


class Exchange:
    """The response to one request: JSON, or a stream of events from its first notification on, or from `PING_S` on.

    The task that makes an exchange also answers the request. It is cancelled if the client disconnects. A request that
    is answered at once needs no further task.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._lock = asyncio.Lock()
        self._is_started = False
        self._is_finished = False
        self._is_withdrawn = False
        self._task = asyncio.current_task()
        self._watching: asyncio.Task[None] | None = None
        self._start = asyncio.get_running_loop().call_soon(self._start_watching)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification; drop it after the response."""
        await self._write(_event(encode({"jsonrpc": "2.0", "method": method, "params": params})))
        # A handler that only sends notifications must not block the event loop.
        await asyncio.sleep(0)

    async def finish(self, status: int, line: bytes) -> None:
        """Send the response: `line` is JSON. An event has no status."""
        if self._is_started:
            async with self._lock:
                self._is_finished = True
                await self._send({"type": "http.response.body", "body": _event(line)})
            return
        self._is_finished = True  # so that nothing else is written
        body = line.removesuffix(b"\n")
        headers = [(b"content-length", b"%d" % len(body)), _JSON_TYPE]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    def is_withdrawn(self) -> bool:
        """Return whether the task was cancelled only because the client disconnected; it then goes on."""
        return self._is_withdrawn and self._task is not None and not self._task.uncancel()

    def close(self) -> None:
        """Stop to watch the client."""
        self._is_finished = True
        self._start.cancel()
        if self._watching is not None:
            self._watching.cancel()

    def _start_watching(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        """Send pings while there is no message, and cancel the request if the client disconnects."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(PING_S):
                    while (await self._receive())["type"] != "http.disconnect":
                        pass
                self._is_withdrawn = True
                if self._task is not None:
                    self._task.cancel()
                return
            await self._write(PING)

    async def _write(self, part: bytes) -> None:
        async with self._lock:
            if self._is_finished:
                return
            if not self._is_started:
                self._is_started = True
                await self._send({"type": "http.response.start", "status": 200, "headers": _STREAM_HEADERS})
            await self._send({"type": "http.response.body", "body": part, "more_body": True})


def _event(line: bytes) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % line.removesuffix(b"\n")


def _routed_headers(scope: Scope) -> dict[str, str] | None:
    """Return the first value of each header; None if the request belongs to a session or the SDK refuses its headers.

    The SDK answers a repeated routing header.
    """
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1")
        if name not in headers:
            headers[name] = raw_value.decode("latin-1")
        elif name in _ROUTING:
            return None
    is_modern = headers.get(MCP_PROTOCOL_VERSION_HEADER) in MODERN_VERSIONS
    is_json = headers.get("content-type", "").lower().startswith(CONTENT_TYPE_JSON)
    is_accepted = is_modern and is_json and accepts_both(headers.get("accept", ""))
    return headers if is_accepted and "mcp-session-id" not in headers else None


@lru_cache(maxsize=32)
def accepts_both(accept: str) -> bool:
    """Return whether an `Accept` header has JSON and streams of events."""
    request = Request({"type": "http", "headers": [(b"accept", accept.encode("latin-1"))]})
    return check_accept_headers(request) == (True, True)
