"""The application of a server: which requests reach MCP, and which the author's routes, without authorization."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from starlette.endpoints import HTTPEndpoint
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket
from toolmason_runtime.serving import public
from toolmason_runtime.transports.http_app import Extras, http_app

pytestmark = pytest.mark.anyio

TOKEN = "token-of-this-test"


async def mcp(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("mcp")(scope, receive, send)


async def report(_: Request) -> Response:
    return PlainTextResponse("report")


@public
async def page(_: Request) -> Response:
    return PlainTextResponse("page")


@public
class Form(HTTPEndpoint):
    async def post(self, _: Request) -> Response:
        return PlainTextResponse("form")


class PrivateForm(Form):
    pass


class Shop:
    @public
    async def window(self, _: Request) -> Response:
        return PlainTextResponse("window")


async def echo(_: WebSocket) -> None:
    raise AssertionError("a WebSocket was accepted")


ROUTES: list[BaseRoute] = [
    Route("/report", report),
    Route("/form", Form),
    Route("/private-form", PrivateForm),
    Route("/window", Shop().window),
    Mount("/sockets", routes=[WebSocketRoute("/echo", echo)]),
    Route("/{path:path}", page, methods=["GET", "POST"]),
]


def app(*routes: BaseRoute) -> ASGIApp:
    return http_app(mcp, Extras(routes=lambda: routes or ROUTES), hosts=["localhost"], token=TOKEN)


async def messages(scope: Scope) -> list[Any]:
    """Return what the application sends."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app()({"headers": [(b"host", b"localhost")], "query_string": b"", **scope}, receive, send)
    return sent


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/mcp", 401),
        ("POST", "/mcp/", 401),
        ("GET", "/mcp", 401),
        ("GET", "/report", 401),
        ("POST", "/private-form", 401),
        ("GET", "/sockets/echo", 401),
        ("GET", "/anything", 200),
        ("POST", "/form", 200),
        ("GET", "/window", 200),
    ],
)
async def test_a_public_route_opens_nothing_but_itself(method: str, path: str, expected: int) -> None:
    start, *_ = await messages({"type": "http", "method": method, "path": path})

    assert start["status"] == expected


@pytest.mark.parametrize("path", ["/sockets/echo", "/mcp", "/healthz"])
async def test_websockets_are_refused_because_no_check_sees_them(path: str) -> None:
    [message] = await messages({"type": "websocket", "path": path})

    assert (message["type"], message["code"]) == ("websocket.close", 1008)


def test_a_route_for_websockets_ends_the_start() -> None:
    with pytest.raises(ValueError, match="the route /echo must not be a WebSocket: only HTTP is served"):
        app(WebSocketRoute("/echo", echo))


async def test_middleware_gets_an_application_of_asgi_3() -> None:
    """asgiref, which OpenTelemetry uses, and Sentry take a function that is not `async` for one of ASGI 2."""
    given: list[ASGIApp] = []

    def middleware(inner: ASGIApp) -> ASGIApp:
        given.append(inner)
        return inner

    http_app(mcp, Extras(middleware=middleware), hosts=["localhost"])

    assert [inspect.iscoroutinefunction(inner) for inner in given] == [True]
