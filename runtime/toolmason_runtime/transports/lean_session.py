"""Answers the valid requests of an open session of 2025-11-25 or earlier in the task of their POST request.

The SDK passes each request through two streams, a further task, and several models. Here the server's function is
called directly. The SDK handles everything else of a session: the handshake, cancellation, requests to the client,
and the events of a stream that has more than its response.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import CallOptions, coerce_request_id
from mcp.shared.jsonrpc_dispatcher import (
    JSONRPCDispatcher,
    _InFlight,
    _JSONRPCDispatchContext,
    handler_exception_to_error_data,
    progress_token_from_params,
)
from mcp.shared.transport_context import TransportContext
from mcp.types import ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse
from starlette.requests import Request
from toolmason_runtime.transports.http_lean import TRACE, LeanServer
from toolmason_runtime.wire.requests import PROTOCOL_VERSION, meta_of, request_shape

if TYPE_CHECKING:
    import anyio

_TRANSPORT: Final = TransportContext(kind="jsonrpc", can_send_request=True)
_log = logging.getLogger(__name__)


class LeanSession:
    """One session: its connection in the SDK, and the running requests that are answered here."""

    def __init__(self, server: LeanServer) -> None:
        self._server = server
        self._connection: Connection | None = None
        self._running: set[_Cancellation] = set()

    def open(self, session: ServerSession) -> None:
        """Store the connection of the handshake."""
        self._connection = session._connection  # noqa: SLF001  the SDK has no public attribute

    def accepts(self, message: JSONRPCRequest, request: Request) -> bool:
        """Return whether a request is valid, and needs no feature that only the SDK has."""
        if message.method not in self._server.methods or not self._is_open():
            return False
        params = message.params or {}
        shape = request_shape(message.method, is_modern=False)
        meta = meta_of(params)
        return (
            shape is not None
            and shape(params)
            and PROTOCOL_VERSION not in meta
            and TRACE not in meta
            and TRACE not in request.headers
            and params.get("requestState") is None
            and self._server.is_usable()
        )

    async def answer(
        self, message: JSONRPCRequest, request: Request, on_message: Callable[[], None]
    ) -> JSONRPCResponse | JSONRPCError | None:
        """Return the response to an accepted request; None if the client has cancelled it, or the session ends.

        `on_message` is called before the SDK sends another message of the request.
        """
        connection = self._connection
        assert connection is not None  # noqa: S101  the request was accepted
        dispatcher: Any = connection.outbound
        call = _Call(on_message, dispatcher, message)
        cancellation = _Cancellation()
        running = dispatcher._in_flight  # noqa: SLF001  where the SDK looks up what a client cancels
        key = coerce_request_id(message.id)
        entry = running[key] = _InFlight(cast("anyio.CancelScope", cancellation), call)
        self._running.add(cancellation)
        answer = None
        try:
            answer = await self._response(message, _context(message, request, call, connection))
        except asyncio.CancelledError:
            if not cancellation.is_requested:
                raise
        finally:
            call.close()
            self._running.discard(cancellation)
            if running.get(key) is entry:
                del running[key]
            is_stopped = cancellation.is_stopped_otherwise()
        if is_stopped:
            raise asyncio.CancelledError
        return None if cancellation.is_requested else answer

    def end(self) -> None:
        """Cancel the running requests."""
        for cancellation in list(self._running):
            cancellation.cancel()

    def _is_open(self) -> bool:
        return self._connection is not None and self._connection.client_params is not None

    async def _response(
        self, message: JSONRPCRequest, ctx: ServerRequestContext[None]
    ) -> JSONRPCResponse | JSONRPCError:
        try:
            result = await self._server.answer_in_session(ctx)
            return JSONRPCResponse(jsonrpc="2.0", id=message.id, result=result)
        except Exception as error:  # noqa: BLE001  as in the SDK: each request gets a response
            data = handler_exception_to_error_data(error)
            if data is None:
                _log.exception("%s failed", message.method)
                data = ErrorData(code=0, message=str(error))
            return JSONRPCError(jsonrpc="2.0", id=message.id, error=data)


class _Cancellation:
    """Cancels the task of a request. A scope of anyio would cost as much as the rest of a call."""

    def __init__(self) -> None:
        self.is_requested = False
        self._task = asyncio.current_task()

    def cancel(self) -> None:
        """Cancel the request, once."""
        if not self.is_requested and self._task is not None:
            self.is_requested = True
            self._task.cancel()

    def is_stopped_otherwise(self) -> bool:
        """Undo the cancellation of the task at the end of the request; return whether another one remains."""
        return self.is_requested and self._task is not None and self._task.uncancel() > 0


class _Call(_JSONRPCDispatchContext[TransportContext]):
    """A request as the SDK sees it: its notifications, and requests to the client, belong to its stream."""

    def __init__(
        self, on_message: Callable[[], None], dispatcher: JSONRPCDispatcher[TransportContext], message: JSONRPCRequest
    ) -> None:
        token = progress_token_from_params(message.params)
        cancelled = cast("anyio.Event", asyncio.Event())  # one of anyio costs more
        super().__init__(_TRANSPORT, dispatcher, message.id, _progress_token=token, cancel_requested=cancelled)
        self._on_message = on_message

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        self._on_message()
        await super().notify(method, params, opts)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        self._on_message()
        return await super().send_raw_request(method, params, opts)


def _context(
    message: JSONRPCRequest, request: Request, call: _Call, connection: Connection
) -> ServerRequestContext[None]:
    return ServerRequestContext(
        session=ServerSession(call, connection),
        lifespan_context=None,
        method=message.method,
        params=message.params,
        request_id=message.id,
        protocol_version=connection.protocol_version,
        request=request,
    )
