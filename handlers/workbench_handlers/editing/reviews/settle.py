"""The end of a review: write the approved text, or report a conflict.

`settle` may run in any process and any number of times: a file that already has the text is committed, a file that
still has its base is written, and any other file is a conflict. So a kill between a decision and its outcome loses
nothing.
"""

from __future__ import annotations

import os

from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.store import (
    AUTO_APPROVE,
    Decision,
    Outcome,
    Review,
    ReviewStore,
    Status,
    digest,
)
from workbench_handlers.editing.text.diff import unified_diff
from workbench_handlers.workspace.open import open_directory
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.write import FileChangedError, check_writable_path, read_for_editing, replace_file


def settle(store: ReviewStore, review: Review) -> Outcome | None:
    """Write the text of an approved review. Return the outcome; None if the review is undecided or was not approved.

    Raises:
        ToolError: the text could not be written; the review stays approved, and the next call tries again.
    """
    if outcome := store.outcome(review):
        return outcome
    decision = store.decision(review)
    if decision is None or decision.action != "approve":
        return None
    with store.lock(review.path):
        return store.outcome(review) or _commit(store, review, store.proposed(review), decision)


def decide_and_settle(store: ReviewStore, review: Review, decision: Decision) -> None:
    """Record a decision. If it is the first one, and an approval, write the text.

    Raises:
        ToolError: as `settle`.
    """
    if store.decide(review, decision):
        settle(store, review)


def commit_edited(store: ReviewStore, review: Review) -> Outcome:
    """Write the text that a person saved in a review, unless the review has ended; return its outcome.

    Raises:
        ToolError: no person saved a text for this review, another one continues it, or it could not be written.
    """
    with store.lock(review.path):
        outcome, decision = store.outcome(review), store.decision(review)
        if outcome is not None and outcome.is_superseded:
            message = f"Not written: {review.id} was {outcome.message}. Commit or continue that review"
            raise ToolError(message, code="NOT_COMMITTABLE")
        if outcome is not None:
            return outcome
        if decision is None or decision.edited is None:
            raise ToolError(_refusal_message(store, review), code="NOT_COMMITTABLE")
        return _commit(store, review, decision.edited, decision)


def supersede(store: ReviewStore, review: Review, successor: str) -> None:
    """End a review that another one continues. The caller holds the lock of the file."""
    store.record_outcome(review, Outcome("REVIEW", f"superseded by {successor}", store.now()))


def undo(store: ReviewStore, review_id: str) -> str:
    """Restore the bytes from before a committed review, or remove the file that it created. Return a message.

    Raises:
        ToolError: there is no such review, it was not committed, or the file has changed since.
    """
    review = store.get(review_id)
    if review is None:
        raise ToolError(f"there is no review `{review_id}`", code="NOT_FOUND")
    with store.lock(review.path):
        outcome = store.outcome(review)
        if outcome is None or outcome.sha256 is None:
            raise ToolError(f"{review.id} wrote nothing to `{review.shown}`", code="NOT_COMMITTED")
        located = review.located
        current = read_for_editing(located)
        if digest(current) != outcome.sha256:
            message = f"`{review.path}` no longer has the bytes that {review.id} wrote: it was changed since, or undone"
            raise ToolError(message, code="CONFLICT")
        original = store.original(review)
        if original is not None:
            replace_file(located, original, expected=current)
            return f"Restored `{review.path}` to its bytes before {review.id}"
        _remove_file(located)
        return f"Removed `{review.path}`, which {review.id} had created"


def _commit(store: ReviewStore, review: Review, data: bytes, decision: Decision) -> Outcome:
    """Write the text if the file is unchanged, and record the outcome. The caller holds the lock of the file."""
    located, original = review.located, store.original(review)
    try:
        check_writable_path(review.path, located)  # a directory may have become a repository
        current = read_for_editing(located)
        if current != data:
            if current != original:
                return _conflict(store, review, current)
            replace_file(located, data, expected=original)
    except FileChangedError as error:
        return _conflict(store, review, error.current)
    except ToolError as error:
        raise ToolError(
            f"{review.id} is approved, but `{review.shown}` was not written: {error.message}. The file is unchanged. "
            "Remove the cause, then send the same call again",
            code=error.code,
        ) from error
    status: Status = "AUTO_APPROVED" if decision.surface == AUTO_APPROVE else "COMMITTED"
    return store.record_outcome(review, Outcome(status, _commit_message(review, decision), store.now(), digest(data)))


def _commit_message(review: Review, decision: Decision) -> str:
    if decision.surface == AUTO_APPROVE:
        return f"`{review.shown}` was written without a review: the server's --auto-approve covers it"
    if decision.action == "edit":
        return f"`{review.shown}` was written with the text that the user saved"
    return f"The user approved the change, and `{review.shown}` was written"


def _conflict(store: ReviewStore, review: Review, current: bytes | None) -> Outcome:
    diff = unified_diff(store.original(review), current, review.shown, labels=("proposed against", "now"))
    message = f"`{review.shown}` changed after it was read for this proposal, so nothing was written"
    return store.record_outcome(review, Outcome("CONFLICT", message, store.now(), diff=diff))


def _refusal_message(store: ReviewStore, review: Review) -> str:
    """Return why a review without an edited text cannot be committed, and the next step."""
    reasons: dict[Status, str] = {
        "PENDING": "is still waiting for the user: send the proposal again, or call review_status",
        "REJECTED": "was rejected by the user: ask the user how to proceed",
        "EXPIRED": "expired before the user decided: send the proposal again for a new review",
        "REVIEW": "has a comment of the user and no edited text: propose an edit that follows the comment, with this "
        "session_path",
    }
    reason = reasons[store.status(review)]
    return f"Not written: {review.id} {reason}. Only text that the user saved in a REVIEW can be committed"


def _remove_file(located: Located) -> None:
    with open_directory(located.parent) as descriptor:
        if descriptor < 0:
            located.path.unlink()
        else:
            os.unlink(located.parts[-1], dir_fd=descriptor)
            os.fsync(descriptor)
