"""Routes beside MCP: one for authorized requests, and a public one for all other paths."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from toolmason_runtime.serving import public


async def me(request: Request) -> Response:
    token = request.scope["user"].access_token
    return JSONResponse([token.client_id, token.subject, token.scopes, token.claims["sub"]])


@public
async def page(_: Request) -> Response:
    return PlainTextResponse("page")


def routes() -> list[Route]:
    return [Route("/me", me), Route("/{path:path}", page, methods=["GET", "POST"])]
