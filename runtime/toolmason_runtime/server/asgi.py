"""A server as an ASGI application, for uvicorn, hypercorn and gunicorn. Its settings come from the environment."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final

from starlette.types import ASGIApp, Receive, Scope, Send
from toolmason_runtime.audit.http import audited_http
from toolmason_runtime.audit.start import start_audit, stop_audit
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.server.sdk import sdk_server
from toolmason_runtime.server.telemetry import instrument
from toolmason_runtime.shared.catalogue import Catalogue
from toolmason_runtime.transports.bearer_token import read_token
from toolmason_runtime.transports.http import served_mcp
from toolmason_runtime.transports.http_access import LOOPBACK_NAMES, AccessError, Authorize, host_values, origin_value
from toolmason_runtime.transports.http_app import PATH, Extras, Middleware, Routes, http_app
from toolmason_runtime.transports.http_settings import HttpSettings, http_settings, variable
from toolmason_runtime.transports.open_access import needs_token, opened

_NO_PORT: Final = 0
_log = logging.getLogger(__name__)


def http_server(dispatcher: Dispatcher, settings: HttpSettings) -> Any:
    """Return the SDK's server for HTTP."""
    dispatcher.state_key = next(iter(settings.state_keys), "")
    server = sdk_server(dispatcher, state_keys=settings.state_keys, call_timeout_s=settings.call_timeout_s)
    instrument(server, dispatcher)
    return server


def authorize(catalogue: Catalogue, flags: Mapping[str, str | None], token: str) -> Authorize | None:
    """Return the check of access tokens; None for a server without `[server.auth]`, whose keys `flags` replace.

    Raises:
        AccessError: a setting is invalid.
    """
    if "auth" not in catalogue["server"]:
        return None
    from toolmason_runtime.server.authorization import authorization

    return authorization(catalogue, flags, token=token)


class AsgiApp:
    """The application of a server. Its lifespan, which the ASGI server must run, opens and closes the server.

    Args:
        catalogue: the tools and settings of the server.
        build_dispatcher: returns what answers the requests.
        command: command of the server, with which the variables of its settings begin.
        routes: returns the author's routes.
        middleware: wraps MCP and the routes.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        build_dispatcher: Callable[[], Dispatcher],
        *,
        command: str,
        routes: Routes | None = None,
        middleware: Middleware | None = None,
    ) -> None:
        self._catalogue = catalogue
        self._build_dispatcher = build_dispatcher
        self._command = command
        self._routes = routes
        self._middleware = middleware
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or open and close the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is None:
            raise RuntimeError(
                "the server has not started: run the application with its lifespan (uvicorn --lifespan on)"
            )
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            running = self._open()
        except (AccessError, ValueError) as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        async with running:
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self._app = None
        stop_audit()
        await send({"type": "lifespan.shutdown.complete"})

    def _open(self) -> AbstractAsyncContextManager[None]:
        settings = http_settings(self._command)
        token = read_token(Path(settings.token_file)) if settings.token_file else ""
        check = authorize(self._catalogue, {}, token)
        self._require_token(settings, has_token=bool(token or check))
        served = served_mcp(
            http_server(self._build_dispatcher(), settings),
            settings.state_keys,
            settings.max_client_sessions,
            is_lean=settings.is_lean,
        )
        names = (*settings.allowed_hosts, *LOOPBACK_NAMES)
        app = http_app(
            served.endpoint,
            Extras(
                routes=self._routes,
                middleware=self._middleware,
                max_requests=settings.max_requests,
                max_client_requests=settings.max_client_requests,
            ),
            hosts=[host_values(name, _NO_PORT)[0] for name in names],
            origins=[origin_value(origin) for origin in settings.allowed_origins],
            token=token,
            authorize=check,
            any_port=True,
        )
        start_audit(self._catalogue["server"], self._command, transport="http")
        self._app = audited_http(app, path=PATH)
        return served.run(app)

    def _require_token(self, settings: HttpSettings, *, has_token: bool) -> None:
        """Refuse to start without a token: an application does not know its listener, or the proxy in front of it."""
        if has_token:
            return
        open_variable = variable(self._command, "OPEN")
        if not settings.is_open:
            reason = "an ASGI server may listen on any address and behind any proxy"
            raise AccessError(needs_token(reason, variable(self._command, "TOKEN_FILE"), open_variable))
        _log.warning("%s", opened(open_variable))
