"""Texts of a review for the person who decides, the same in the terminal and on the page."""

from __future__ import annotations

import time
from typing import Final

from workbench_handlers.editing.reviews.settle import settle
from workbench_handlers.editing.reviews.store import Decision, Review, ReviewStore
from workbench_handlers.editing.text.diff import reveal

_STATUS_TEXTS: Final = {
    "PENDING": "This review is pending.",
    "COMMITTED": "Committed: the file was written.",
    "AUTO_APPROVED": "Approved automatically: the file was written.",
    "REVIEW": "Sent back to the model. The file was not changed.",
    "REJECTED": "Rejected. The file was not changed.",
    "CONFLICT": "Conflict: the file changed after the proposal was made, and was left as it is.",
    "EXPIRED": "Expired. The file was not changed.",
}
_TEXTS_OF_SEVERAL: Final = {
    "COMMITTED": "Committed: the approved files were written.",
    "AUTO_APPROVED": "Approved automatically: the files were written.",
    "REVIEW": "Sent back to the model. No file was changed.",
    "REJECTED": "Rejected. No file was changed.",
    "CONFLICT": "Conflict: a file changed after the proposal was made. No file was written.",
    "EXPIRED": "Expired. No file was changed.",
}
_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"))


def decide(store: ReviewStore, review: Review, decision: Decision) -> str:
    """Record a decision, carry out the first one, and return the status as a sentence.

    Raises:
        ToolError: the file could not be written.
    """
    is_first = store.decide(review, decision)
    settle(store, review)
    text = status_text(store, review)
    return f"This review was decided elsewhere. {text}" if store.is_decided(review) and not is_first else text


def awaits_decision(store: ReviewStore, review: Review) -> bool:
    """Return whether a review can still be decided."""
    return store.status(review) == "PENDING" and not store.is_decided(review)


def status_text(store: ReviewStore, review: Review) -> str:
    """Return the status of a review as a sentence."""
    status = store.status(review)
    if status == "PENDING" and store.is_decided(review):
        return "Approved, but the file could not be written yet."
    if (outcome := store.outcome(review)) is not None and outcome.status == "REVIEW":
        return "Replaced by a newer proposal for the same file."
    return (_TEXTS_OF_SEVERAL if review.more else _STATUS_TEXTS).get(status, _STATUS_TEXTS[status])


def age_text(review: Review) -> str:
    """Return the time since a review was created: `just now`, `5 min ago`, `2 h ago`."""
    seconds = int(time.time() - review.created_at)
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return "just now"


def facts(review: Review) -> list[tuple[str, str]]:
    """Return the facts about a review as labels and values. Invisible characters appear as escapes."""
    rows = [("File", file.path) for file in review.files]
    rows.append(("Proposed", f"{age_text(review)} by {review.client or 'an unknown client'}"))
    if not review.more:
        rows.append(("Mode", review.mode))
    if review.continues:
        rows.append(("Continues", review.continues))
    rows.extend(("Note", note) for note in review.notes)
    return [(label, reveal(text, keep="")) for label, text in rows]
