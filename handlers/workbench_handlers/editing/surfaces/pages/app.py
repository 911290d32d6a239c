"""The routes of the review pages, and their server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any, Final

import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.store import Review, ReviewStore
from workbench_handlers.editing.surfaces.pages.access import AccessMiddleware
from workbench_handlers.editing.surfaces.pages.address import ReviewPages
from workbench_handlers.editing.surfaces.pages.decisions import RequestError, decision_of
from workbench_handlers.editing.surfaces.pages.render import file_sides, list_page, name_of, review_page
from workbench_handlers.editing.surfaces.person_text import awaits_decision, decide, status_text
from workbench_handlers.editing.text.diff import reveal

SURFACE: Final = "page"
MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Maximum bytes of a request: JSON needs up to six bytes for a character of the largest file."""

_STATIC: Final = {"review.css": "text/css", "review.js": "text/javascript"}


class _PageServer(uvicorn.Server):
    """A server that leaves the signals to its process."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture no signals."""
        yield


def page_server(store: ReviewStore, pages: ReviewPages) -> uvicorn.Server:
    """Return the server of the pages."""
    config = uvicorn.Config(
        AccessMiddleware(_App(store, pages).app, pages),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,  # addresses contain the token
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    return _PageServer(config)


class _App:
    """The pages of a store."""

    def __init__(self, store: ReviewStore, pages: ReviewPages) -> None:
        self._store, self._pages = store, pages
        routes = [
            Route("/", self._list),
            Route("/state", self._state),
            Route("/static/{name}", _static),
            Route("/r/{id}", self._review, methods=["GET"]),
            Route("/r/{id}", self._decide, methods=["POST"]),
        ]
        self.app = Starlette(routes=[Mount(pages.path().rstrip("/"), routes=routes)])

    def _list(self, request: Request) -> Response:  # noqa: ARG002  Starlette gives it
        return HTMLResponse(list_page(self._store.pending(), self._pages))

    def _review(self, request: Request) -> Response:
        review = self._find(request.path_params["id"])
        try:
            sides = [file_sides(self._store, review, index) for index in range(len(review.files))]
        except FileNotFoundError:
            raise HTTPException(404, "This review was removed.") from None
        state = self._state_of(review)
        return HTMLResponse(review_page(review, sides, state, self._pages))

    def _state(self, request: Request) -> Response:
        """Return the pending reviews, and the state of the review that a page shows."""
        review_id = request.query_params.get("id")
        return JSONResponse(self._state_of(self._find(review_id) if review_id else None))

    async def _decide(self, request: Request) -> Response:
        try:
            sent = await _body(request)
            return JSONResponse(await anyio.to_thread.run_sync(self._carry_out, request.path_params["id"], sent))
        except RequestError as error:
            return JSONResponse({"error": str(error)}, 400)

    def _carry_out(self, review_id: str, sent: dict[str, Any]) -> dict[str, Any]:
        review = self._find(review_id)
        try:
            text = decide(self._store, review, decision_of(self._store, review, sent, SURFACE))
        except ToolError as error:
            raise RequestError(reveal(error.message)) from None
        return {**self._state_of(review), "text": text}

    def _find(self, review_id: str) -> Review:
        review = self._store.get(review_id)
        if review is None:
            raise HTTPException(404, "There is no such review; it may have expired long ago.")
        return review

    def _state_of(self, review: Review | None) -> dict[str, Any]:
        pending = self._store.pending()
        following = [other for other in pending if review is None or other.id != review.id]
        state: dict[str, Any] = {"pending": [other.id for other in pending], "next": None}
        if following:
            state["next"] = {
                "url": self._pages.path(following[0].id),
                "name": name_of(following[0]),
            }
        if review is not None:
            state |= {"open": awaits_decision(self._store, review), "text": status_text(self._store, review)}
        return state


async def _body(request: Request) -> dict[str, Any]:
    """Return the JSON object of a request."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError("A decision is sent as JSON.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise RequestError("The text is too large.")
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise RequestError("A decision is sent as a JSON object.")
    return sent


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404)
    content = resources.files(__package__).joinpath("static", name).read_bytes()
    return Response(content, media_type=_STATIC[name])
