"""The review page inside of a client with MCP Apps.

The page is one document without a network. Its requests carry a token that only the page of one review gets, in `_meta`
of the result of `propose_and_review`: a model that calls the page's tool cannot decide.
"""

from __future__ import annotations

import asyncio
import hmac
from base64 import b64encode
from hashlib import sha256
from importlib import resources
from typing import Any, Final

from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.editing.reviews.store import ReviewStore
from workbench_handlers.editing.state import EditingState
from workbench_handlers.editing.surfaces.client_page import token_of
from workbench_handlers.editing.surfaces.pages.decisions import RequestError, decision_of
from workbench_handlers.editing.surfaces.pages.render import file_sides, review_body
from workbench_handlers.editing.surfaces.person_text import awaits_decision, decide, status_text
from workbench_handlers.editing.text.diff import reveal

SURFACE: Final = "client page"


def page() -> str:
    """Return the document. Its policy permits the scripts and styles in it, and nothing else."""
    style = _static("review.css")
    script = f"{_static('client_page.js')}\nfunction startReview() {{\n{_static('review.js')}\n}}\n"
    policy = (
        f"default-src 'none'; script-src '{_source(script)}'; style-src '{_source(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Review</title>
<style>{style}</style>
</head>
<body>
<p id="waiting" role="status">Waiting for the proposal.</p>
<script>{script}</script>
</body>
</html>
"""


async def act(arguments: dict[str, Any], call: ToolCall) -> dict[str, Any]:
    """Carry out a request of the page: a decision, or none to get the state; the `first` one gets the review.

    Raises:
        ToolError: it does not come from the page of the review, or it cannot be carried out.
    """
    match arguments:
        case {"review": str(review_id), "token": str(token)} if hmac.compare_digest(
            token.encode("utf-8", "replace"), token_of(review_id).encode()
        ):
            store = call.state(EditingState).store
            sent, is_first = arguments.get("decision"), arguments.get("first") is True
            return await asyncio.to_thread(_act, store, review_id, sent, with_page=is_first)
    message = "Only the review page in the client can decide. Show the proposal to the user, and call review_status"
    raise ToolError(message, code="NOT_THE_PAGE")


def _act(store: ReviewStore, review_id: str, sent: Any, *, with_page: bool) -> dict[str, Any]:
    review = store.get(review_id)
    if review is None:
        raise ToolError("There is no such review; it may have expired long ago", code="NO_SUCH_REVIEW")
    text = ""
    if sent is not None:
        try:
            text = decide(store, review, decision_of(store, review, sent if isinstance(sent, dict) else {}, SURFACE))
        except RequestError as error:
            raise ToolError(reveal(str(error)), code="INVALID_DECISION") from None
    is_open = awaits_decision(store, review)
    # A page shows one review: others may be those of other projects.
    state = {"review": review.id, "pending": [review.id] if is_open else [], "next": None, "open": is_open}
    state["text"] = text or status_text(store, review)
    if not with_page:
        return state
    try:
        sides = [file_sides(store, review, index) for index in range(len(review.files))]
    except FileNotFoundError:
        raise ToolError("This review was removed", code="NO_SUCH_REVIEW") from None
    title, html = review_body(review, sides, state)
    return {**state, "title": title, "html": html}


def _static(name: str) -> str:
    return resources.files(__package__).joinpath("static", name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
