"""The end of a review: write the approved text, or report a conflict.

`settle` may run in any process and any number of times: a file that already has the text is committed, a file that
still has its base is written, and any other file is a conflict. So a kill between a decision and its outcome loses
nothing. A text that a person removed again after such a kill is not written a second time.
"""

from __future__ import annotations

import os

from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.audit_trail import record_failure, record_undo
from workbench_handlers.editing.reviews.store import (
    AUTO_APPROVE,
    Decision,
    Outcome,
    Review,
    ReviewStore,
    Status,
    digest,
)
from workbench_handlers.editing.text.diff import reveal, unified_diff
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
            raise ToolError(f"{review.id} wrote nothing to {quoted(review)}", code="NOT_COMMITTED")
        located = review.located
        current = read_for_editing(located)
        if digest(current) != outcome.sha256:
            message = f"`{review.path}` no longer has the bytes that {review.id} wrote: it was changed since, or undone"
            raise ToolError(message, code="CONFLICT")
        original = store.original(review)
        if original is not None:
            replace_file(located, original, expected=current)
            store.mark_undone(review)
            record_undo(review)
            return f"Restored `{review.path}` to its bytes before {review.id}"
        _remove_file(located)
        store.mark_undone(review)
        record_undo(review)
        return f"Removed `{review.path}`, which {review.id} had created"


def quoted(review: Review) -> str:
    """Return the path of a review for a message: no character of it is invisible or breaks the line."""
    return f"`{reveal(review.shown, keep='')}`"


def _commit(store: ReviewStore, review: Review, data: bytes, decision: Decision) -> Outcome:
    """Write the text if the file is unchanged, and record the outcome. The caller holds the lock of the file."""
    located, original, begun = review.located, store.original(review), store.begun(review)
    try:
        check_writable_path(review.path, located)  # a directory may have become a repository
        current = read_for_editing(located)
        if current == data:
            return _committed(store, review, decision, None if begun is None else digest(data))
        # A kill ended an earlier write. The same file as before it: it was not replaced. Another file with the same
        # bytes, or a missing one: it may have been written and changed back, and must not be written again.
        is_unknown = begun is not None and (current is None or begun != _stamp(review))
        if current != original or is_unknown:
            return _conflict(store, review, current, is_unknown=is_unknown)
        if store.now() >= review.expires_at:
            expired = Outcome("EXPIRED", f"{quoted(review)} was not written in time", store.now())
            return store.record_outcome(review, expired)
        _write(store, review, data, original)
    except FileChangedError as error:
        return _conflict(store, review, error.current)
    except ToolError as error:
        record_failure(review, error.code)
        reason = reveal(error.message, keep="")
        raise ToolError(
            f"{review.id} is approved, but {quoted(review)} was not written: {reason}. The file is unchanged. Remove "
            "the cause, then send the same call again",
            code=error.code,
        ) from error
    return _committed(store, review, decision, digest(data))


def _write(store: ReviewStore, review: Review, data: bytes, original: bytes | None) -> None:
    store.begin(review, "" if original is None else _stamp(review))
    try:
        replace_file(review.located, data, expected=original)
    except ToolError:
        store.abandon(review)
        raise


def _stamp(review: Review) -> str:
    """Return a value of a file that changes when it is replaced, even by the same bytes."""
    try:
        status = review.located.path.lstat()
    except FileNotFoundError:
        return ""
    return f"{status.st_ino} {status.st_ctime_ns}"


def _committed(store: ReviewStore, review: Review, decision: Decision, sha256: str | None) -> Outcome:
    """Record that the file has the text. `sha256`: this review wrote it, and can be undone."""
    if sha256 is None:
        message = f"{quoted(review)} had the text already, and was not written"
    elif decision.surface == AUTO_APPROVE:
        message = f"{quoted(review)} was written without a review: the server's --auto-approve covers it"
    elif decision.action == "edit":
        message = f"{quoted(review)} was written with the text that the user saved"
    else:
        message = f"The user approved the change, and {quoted(review)} was written"
    status: Status = "AUTO_APPROVED" if decision.surface == AUTO_APPROVE else "COMMITTED"
    return store.record_outcome(review, Outcome(status, message, store.now(), sha256))


def _conflict(store: ReviewStore, review: Review, current: bytes | None, *, is_unknown: bool = False) -> Outcome:
    diff = unified_diff(
        store.original(review), current, review.shown, labels=("proposed against", "now"), codec=review.encoding
    )
    message = f"{quoted(review)} changed after it was read for this proposal, so nothing was written"
    if is_unknown:
        message = f"The write of {quoted(review)} was interrupted; it may have been written, and it was changed since"
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
