"""The end of a review: write the approved text, or report a conflict.

`settle` may run in any process and any number of times: a file that already has the text is committed, a file that
still has its base is written, and any other file is a conflict. So a kill between a decision and its outcome loses
nothing. A text that a person removed again after such a kill is not written a second time. The files of one review are
written all or none; `recover` finishes what a killed process left.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.audit_trail import record_failure, record_undo
from workbench_handlers.editing.reviews.change_set import (
    Step,
    StepChangedError,
    abandon,
    begun_steps,
    remove_file,
    stamp_of,
    write_all,
)
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
from workbench_handlers.workspace.write import FileChangedError, check_writable_path, read_for_editing, replace_file

COMMIT: Final = "begun"
"""Name of the journal of a write."""
UNDO: Final = "undo-begun"
"""Name of the journal of an undo of several files."""


def settle(store: ReviewStore, review: Review) -> Outcome | None:
    """Write the text of an approved review. Return the outcome; None if the review is undecided or was not approved.

    Raises:
        ToolError: the text could not be written; the review stays approved, and the next call tries again.
    """
    if outcome := store.outcome(review):
        return outcome
    decision = store.decision(review)
    if decision is None or decision.action not in {"approve", "supersede"}:
        return None
    with store.lock_all(file.path for file in review.files):
        if outcome := store.outcome(review):
            return outcome
        if decision.action == "supersede":
            return _superseded(store, review, decision.comment)
        return _commit(store, review, decision)


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
    with store.lock_all(file.path for file in review.files):
        outcome, decision = store.outcome(review), store.decision(review)
        if outcome is not None and outcome.is_superseded:
            message = f"Not written: {review.id} was {outcome.message}. Commit or continue that review"
            raise ToolError(message, code="NOT_COMMITTABLE")
        if outcome is not None:
            return outcome
        if decision is None or decision.action != "edit":
            raise ToolError(_refusal_message(store, review), code="NOT_COMMITTABLE")
        return _commit(store, review, decision)


def recover(store: ReviewStore) -> None:
    """Finish the writes of several files that killed processes began. What cannot be finished now is tried again later.

    The caller has checked that the state directory can be trusted.
    """
    for review_id in store.unfinished():
        review = store.get(review_id)
        if review is None:
            store.forget_unfinished(review_id)
            continue
        with suppress(ToolError):
            _recover(store, review)


def _recover(store: ReviewStore, review: Review) -> None:
    if store.begun(review, UNDO) is not None and not store.is_undone(review):
        undo(store, review.id)
        return
    with store.lock_all(file.path for file in review.files):
        decision = store.decision(review)
        is_begun = store.begun(review, COMMIT) is not None
        if decision is not None and is_begun and store.outcome(review) is None:
            _commit(store, review, decision)
        store.mark_finished(review)


def supersede(store: ReviewStore, review: Review, successor: str) -> None:
    """End a review that another one continues. The caller holds the lock of the file."""
    store.record_outcome(review, Outcome("REVIEW", f"superseded by {successor}", store.now()))


def make_void(store: ReviewStore, review: Review, successor: str) -> None:
    """End a pending review as a conflict, unless it was decided: its file changed, and the same change was proposed.

    The caller holds the lock of the file.

    Args:
        store: the reviews.
        review: the pending review.
        successor: the review of the new proposal; empty if that proposal does not apply to the file.
    """
    if store.decide(review, Decision("supersede", "", comment=successor)):
        _superseded(store, review, successor)


def undo(store: ReviewStore, review_id: str) -> str:
    """Restore the bytes from before a committed review, or remove the files that it created. Return a message.

    Several files are restored all or none.

    Raises:
        ToolError: there is no such review, it was not committed, or the file has changed since.
    """
    review = store.get(review_id)
    if review is None:
        raise ToolError(f"there is no review `{review_id}`", code="NOT_FOUND")
    if review.more:
        return _undo_files(store, review)
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
        remove_file(located)
        store.mark_undone(review)
        record_undo(review)
        return f"Removed `{review.path}`, which {review.id} had created"


def _undo_files(store: ReviewStore, review: Review) -> str:
    with store.lock_all(file.path for file in review.files):
        outcome = store.outcome(review)
        digests = () if outcome is None else outcome.files
        steps = [
            Step(index, file.located, store.final(review, index), store.original(review, index))
            for index, file in enumerate(review.files)
            if index < len(digests) and digests[index] is not None
        ]
        if not steps:
            raise ToolError(f"{review.id} wrote nothing to {quoted(review)}", code="NOT_COMMITTED")
        if store.is_undone(review):
            raise ToolError(f"{review.id} was undone before. No file was changed", code="CONFLICT")
        try:
            for file in review.files:
                check_writable_path(file.path, file.located)
            write_all(store, review, steps, UNDO)
        except StepChangedError:
            abandon(store, review, steps, UNDO)
            message = f"not all of {quoted(review)} have the bytes that {review.id} wrote: they were changed since, or "
            raise ToolError(f"{message}undone. No file was changed", code="CONFLICT") from None
        store.mark_undone(review)
        record_undo(review)
        store.mark_finished(review)
        return f"Restored {quoted(review)} to before {review.id}"


def quoted(review: Review) -> str:
    """Return the paths of a review for a message: no character of them is invisible or breaks the line."""
    first, *more = [f"`{reveal(file.shown, keep='')}`" for file in review.files]
    if len(more) > 3:
        return f"{first} and {len(more)} other files"
    return f"{', '.join([first, *more[:-1]])} and {more[-1]}" if more else first


def _was(review: Review) -> str:
    return "were" if review.more else "was"


def proposed_diff(store: ReviewStore, review: Review) -> str:
    """Return the unified diff of all files of a proposal."""
    return "".join(
        unified_diff(store.original(review, index), store.proposed(review, index), file.shown, codec=file.encoding)
        for index, file in enumerate(review.files)
    )


def _commit(store: ReviewStore, review: Review, decision: Decision) -> Outcome:
    """Write the files if they are unchanged, and record the outcome. The caller holds the locks of the files."""
    data = store.final(review)
    return (
        _commit_files(store, review, decision)
        if review.more or data is None
        else _commit_file(store, review, data, decision)
    )


def _commit_files(store: ReviewStore, review: Review, decision: Decision) -> Outcome:
    """Write several files, all or none, and record the outcome."""
    try:
        steps = _steps(store, review)
        is_begun = store.begun(review, COMMIT) is not None
        if not is_begun and store.now() >= review.expires_at:
            expired = Outcome("EXPIRED", f"{quoted(review)} were not written in time", store.now())
            return store.record_outcome(review, expired)
        write_all(store, review, steps, COMMIT)
    except StepChangedError as error:
        outcome = _conflict(store, review, _current(review), is_unknown=error.is_unknown)
        store.mark_finished(review)
        return outcome
    except ToolError as error:
        raise _write_error(review, error) from error
    digests = {step.index: digest(step.after) for step in steps}
    files = tuple(digests.get(index) for index in range(len(review.files)))
    outcome = _committed(store, review, decision, files=files)
    store.mark_finished(review)
    return outcome


def _steps(store: ReviewStore, review: Review) -> list[Step]:
    """Return the changes of the files: those in the journal, or else of all files that lack their text.

    Raises:
        StepChangedError: a file that is to be written has changed.
        ToolError: a file cannot be read or written.
    """
    begun = begun_steps(store, review, COMMIT)
    steps = []
    for index, file in enumerate(review.files):
        before, after = store.original(review, index), store.final(review, index)
        if before == after or (begun is not None and index not in begun):
            continue
        check_writable_path(file.path, file.located)  # a directory may have become a repository
        if begun is not None or read_for_editing(file.located) != after:
            steps.append(Step(index, file.located, before, after))
    return steps


def _commit_file(store: ReviewStore, review: Review, data: bytes, decision: Decision) -> Outcome:
    """Write the text if the file is unchanged, and record the outcome."""
    located, original, begun = review.located, store.original(review), store.begun(review, COMMIT)
    try:
        check_writable_path(review.path, located)  # a directory may have become a repository
        current = read_for_editing(located)
        if current == data:
            return _committed(store, review, decision, None if begun is None else digest(data))
        # A kill ended an earlier write. The same file as before it: it was not replaced. Another file with the same
        # bytes, or a missing one: it may have been written and changed back, and must not be written again.
        is_unknown = begun is not None and (current is None or begun != stamp_of(located))
        if current != original or is_unknown:
            return _conflict(store, review, [current], is_unknown=is_unknown)
        if store.now() >= review.expires_at:
            expired = Outcome("EXPIRED", f"{quoted(review)} was not written in time", store.now())
            return store.record_outcome(review, expired)
        _write(store, review, data, original)
    except FileChangedError as error:
        return _conflict(store, review, [error.current])
    except ToolError as error:
        raise _write_error(review, error) from error
    return _committed(store, review, decision, digest(data))


def _write_error(review: Review, error: ToolError) -> ToolError:
    record_failure(review, error.code)
    reason = reveal(error.message, keep="")
    state = "No file is changed" if review.more else "The file is unchanged"
    if "Some files are written" in error.message:
        state = "Do not read or change these files before"
    message = f"{review.id} is approved, but {quoted(review)} {_was(review)} not written: {reason}. {state}."
    return ToolError(f"{message} Remove the cause, then send the same call again", code=error.code)


def _write(store: ReviewStore, review: Review, data: bytes, original: bytes | None) -> None:
    store.begin(review, "" if original is None else stamp_of(review.located))
    try:
        replace_file(review.located, data, expected=original)
    except ToolError:
        store.abandon(review)
        raise


def _committed(
    store: ReviewStore,
    review: Review,
    decision: Decision,
    sha256: str | None = None,
    *,
    files: tuple[str | None, ...] = (),
) -> Outcome:
    """Record that the files have their texts. `sha256`, `files`: this review wrote them, and can be undone."""
    if not (sha256 or any(files)):
        message = f"{quoted(review)} had the text already, and {_was(review)} not written"
    elif decision.surface == AUTO_APPROVE:
        message = "Written without a review: the server's --auto-approve covers it"
    elif decision.action == "edit":
        message = "Written with the text that the user saved"
    elif decision.texts:
        message = "The user approved a part of the change, which was written"
    else:
        message = "Written"
    status: Status = "AUTO_APPROVED" if decision.surface == AUTO_APPROVE else "COMMITTED"
    return store.record_outcome(review, Outcome(status, message, store.now(), sha256, files=files))


def _superseded(store: ReviewStore, review: Review, successor: str) -> Outcome:
    return _conflict(store, review, _current(review), successor=successor)


def _current(review: Review) -> list[bytes | None]:
    """Return the bytes of the files now, for the diff of a conflict; None for one that cannot be read."""
    current: list[bytes | None] = []
    for file in review.files:
        data = None
        with suppress(ToolError):
            data = read_for_editing(file.located)
        current.append(data)
    return current


def _conflict(
    store: ReviewStore,
    review: Review,
    current: Sequence[bytes | None],
    *,
    is_unknown: bool = False,
    successor: str = "",
) -> Outcome:
    labels = ("proposed against", "now")
    diff = "".join(
        unified_diff(store.original(review, index), now, file.shown, labels=labels, codec=file.encoding)
        for index, (file, now) in enumerate(zip(review.files, current, strict=True))
    )
    message = f"{quoted(review)} changed after it was read for this proposal, so nothing was written"
    if review.more:
        message = f"Not all of {quoted(review)} are as they were read for this proposal, so no file was written"
    if is_unknown and review.more:
        message = (
            f"The write of {quoted(review)} was interrupted, a file was changed since, and the others were restored"
        )
    elif is_unknown:
        message = f"The write of {quoted(review)} was interrupted; it may have been written, and it was changed since"
    if successor:
        message = f"{quoted(review)} changed, and the same change was proposed again: superseded by {successor}"
    return store.record_outcome(review, Outcome("CONFLICT", message, store.now(), diff=diff, successor=successor))


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
