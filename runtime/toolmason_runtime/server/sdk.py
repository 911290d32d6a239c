"""Serve a dispatcher with the SDK's low-level server, in both protocol eras.

The first request of a connection decides the era: 2026-07-28, where requests are independent, or 2025-11-25 and
earlier, with a handshake and requests from the server to the client.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property, partial
from typing import Any, Final, cast

import anyio
from mcp import types
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import ServerMessageMetadata
from mcp.types import methods
from mcp.types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError
from toolmason_runtime.audit import events
from toolmason_runtime.audit.http import mark_reached, origin
from toolmason_runtime.calls.call import Level
from toolmason_runtime.calls.principal import Principal
from toolmason_runtime.calls.request_context import RequestContext, malformed_answer, refused_by_client
from toolmason_runtime.discovery.results import time_limit_result
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.server.subscribers import Subscribers
from toolmason_runtime.server.telemetry import is_tracing
from toolmason_runtime.shared.errors import METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, MethodError
from toolmason_runtime.shared.server_info import server_info
from toolmason_runtime.transports.http_lean import OPENED, HttpContext, LeanServer
from toolmason_runtime.wire.requests import DEFAULT_LEVEL, TASK_METHODS, declared_extensions, request_shape

LIST_CACHE_HINT: Final = CacheHint(ttl_ms=3_600_000, scope="private")
"""The lists are constant for the process, but the names of tools, also in texts, depend on the client."""
LISTS: Final[tuple[CacheableMethod, ...]] = (
    *("server/discover", "tools/list", "prompts/list"),
    *("resources/list", "resources/templates/list"),
)
METHODS: Final[Mapping[str, type[BaseModel]]] = {
    "tools/list": types.PaginatedRequestParams,
    "tools/call": types.CallToolRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "prompts/get": types.GetPromptRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "completion/complete": types.CompleteRequestParams,
    "skills/list": types.PaginatedRequestParams,
    "skills/get": types.ReadResourceRequestParams,
    "resources/directory/read": types.ReadResourceRequestParams,
}
"""The methods that a dispatcher may answer, with the parameters as the SDK checks them."""
_OF_SKILLS: Final = frozenset({"skills/list", "skills/get", "resources/directory/read"})
"""The methods to whose results the SDK adds no cache hints."""
_SKILLS_CACHE: Final = {"ttlMs": 0, "cacheScope": "private"}

_log = logging.getLogger(__name__)


def sdk_server(
    dispatcher: Dispatcher, *, state_keys: Sequence[str] = (), call_timeout_s: float | None = None
) -> Server[None]:
    """Return the SDK's server for `dispatcher`, whose lifespan ends with the last connection.

    Args:
        dispatcher: answers the requests.
        state_keys: keys that seal the `requestState` of clients (2026-07-28), shared by all processes of the server; by
            default a key of this process.
        call_timeout_s: maximum seconds of a call of a tool; None for no limit.
    """
    levels = _Levels()
    server = _Server(
        declared_extensions(dispatcher.methods),
        **dict(types.Implementation.model_validate(server_info(dispatcher.server))),
        instructions=dispatcher.instructions("") or None,
        cache_hints={**dict.fromkeys(LISTS, LIST_CACHE_HINT), "resources/read": CacheHint()},
        lifespan=_ConnectionCounter(dispatcher).lifespan,
        get_tool_input_schema=lambda name: _input_schema(dispatcher, name),
    )

    async def answer(method: str, params: Mapping[str, Any], request: SdkContext | HttpContext) -> dict[str, Any]:
        request.call_timeout_s = call_timeout_s if method == "tools/call" else None
        try:
            coroutine = dispatcher.dispatch(method, params, request)
            timeout_s = request.call_timeout_s
            result = await (coroutine if timeout_s is None else _in_time(coroutine, timeout_s))
        except MethodError as error:
            if request.is_modern and error.code == RESOURCE_NOT_FOUND:
                error.code = types.INVALID_PARAMS
            raise
        if result.get("resultType") == "input_required":
            return result | {"requestState": request.responses_so_far()}
        return result

    async def forward(ctx: ServerRequestContext[None], params: BaseModel) -> dict[str, Any]:  # noqa: ARG001  raw is exact
        request = SdkContext(ctx, levels.of(ctx))
        result = await answer(ctx.method, ctx.params or {}, request)
        if not request.is_modern or result.get("resultType") == "input_required":
            return result
        hint = _SKILLS_CACHE if ctx.method in _OF_SKILLS else {}
        return {"resultType": "complete", **hint, **result}

    async def answer_in_session(ctx: ServerRequestContext[None]) -> dict[str, Any]:
        async def give(ctx: ServerRequestContext[None]) -> HandlerResult:
            return await answer(ctx.method, ctx.params or {}, SdkContext(ctx, levels.of(ctx)))

        return cast("dict[str, Any]", await _hide_internal_errors(ctx, give))

    async def set_level(ctx: ServerRequestContext[None], params: types.SetLevelRequestParams) -> types.EmptyResult:
        levels.set(ctx, params.level)
        return types.EmptyResult()

    for method, params_type in METHODS.items():
        if method in dispatcher.methods:
            server.add_request_handler(method, params_type, forward)
    for method in TASK_METHODS:
        server.add_request_handler(method, types.RequestParams, partial(_answer_task, dispatcher))
    Subscribers(dispatcher, forward, lambda ctx: SdkContext(ctx, DEFAULT_LEVEL)).serve(server)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, set_level)
    server.middleware.append(_note_session)
    server.middleware.append(_hide_internal_errors)
    if dispatcher.server["instructions"]:
        server.middleware.append(partial(_instruct, dispatcher))
    security = RequestStateSecurity(keys=state_keys) if state_keys else RequestStateSecurity.ephemeral()
    boundary = RequestStateBoundary(security, default_audience=server.name)
    server.middleware.append(boundary)
    server.lean = LeanServer(
        dispatcher,
        METHODS.keys() & dispatcher.methods.keys(),
        answer,
        answer_in_session,
        partial(_seal, boundary),
        partial(_input_schema, dispatcher),
        principal_of,
        lambda: not is_tracing(),
    )
    return server


async def _seal(
    boundary: RequestStateBoundary, method: str, params: Mapping[str, Any], result: dict[str, Any]
) -> dict[str, Any]:
    """Return a result that is `input_required` with its state sealed, as the SDK seals it."""
    ctx = ServerRequestContext[None, Any](
        session=cast("Any", None), lifespan_context=None, protocol_version=_MODERN, method=method, params=params
    )

    async def give(ctx: ServerRequestContext[Any, Any]) -> HandlerResult:  # noqa: ARG001  the SDK gives it
        return result

    return cast("dict[str, Any]", await boundary(ctx, give))


async def _answer_task(
    dispatcher: Dispatcher,
    ctx: ServerRequestContext[None],
    params: types.RequestParams,  # noqa: ARG001  raw is exact
) -> dict[str, Any]:
    """Answer a request about a task (2026-07-28)."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        raise MethodError(METHOD_NOT_FOUND, "Method not found", ctx.method)
    raw = ctx.params or {}
    shape = request_shape(ctx.method, is_modern=True)
    if shape is None or not shape(raw):
        raise MethodError(types.INVALID_PARAMS, "Invalid request parameters", "")
    name = ctx.request.headers.get(MCP_NAME_HEADER) if ctx.request is not None else None
    if name is not None and decode_header_value(name) != raw["taskId"]:
        raise MethodError(types.HEADER_MISMATCH, f"{MCP_NAME_HEADER} header does not match the parameter 'taskId'")
    return await dispatcher.dispatch(ctx.method, raw, SdkContext(ctx, DEFAULT_LEVEL))


async def _in_time(work: Awaitable[dict[str, Any]], timeout_s: float) -> dict[str, Any]:
    """Return the result of a call, or an error for the model if it takes too long."""
    try:
        async with asyncio.timeout(timeout_s) as timeout:
            return await work
    except TimeoutError:
        if not timeout.expired():
            raise
        return time_limit_result(timeout_s)


class _Server(Server[None]):
    """A server whose lists never change; the SDK assumes that they do as soon as clients can subscribe to resources."""

    lean: LeanServer | None = None
    """Its functions for the lean engine over HTTP."""

    def __init__(self, extensions: dict[str, Any], **options: Any) -> None:
        super().__init__(**options)
        self._declared = extensions

    def get_capabilities(self, *args: Any, **kwargs: Any) -> types.ServerCapabilities:
        capabilities = super().get_capabilities(*args, **kwargs)
        if self._declared:
            capabilities.extensions = self._declared
        for part in (capabilities.tools, capabilities.prompts, capabilities.resources):
            if part:
                part.list_changed = False
        if capabilities.resources:
            # Streams are served for tasks as well.
            capabilities.resources.subscribe = "resources/subscribe" in self._request_handlers
        return capabilities


async def _note_session(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Pass the session of a handshake over HTTP to the lean engine."""
    result = await call_next(ctx)
    if ctx.method == "initialize" and ctx.request is not None and (note := ctx.request.scope.get(OPENED)) is not None:
        note(ctx.session)
    return result


async def _hide_internal_errors(ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Log the text of exceptions; on older connections the SDK would send it to the client."""
    try:
        return await call_next(ctx)
    except MethodError as error:
        raise MCPError(error.code, error.message, error.data) from error
    except (MCPError, ValidationError) as error:
        _record_refusal(ctx, error)
        raise
    except Exception as error:
        _log.exception("%s failed", ctx.method)
        raise MCPError(types.INTERNAL_ERROR, "Internal server error") from error


async def _instruct(dispatcher: Dispatcher, ctx: ServerRequestContext[Any], call_next: CallNext) -> HandlerResult:
    """Return a result with the instructions for the client that asks."""
    result = await call_next(ctx)
    if ctx.method not in {"initialize", "server/discover"} or not isinstance(result, dict):
        return result
    declared = (ctx.params or {}).get("clientInfo") if ctx.method == "initialize" else None
    name = declared["name"] if declared else SdkContext(ctx, DEFAULT_LEVEL).client_name
    return {**result, "instructions": dispatcher.instructions(name)}


def _record_refusal(ctx: ServerRequestContext[Any], error: Exception) -> None:
    """Add a request that the SDK refuses to the audit log: its state or its parameters are invalid."""
    if events.active() is None:
        return
    from toolmason_runtime.audit.protocol_refusals import record_refusal

    request = SdkContext(ctx, DEFAULT_LEVEL)
    data = error.error.data if isinstance(error, MCPError) else None
    is_state = isinstance(data, dict) and data.get("reason") == "invalid_request_state"
    rule = "REQUEST_STATE" if is_state else "INVALID_REQUEST"
    principal = request.principal
    record_refusal(
        ctx.method, ctx.params or {}, rule, origin=request.origin, client=request.client_name, principal=principal
    )


class _ConnectionCounter:
    """Counts the open connections of a server, and closes the dispatcher after the last one."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._count = 0

    @asynccontextmanager
    async def lifespan(self, server: Server[None]) -> AsyncIterator[None]:  # noqa: ARG002  the SDK gives it
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                with anyio.CancelScope(shield=True):
                    await self._dispatcher.aclose()


class _Levels:
    """The log level of each client of 2025-11-25; the handshake parameters identify its connection."""

    def __init__(self) -> None:
        self._by_client: dict[int, Level] = {}

    def of(self, ctx: ServerRequestContext[Any]) -> Level:
        return self._by_client.get(id(ctx.session.client_params), DEFAULT_LEVEL)

    def set(self, ctx: ServerRequestContext[Any], level: Level) -> None:
        client = ctx.session.client_params
        if client is None:
            return
        if id(client) not in self._by_client:
            weakref.finalize(client, self._by_client.pop, id(client), None)
        self._by_client[id(client)] = level


class SdkContext(RequestContext):
    """The SDK's implementation of `Context`. `level` is the log level of the connection."""

    call_timeout_s: float | None = None
    """Maximum seconds of the request; None for no limit."""

    def __init__(self, ctx: ServerRequestContext[Any, Any], level: Level) -> None:
        super().__init__(ctx.params, level, is_modern=ctx.protocol_version in MODERN_PROTOCOL_VERSIONS)
        self._ctx = ctx
        if ctx.request is not None:
            mark_reached(ctx.request.scope)
            self.principal = principal_of(ctx.request.scope.get("user"))

    @cached_property
    def capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities, as sent."""
        declared = self._ctx.session.client_capabilities
        return {} if declared is None else declared.model_dump(by_alias=True, mode="json", exclude_none=True)

    @property
    def client_name(self) -> str:
        """The name in `clientInfo`: of the handshake, or of this request (2026-07-28)."""
        client = self._ctx.session.client_params
        return "" if client is None else client.client_info.name

    @property
    def origin(self) -> Mapping[str, Any]:
        """The transport, the client's version and address, the session and the request's id, for the audit log."""
        client = self._ctx.session.client_params
        request = self._ctx.request
        fields = {"transport": "stdio"} if request is None else {"transport": "http", **origin(request.scope)}
        version = None if client is None else client.client_info.version
        return {**fields, "client_version": version, "request": self._ctx.request_id}

    @property
    def has_progress_token(self) -> bool:
        """Whether the SDK sends the progress of this request."""
        return progress_token_from_params(self._ctx.params) is not None

    @property
    def is_local(self) -> bool:
        """Whether the client started this server: only HTTP has a request object of its own."""
        return self._ctx.request is None

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Send progress; the SDK drops it if the request has no token."""
        await self._ctx.session.report_progress(progress, total, message)

    async def _send_log(self, level: Level, data: Any, logger: str | None) -> None:
        params = types.LoggingMessageNotificationParams(level=level, data=data, logger=logger)
        notification = types.LoggingMessageNotification(params=params)
        await self._ctx.session.send_notification(notification, related_request_id=self._ctx.request_id)

    async def _send_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        request = cast("types.ServerRequest", methods.parse_server_request(method, _HANDSHAKE, params))
        related = ServerMessageMetadata(related_request_id=self._ctx.request_id)
        try:
            response = await self._ctx.session.send_request(request, _Response, metadata=related)
        except MCPError as error:
            raise refused_by_client(method, error.message) from error
        except ValidationError as error:
            raise malformed_answer(method) from error
        return response.model_dump(mode="json")


def principal_of(user: object) -> Principal | None:
    """Return the principal of an ASGI scope's `user`; None unless the SDK has verified an access token."""
    if not isinstance(user, AuthenticatedUser):
        return None
    token = user.access_token
    return Principal(
        subject=token.subject or "",
        scopes=frozenset(token.scopes),
        claims=token.claims or {},
        client_id=token.client_id,
    )


_HANDSHAKE: Final = "2025-11-25"
_MODERN: Final = "2026-07-28"


class _Response(BaseModel):
    """A client's response, which the SDK has validated for its method."""

    model_config = ConfigDict(extra="allow")


def _input_schema(dispatcher: Dispatcher, name: str) -> Mapping[str, Any] | None:
    tool = dispatcher.listed_tool(name)
    schema: Mapping[str, Any] | None = tool["inputSchema"] if tool else None
    return schema
