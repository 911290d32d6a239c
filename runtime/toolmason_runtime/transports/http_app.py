"""The ASGI application of a server: MCP, routes of the author, a health check, access checks and limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send
from toolmason_runtime.transports.http_access import Authorize, guarded
from toolmason_runtime.transports.limits import MAX_REQUESTS, limited

PATH: Final = "/mcp"
HEALTH_PATH: Final = "/healthz"

Routes = Callable[[], Sequence[BaseRoute]]
"""A function of the handlers that returns further routes of the server."""
Middleware = Callable[[ASGIApp], ASGIApp]
"""A function of the handlers that wraps MCP and the routes; it sees the requests that the access checks accept."""
Endpoint = TypeVar("Endpoint", bound=Callable[..., object])

_HEALTHY: Final = JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """The author's additions to a server over HTTP, and its limit of concurrent requests."""

    routes: Routes | None = None
    middleware: Middleware | None = None
    max_requests: int = MAX_REQUESTS


def public(endpoint: Endpoint) -> Endpoint:
    """Mark the endpoint of a route as public: it is answered without authorization.

    Host and Origin are checked nevertheless.
    """
    vars(endpoint)["is_public"] = True
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

    Raises:
        ValueError: a route has the path of MCP or of the health check.
    """
    routes = list(extras.routes()) if extras.routes else []
    _check_paths(routes)
    app: ASGIApp = _only_at_path(endpoint, Router(routes, default=_not_found))
    if extras.middleware:
        app = extras.middleware(app)
    guard = partial(guarded, app, hosts=hosts, origins=origins, any_port=any_port)
    protected = guard(token=token, authorize=authorize)
    open_routes = [route for route in routes if isinstance(route, Route) and _is_public(route)]
    if open_routes:
        protected = _split(open_routes, guard(), protected)
    return _with_health(limited(protected, extras.max_requests))


def _is_public(route: Route) -> bool:
    return getattr(route.endpoint, "is_public", False) is True


def _check_paths(routes: Sequence[BaseRoute]) -> None:
    reserved = {PATH, f"{PATH}/", HEALTH_PATH}
    for route in routes:
        path = getattr(route, "path", "")
        if path in reserved:
            raise ValueError(f"a route must not have the path {path}, which the server itself answers")


def _split(routes: Sequence[Route], matching: ASGIApp, others: ASGIApp) -> ASGIApp:
    async def choosing(scope: Scope, receive: Receive, send: Send) -> None:
        is_match = any(route.matches(scope)[0] is Match.FULL for route in routes)
        await (matching if is_match else others)(scope, receive, send)

    return choosing


def _only_at_path(endpoint: ASGIApp, others: ASGIApp) -> ASGIApp:
    async def routing(scope: Scope, receive: Receive, send: Send) -> None:
        is_mcp = scope["path"].removesuffix("/") == PATH
        await (endpoint if is_mcp else others)(scope, receive, send)

    return routing


async def _not_found(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse(f"MCP is served at {PATH}.\n", 404)(scope, receive, send)


def _with_health(app: ASGIApp) -> ASGIApp:
    """Answer health checks before all others: balancers send no token, and an address as host. Refuse WebSockets."""

    async def checking(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the access checks are for HTTP
            await send({"type": "websocket.close", "code": 1008})
            return
        is_check = scope["path"] == HEALTH_PATH and scope["method"] in {"GET", "HEAD"}
        await (_HEALTHY if is_check else app)(scope, receive, send)

    return checking
