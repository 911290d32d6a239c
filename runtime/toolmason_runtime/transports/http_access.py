"""Check Host, Origin and bearer token of HTTP requests before their bodies are read."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Sequence

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from toolmason_runtime.audit import events

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

_log = logging.getLogger(__name__)
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?P<port>:\d{1,5})?")
"""`tools.example`, `127.0.0.1:8000`, `[::1]:8000`."""
_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://" + _HOST.pattern)
"""`https://app.example:8443`, without a path."""


class AccessError(ValueError):
    """An access setting of a server is invalid."""


def host_values(name: str, port: int) -> tuple[str, ...]:
    """Return the `Host` headers that `name` allows for a server on `port`.

    `tools.example` allows the name without a port, as behind a proxy on a standard port, and with the server's port.
    `tools.example:9000` allows only that port.

    Raises:
        AccessError: `name` is neither a host name nor an address.
    """
    match = _HOST.fullmatch(bracketed(name))
    if match is None:
        raise AccessError(f"`{name}` is not a host; write NAME or NAME:PORT, such as `tools.example`")
    host = match[0].lower()
    return (host,) if match["port"] else (host, f"{host}:{port}")


def origin_value(origin: str) -> str:
    """Return `origin` as browsers send it.

    Raises:
        AccessError: it is not an origin.
    """
    if not _ORIGIN.fullmatch(origin):
        raise AccessError(f"`{origin}` is not an origin; write SCHEME://HOST, such as `https://app.example`")
    return origin.lower()


def bracketed(host: str) -> str:
    """Return `host` as a URL contains it: an IPv6 address in brackets."""
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host


Authorize = Callable[[ASGIApp], ASGIApp]
"""Returns an app behind a check of access tokens."""


def guarded(
    app: ASGIApp,
    *,
    hosts: Sequence[str],
    origins: Sequence[str] = (),
    token: str = "",
    authorize: Authorize | None = None,
    any_port: bool = False,
) -> ASGIApp:
    """Return `app` behind all three checks.

    `hosts` are the allowed `Host` headers in lower case; this check prevents DNS rebinding. A request without `Origin`
    comes from a program and passes; any other must come from a page of the same host, or of one of `origins`. Every
    request needs `token`, unless it is empty. `authorize` replaces this check. With `any_port`, `hosts` are compared
    without ports.
    """
    if authorize:
        app = authorize(app)
    elif token:
        app = _WithToken(app, token)
    if origins:
        # A preflight request has no token, so it is answered before the token check.
        app = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            # Browsers require it for requests from a public page to a loopback address.
            allow_private_network=True,
            expose_headers=["Mcp-Session-Id", "WWW-Authenticate"],
        )
    return _HostOriginMiddleware(app, frozenset(hosts), frozenset(origins), any_port=any_port)


class _HostOriginMiddleware:
    """Reject requests for other hosts and from pages of other origins."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str], origins: frozenset[str], *, any_port: bool) -> None:
        self._app = app
        self._hosts = hosts
        self._any_port = any_port
        self._origins = origins

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        refusal = self._refusal(Headers(scope=scope))
        return (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        host = headers.get("host", "").lower()
        if host not in self._hosts and not (self._any_port and _without_port(host) in self._hosts):
            events.note(rule="HOST")
            _log.warning("refused a request for another host: %.200r", host)
            return PlainTextResponse("This host is not served here; --allow-host allows one.\n", 421)
        for origin in headers.getlist("origin"):
            if origin.lower() not in self._origins | {f"http://{host}", f"https://{host}"}:
                events.note(rule="ORIGIN")
                _log.warning("refused a request from another origin: %.200r", origin)
                return PlainTextResponse("Pages of this origin are not answered; --allow-origin allows one.\n", 403)
        return None


def _without_port(host: str) -> str:
    match = _HOST.fullmatch(host)
    return match["name"] if match else ""


class _WithToken:
    """Reject requests without the bearer token (RFC 6750)."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        refusal = self._refusal(Headers(scope=scope))
        return (refusal or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> Response | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            events.note(rule="TOKEN_MISSING")
            return _unauthorized("A bearer token is required.", "Bearer")
        if not hmac.compare_digest(token.strip().encode(), self._token):
            events.note(rule="TOKEN_WRONG")
            return _unauthorized("The bearer token is wrong.", 'Bearer error="invalid_token"')
        return None


def _unauthorized(reason: str, challenge: str) -> Response:
    return PlainTextResponse(f"{reason}\n", 401, headers={"WWW-Authenticate": challenge})
