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

from workbench_handlers.editing.reviews.store import Decision, Review, ReviewStore
from workbench_handlers.editing.surfaces.pages.access import AccessMiddleware
from workbench_handlers.editing.surfaces.pages.address import ReviewPages
from workbench_handlers.editing.surfaces.pages.form_text import edited_bytes, form_text
from workbench_handlers.editing.surfaces.pages.render import FileSides, list_page, name_of, review_page
from workbench_handlers.editing.surfaces.person_text import awaits_decision, decide, status_text
from workbench_handlers.editing.text.diff import reveal
from workbench_handlers.editing.text.selection import count_parts, select_parts

SURFACE: Final = "page"
MAX_BODY_BYTES: Final = 64 * 1024 * 1024
"""Maximum bytes of a request: JSON needs up to six bytes for a character of the largest file."""
MAX_COMMENT_CHARS: Final = 20_000

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


class _RequestError(ValueError):
    """A decision that these pages would not send, or that cannot be carried out. The text is for the person."""


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
            sides = [self._sides(review, index) for index in range(len(review.files))]
        except FileNotFoundError:
            raise HTTPException(404, "This review was removed.") from None
        state = self._state_of(review)
        return HTMLResponse(review_page(review, sides, state, self._pages))

    def _sides(self, review: Review, index: int) -> FileSides:
        proposed, codec = self._store.proposed(review, index), review.files[index].encoding
        return FileSides(self._store.original(review, index), proposed, form_text(proposed, codec), codec)

    def _state(self, request: Request) -> Response:
        """Return the pending reviews, and the state of the review that a page shows."""
        review_id = request.query_params.get("id")
        return JSONResponse(self._state_of(self._find(review_id) if review_id else None))

    async def _decide(self, request: Request) -> Response:
        try:
            sent = await _body(request)
            return JSONResponse(await anyio.to_thread.run_sync(self._carry_out, request.path_params["id"], sent))
        except _RequestError as error:
            return JSONResponse({"error": str(error)}, 400)

    def _carry_out(self, review_id: str, sent: dict[str, Any]) -> dict[str, Any]:
        review = self._find(review_id)
        try:
            text = decide(self._store, review, self._decision(review, sent))
        except ToolError as error:
            raise _RequestError(reveal(error.message)) from None
        return {**self._state_of(review), "text": text}

    def _decision(self, review: Review, sent: dict[str, Any]) -> Decision:
        match sent:
            case {"action": "approve", "chosen": list(chosen)}:
                return Decision("approve", SURFACE, texts=self._selected(review, chosen))
            case {"action": "edit", "texts": dict(texts)}:
                return Decision("edit", SURFACE, texts=self._edited(review, texts))
            case {"action": "approve" | "reject" as action}:
                return Decision(action, SURFACE)
            case {"action": "comment", "comment": str(comment)} if comment.strip():
                if len(comment) > MAX_COMMENT_CHARS:
                    raise _RequestError(f"The comment has over {MAX_COMMENT_CHARS:,} characters.")
                return Decision("comment", SURFACE, comment=_encodable(comment))
            case {"action": "edit", "text": str(text)}:
                proposed = self._store.proposed(review)
                before = form_text(proposed, review.encoding)
                if before is None:
                    raise _RequestError("A form would change this text; edit it in the terminal.")
                if text == before:
                    raise _RequestError("The text was not changed. Approve it instead.")
                return Decision("edit", SURFACE, edited=edited_bytes(proposed, _encodable(text), review.encoding))
        raise _RequestError("This is not a decision: send an action with its text or comment.")

    def _selected(self, review: Review, chosen: list[Any]) -> dict[int, bytes | None]:
        """Return the texts of the files with the chosen changes: a list of numbers for each file."""
        if len(chosen) != len(review.files):
            raise _RequestError("The chosen changes do not fit the files.")
        texts = {}
        for index, numbers in enumerate(chosen):
            old, new = self._store.original(review, index), self._store.proposed(review, index)
            codec = review.files[index].encoding
            every = range(count_parts(old, new, codec))
            if not isinstance(numbers, list) or not all(type(number) is int and number in every for number in numbers):
                raise _RequestError("The chosen changes do not fit the files.")
            texts[index] = select_parts(old, new, set(numbers), codec)
        if not any(chosen):
            raise _RequestError("No change is chosen. Reject the proposal instead.")
        return texts

    def _edited(self, review: Review, sent: dict[str, Any]) -> dict[int, bytes | None]:
        """Return the texts that were edited in the forms of several files."""
        texts: dict[int, bytes | None] = {}
        for index, file in enumerate(review.files):
            text, proposed = sent.get(str(index)), self._store.proposed(review, index)
            before = form_text(proposed, file.encoding)
            if isinstance(text, str) and before is not None and text != before:
                texts[index] = edited_bytes(proposed, _encodable(text), file.encoding)
        if not texts:
            raise _RequestError("The text was not changed. Approve it instead.")
        return texts

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
        raise _RequestError("A decision is sent as JSON.")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _RequestError("The text is too large.")
    try:
        sent = json.loads(body)
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise _RequestError("A decision is sent as a JSON object.")
    return sent


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _RequestError("The text contains an unpaired surrogate, which no file can contain: remove it.") from None
    return text


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404)
    content = resources.files(__package__).joinpath("static", name).read_bytes()
    return Response(content, media_type=_STATIC[name])
