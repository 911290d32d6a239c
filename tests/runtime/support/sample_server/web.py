"""What the author of the `sample` server adds over HTTP: two routes, and a wrapper that signs each answer."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send
from toolmason_runtime.serving import public


async def report(request: Request) -> Response:
    return PlainTextResponse(f"report of {request.path_params['name']}")


@public
async def hook(request: Request) -> Response:
    return PlainTextResponse((await request.body()).decode().upper())


def routes() -> list[BaseRoute]:
    return [Route("/reports/{name}", report), Route("/hook", hook, methods=["POST"])]


def reserved_routes() -> list[BaseRoute]:
    return [Route("/mcp", report)]


def middleware(app: ASGIApp) -> ASGIApp:
    async def signing(scope: Scope, receive: Receive, send: Send) -> None:
        async def signed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"x-signed", b"sample")]}
            await send(message)

        await app(scope, receive, signed)

    return signing
