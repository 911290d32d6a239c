"""The ASGI application of a server: MCP, routes of the author, a health check, access checks and limits.

Only HTTP is served: the access checks do not see WebSockets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import BaseRoute, Match, Route, Router, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose
from toolmason_runtime.audit import events
from toolmason_runtime.transports.http_access import Authorize, guarded
from toolmason_runtime.transports.limits import BODY_TIMEOUT_S, MAX_REQUESTS, client_share, limited, limited_by_client
from toolmason_runtime.transports.open_access import direct_only

PATH: Final = "/mcp"
HEALTH_PATH: Final = "/healthz"
METADATA_PATH: Final = "/.well-known/oauth-protected-resource"
"""Beginning of the path of the metadata (RFC 9728), which the check of access tokens serves."""

Routes = Callable[[], Sequence[BaseRoute]]
"""A function of the handlers that returns further routes of the server."""
Middleware = Callable[[ASGIApp], ASGIApp]
"""A function of the handlers that wraps MCP and the routes; it sees the requests that the access checks accept."""
Endpoint = TypeVar("Endpoint", bound=Callable[..., object])

PART_BYTES: Final = 262_144
"""Bytes of a body that are sent in one turn of the event loop."""
_PUBLIC: Final = "is_public"
_POLICY_VIOLATION: Final = 1008
"""Status of RFC 6455, section 7.4.1, for a WebSocket that is refused."""
_AMBIGUOUS: Final = PlainTextResponse(
    "Content-Length and Transfer-Encoding exclude each other.\n", 400, headers={"Connection": "close"}
)
_NO_AUDIT: Final = JSONResponse(
    {"status": "the audit log cannot be written"}, 503, headers={"Cache-Control": "no-store"}
)
_HEALTHY: Final = JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """The author's additions to a server over HTTP, and its limits of concurrent requests."""

    routes: Routes | None = None
    middleware: Middleware | None = None
    max_requests: int = MAX_REQUESTS
    max_client_requests: int = client_share(MAX_REQUESTS)


def public(endpoint: Endpoint) -> Endpoint:
    """Mark the endpoint of a route as public: it is answered without authorization.

    Host and Origin are checked nevertheless.
    """
    setattr(getattr(endpoint, "__func__", endpoint), _PUBLIC, True)
    return endpoint


def http_app(
    endpoint: ASGIApp,
    extras: Extras,
    *,
    hosts: Sequence[str],
    origins: Sequence[str] = (),
    token: str = "",
    authorize: Authorize | None = None,
    any_port: bool = False,
    is_direct: bool = False,
    body_timeout_s: float | None = BODY_TIMEOUT_S,
) -> ASGIApp:
    """Return the application that serves MCP with `endpoint` at `/mcp`.

    Args:
        endpoint: handles the requests of MCP.
        extras: routes, middleware and limits.
        hosts: allowed `Host` headers, in lower case.
        origins: allowed origins of web pages.
        token: bearer token that every request needs, except those of public routes; empty for none.
        authorize: adds the check of access tokens, which replaces that of `token`.
        any_port: compare the hosts without their ports.
        is_direct: refuse requests that a proxy passed on.
        body_timeout_s: seconds until a body must be complete; None if the ASGI server limits the time itself.

    Raises:
        ValueError: a route has the path of MCP or of the health check, or is a WebSocket.
    """
    routes = list(extras.routes()) if extras.routes else []
    _check_routes(routes)
    app: ASGIApp = _only_at_path(endpoint, Router(routes, default=_not_found))
    if extras.middleware:
        app = extras.middleware(app)
    app = limited_by_client(app, extras.max_client_requests)
    guard = partial(guarded, app, hosts=hosts, origins=origins, any_port=any_port)
    protected = guard(token=token, authorize=authorize)
    if any(map(_is_public, routes)):
        private_paths = (PATH, METADATA_PATH) if authorize else (PATH,)
        protected = _split(routes, guard(), protected, private_paths)
    if is_direct:
        protected = direct_only(protected)
    return _only_http(_with_health(limited(_in_parts(protected), extras.max_requests, body_timeout_s=body_timeout_s)))


def _is_public(route: BaseRoute) -> bool:
    """Return whether the endpoint itself is marked; a class does not inherit the mark."""
    return isinstance(route, Route) and getattr(route.endpoint, "__dict__", {}).get(_PUBLIC) is True


def _check_routes(routes: Sequence[BaseRoute]) -> None:
    reserved = {PATH, f"{PATH}/", HEALTH_PATH}
    for route in routes:
        path = getattr(route, "path", "")
        is_socket = isinstance(route, WebSocketRoute)
        if is_socket:
            raise ValueError(f"the route {path} must not be a WebSocket: only HTTP is served")
        if path in reserved:
            raise ValueError(f"a route must not have the path {path}, which the server itself answers")


def _split(
    routes: Sequence[BaseRoute], public_app: ASGIApp, private_app: ASGIApp, private_paths: Sequence[str]
) -> ASGIApp:
    """Pass requests for public routes to `public_app`, except those at or below `private_paths`.

    As in the router, the first matching route counts: a public `/{path:path}` opens no earlier route.
    """

    def choosing(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        matching = (route for route in routes if route.matches(scope)[0] is Match.FULL)
        is_own = any(f"{scope['path']}/".startswith(f"{path}/") for path in private_paths)
        is_open = not is_own and any(map(_is_public, islice(matching, 1)))
        return (public_app if is_open else private_app)(scope, receive, send)

    return choosing


def _only_at_path(endpoint: ASGIApp, others: ASGIApp) -> ASGIApp:
    # The author's middleware gets it, and treats a function that is not `async` as an application of ASGI 2.
    async def routing(scope: Scope, receive: Receive, send: Send) -> None:
        is_mcp = scope["path"].removesuffix("/") == PATH
        await (endpoint if is_mcp else others)(scope, receive, send)

    return routing


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(f"MCP is served at {PATH}.\n", 404)(scope, receive, send)


def _only_http(app: ASGIApp) -> ASGIApp:
    """Refuse WebSockets, which a mount of the author could accept, and requests with two lengths.

    Our own listener refuses more forms of ambiguous requests; other ASGI servers pass this one on.
    """

    async def checking(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await WebSocketClose(_POLICY_VIOLATION)(scope, receive, send)
            return
        is_ambiguous = {b"content-length", b"transfer-encoding"} <= {name.lower() for name, _ in scope["headers"]}
        await (_AMBIGUOUS if is_ambiguous else app)(scope, receive, send)

    return checking


def _in_parts(app: ASGIApp) -> ASGIApp:
    """Send a large body as fast as the client reads: at once, it exceeds the limit of unsent bytes."""

    def sending(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        def send_parts(message: Message) -> Awaitable[None]:
            is_large = message["type"] == "http.response.body" and len(message.get("body", b"")) > PART_BYTES
            return _send_parts(message, send) if is_large else send(message)

        return app(scope, receive, send_parts)

    return sending


async def _send_parts(message: Message, send: Send) -> None:
    body = message["body"]
    for start in range(0, len(body), PART_BYTES):
        part = bytes(body[start : start + PART_BYTES])
        is_last = start + len(part) == len(body) and not message.get("more_body", False)
        await send({"type": "http.response.body", "body": part, "more_body": not is_last})
        await asyncio.sleep(0)


def _with_health(app: ASGIApp) -> ASGIApp:
    """Answer health checks before all others: balancers send no token, and an address as host."""

    def checking(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        is_check = scope["path"] == HEALTH_PATH and scope["method"] in {"GET", "HEAD"}
        return (_health() if is_check else app)(scope, receive, send)

    return checking


def _health() -> JSONResponse:
    """Return the answer of a health check: a server that cannot write its audit log refuses all calls."""
    log = events.active()
    return _HEALTHY if log is None or log.is_available() else _NO_AUDIT
