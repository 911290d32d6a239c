"""Access to the review pages: the token, the Host and Origin of requests, and headers that isolate the pages."""

from __future__ import annotations

import hmac
from typing import Final
from urllib.parse import quote

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from workbench_handlers.editing.surfaces.pages.address import HOST, ReviewPages

COOKIE: Final = "review"
HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class AccessMiddleware:
    """Answers only requests of the person's own browser for these pages."""

    def __init__(self, app: ASGIApp, pages: ReviewPages) -> None:
        self._app, self._pages = app, pages
        # DNS rebinding sends the name of another host.
        self._hosts = {f"{HOST}:{pages.port}", f"localhost:{pages.port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""

        async def send_isolated(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        app: ASGIApp = _refused("No such page.", 404)
        if scope["type"] == "http":
            app = self._intercept(Request(scope)) or self._app
        await app(scope, receive, send_isolated)

    def _intercept(self, request: Request) -> Response | None:
        """Return a refusal, or the page that stores the token of the address; None if the request has access."""
        host = request.headers.get("host", "").lower()
        if host not in self._hosts:
            return _refused("This host is not served here.", 421)
        # Browsers send the origin with every POST, so a request without it does not come from these pages.
        if request.method not in {"GET", "HEAD"} and request.headers.getlist("origin") != [f"http://{host}"]:
            return _refused("Requests from other pages are refused.", 403)
        if request.method in {"GET", "HEAD"} and (token := request.query_params.get("token")) is not None:
            return self._entrance(request.url.path) if self._is_token(token) else _refused(_NO_TOKEN, 403)
        return None if self._is_token(request.cookies.get(COOKIE, "")) else _refused(_NO_TOKEN, 403)

    def _is_token(self, value: str) -> bool:
        return hmac.compare_digest(value.encode("utf-8", "replace"), self._pages.token.encode())

    def _entrance(self, path: str) -> Response:
        """Return a page that stores the token in a cookie and opens the address without it.

        A redirect would fail: after a click in a page of another site, browsers do not send a strict cookie.
        """
        target = quote(path) if path.startswith(self._pages.path()) else self._pages.path()
        response = HTMLResponse(f'<!doctype html><meta http-equiv="refresh" content="0; url={target}"><p>Opening ...')
        response.set_cookie(COOKIE, self._pages.token, path=self._pages.path(), httponly=True, samesite="strict")
        return response


_NO_TOKEN: Final = "This page opens only with its complete address, which `toolmason-workbench review --web` prints."  # noqa: S105


def _refused(reason: str, status: int) -> Response:
    return PlainTextResponse(f"{reason}\n", status)
