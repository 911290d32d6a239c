"""A review as the result of a tool: its state, and the next call in words."""

from __future__ import annotations

import time
from typing import Final

from toolmason_runtime import fitting_length, size_of, text_budget

from workbench_handlers.editing.reviews.settle import quoted, settle
from workbench_handlers.editing.reviews.store import Decision, Outcome, Review, ReviewStore
from workbench_handlers.editing.text.diff import reveal, unified_diff
from workbench_server.editing.models import PendingReview, ReviewResult

MAX_COMMENT: Final = 8_000
"""Maximum size of the user's comment in a result; for a client of short answers, a quarter of one."""
_KEYS_SIZE: Final = 300
"""Size of the keys of a result, its id and its action."""
MAX_LISTED: Final = 100
"""Maximum pending reviews in one result."""


def review_result(
    store: ReviewStore, review: Review, *, is_open: bool = False, is_repeated: bool = False
) -> ReviewResult:
    """Return the state of a review. An approved text is written first.

    Args:
        store: the reviews.
        review: the review.
        is_open: whether the user can still answer in the client or the editor.
        is_repeated: whether an earlier call has returned this result to the same proposal, whose change was written.

    Raises:
        ToolError: the approved text could not be written.
    """
    outcome = settle(store, review)
    status, decision = store.status(review), store.decision(review)
    if outcome is not None:
        message, diff = _outcome_message(outcome, decision, is_undone=store.is_undone(review)), outcome.diff
    elif decision is None:
        is_expired = status == "EXPIRED"
        message, diff = _expired_message(review) if is_expired else _pending_message(review, is_open=is_open), ""
    elif status == "REJECTED":
        message, diff = f"The user rejected the change{_comment(decision)}. Nothing was written. {_ASK}", ""
    else:
        message, diff = _feedback(store, review, decision)
    if status == "COMMITTED" and decision is not None and decision.action == "approve" and decision.texts:
        message = f"{message} user_feedback_diff shows what was left out{_left_out(store, review)}."
        diff = _text_diff(store, review, ("proposed", "written"))
    if is_repeated and outcome is not None:
        message = (
            f"The same call wrote this change {elapsed(store.now() - outcome.at)} ago, and it is still in the file: "
            "nothing was written again. To make it once more, send again=true."
        )
    shown = [review.shown, *(file.shown for file in review.files), *review.notes]
    rest = size_of("\n".join([message, *shown])) + _KEYS_SIZE
    return ReviewResult(
        session_path=review.id,
        user_action=status,
        message=message,
        path=review.shown,
        files=[file.shown for file in review.files] if review.more else None,
        user_feedback_diff=_cut(diff, _budget() - rest) if diff else None,
        notes=list(review.notes) or None,
        already_written=True if is_repeated else None,
    )


def _budget() -> int:
    """Return the maximum size of a result: half of an answer, which contains it as text and as structure."""
    return text_budget() // 2


def elapsed(seconds: float) -> str:
    """Return a time for a message: `20 s`, `5 min`, `3 h`."""
    whole = max(0, int(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min" if whole < 3_600 else f"{whole // 3_600} h"


def pending_reviews(
    store: ReviewStore, reviews: list[Review], result: ReviewResult | None = None
) -> list[PendingReview]:
    """Return the first `MAX_LISTED` of `reviews` that fit beside `result`, with their ages."""
    now = store.now()
    room = _budget() - _KEYS_SIZE - (_size(result) if result else 0)
    listed: list[PendingReview] = []
    for review in reviews[:MAX_LISTED]:
        entry = PendingReview(
            session_path=review.id,
            path=review.path,
            files=[file.path for file in review.files] if review.more else None,
            mode=review.mode,
            age_s=round(now - review.created_at),
            expires_in_s=round(review.expires_at - now),
        )
        room -= _size(entry)
        if room < 0:
            break
        listed.append(entry)
    return listed


def _size(entry: PendingReview | ReviewResult) -> int:
    return size_of(entry.model_dump_json(exclude_none=True))


_ASK: Final = "Ask the user how to proceed; do not send the same change again unless asked to."
_AGAIN: Final = "If the change is still wanted, send the proposal again for a new review."


def _outcome_message(outcome: Outcome, decision: Decision | None, *, is_undone: bool) -> str:
    """Return the message of a review that has ended."""
    if outcome.status == "CONFLICT" and outcome.successor:
        return f"{outcome.message}. Use that session_path."
    if outcome.status == "CONFLICT":
        shown = " user_feedback_diff shows the change of the file." if outcome.diff else ""
        return f"{outcome.message}.{shown} Read the file again, and send a new proposal without session_path."
    if outcome.status == "EXPIRED":
        return f"{outcome.message}: the review has expired. {_AGAIN}"
    if is_undone:
        return f"{outcome.message}, but the user has undone the change since. {_ASK}"
    if outcome.is_superseded:
        return f"This review was {outcome.message}: use that session_path."
    return f"{outcome.message}{_comment(decision)}."


def _feedback(store: ReviewStore, review: Review, decision: Decision) -> tuple[str, str]:
    """Return the message about an edit or comment of the user, and the diff of an edit."""
    if decision.action != "edit":
        message = (
            f"The user answered{_comment(decision) or ' without a comment'}. Nothing was written. Send a new proposal "
            f'with session_path="{review.id}"; its match_text matches your proposed text, not the file.'
        )
        return message, ""
    message = (
        f"The user edited the proposed text{_comment(decision)}; user_feedback_diff shows how. Nothing is written yet. "
        f'To write exactly the text of the user, call commit_review(session_path="{review.id}", original_path='
        f'"{reveal(review.shown, keep="")}"). To change it further, send a proposal with session_path="{review.id}"; '
        "its match_text matches the text of the user, not the file."
    )
    return message, _text_diff(store, review, ("proposed", "edited by the user"))


def _text_diff(store: ReviewStore, review: Review, labels: tuple[str, str]) -> str:
    """Return the diff from the proposed texts to those after the decision."""
    return "".join(
        unified_diff(
            store.proposed(review, index),
            store.final(review, index),
            file.shown,
            labels=labels,
            codec=file.encoding,
        )
        for index, file in enumerate(review.files)
    )


def _left_out(store: ReviewStore, review: Review) -> str:
    """Return the files that the user did not approve at all, as the end of a sentence; empty if there is none."""
    left = [
        f"`{reveal(file.shown, keep='')}`"
        for index, file in enumerate(review.files)
        if store.final(review, index) == store.original(review, index)
    ]
    return f"; not written: {', '.join(left)}" if left else ""


def _pending_message(review: Review, *, is_open: bool) -> str:
    expires = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(review.expires_at))
    waits = f"{quoted(review)} {'wait' if review.more else 'waits'}"
    where = "in the client or editor, or with" if is_open else "with"
    return (
        f"No decision yet; nothing was written. The review is stored until {expires}. Tell the user that "
        f"{waits} for a review, {where} `toolmason-workbench review` in a terminal, or "
        "`toolmason-workbench review --web` in a browser. Then send the same call again: it joins this review and "
        f'returns the decision. Or call review_status(session_path="{review.id}"). Do not propose the change in '
        "another way."
    )


def _expired_message(review: Review) -> str:
    return f"The review of {quoted(review)} expired before the user decided, and nothing was written. {_AGAIN}"


def _comment(decision: Decision | None) -> str:
    """Return the user's comment as the end of a sentence; empty without one."""
    if decision is None or not decision.comment:
        return ""
    return f" with the comment: {_cut(decision.comment, min(MAX_COMMENT, _budget() // 2))!r}"


def _cut(text: str, budget: int) -> str:
    length = fitting_length(text, budget)
    return text if length >= len(text) else f"{text[:length]}\n[cut: {len(text) - length:,} characters more]"
