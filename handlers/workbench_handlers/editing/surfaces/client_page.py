"""The review page that a client with MCP Apps shows: who may send its requests."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import Final

from toolmason_runtime import show_page

from workbench_handlers.editing.reviews.store import Review

ACTION: Final = "propose_and_review-page"
"""The tool for the requests of the page."""
_SECRET: Final = secrets.token_bytes(32)
"""Makes the tokens of this process: a page does not outlive its server."""


def show_review(review: Review) -> bool:
    """Show the page of a review in the client; return False if the client shows no pages for this call."""
    return show_page({"action": ACTION, "review": review.id, "token": token_of(review.id)})


def token_of(review_id: str) -> str:
    """Return the token of the page of a review."""
    return hmac.new(_SECRET, review_id.encode(), sha256).hexdigest()
