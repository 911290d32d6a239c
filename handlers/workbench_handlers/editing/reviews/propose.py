"""Find, or create, the review of a proposal.

A proposal that is sent again joins its pending review. If the user has decided it and no call has returned the result,
the call returns this result and writes nothing again. A result that a call has returned may be lost in the client: for
`AGAIN_S` seconds, while the change is in the file, the same call returns it again, unless it asks for another change.
So a client's time-out loses no answer and repeats no change.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Final

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import ProgramSettings

from workbench_handlers.editing.reviews.results import elapsed
from workbench_handlers.editing.reviews.settle import decide_and_settle, make_void, quoted, supersede
from workbench_handlers.editing.reviews.store import AUTO_APPROVE, Decision, Review, ReviewStore, digest
from workbench_handlers.editing.text.apply import apply_request
from workbench_handlers.editing.text.diff import keeps_change
from workbench_handlers.editing.text.request import EditRequest
from workbench_handlers.files.find import matches
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.write import read_for_editing

TOOL = "propose_and_review"
AGAIN_S: Final = 600.0
"""Seconds in which the same call is taken for one whose result was lost."""
_WRITTEN: Final = {"COMMITTED", "AUTO_APPROVED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposer:
    """The client of a call."""

    name: str
    transport: str

    @property
    def caller(self) -> str:
        """The client and its transport: a proposal that it sends again joins its review."""
        return f"{self.name}/{self.transport}"

    @classmethod
    def of(cls, call: ToolCall) -> Proposer:
        """Return the client of a call."""
        return cls(name=call.client_name, transport="stdio" if call.is_local else "http")


def find_or_create(
    store: ReviewStore,
    located: Located,
    request: EditRequest,
    proposer: Proposer,
    *,
    session: str = "",
    again: bool = False,
) -> Review:
    """Return the review of a proposal: that of the same earlier call, or a new one.

    A pending review of the same change whose file has changed since becomes a conflict: only the new one can succeed.

    Args:
        store: the reviews.
        located: the file.
        request: the change.
        proposer: the client.
        session: the review that the proposal continues; empty for none.
        again: whether a change that was written, and is in the file, is made once more.

    Raises:
        ToolError: the proposal does not fit the file, `session` cannot be continued, or nothing may be written there.
    """
    store.check_apart(located)
    key, other_key = (_key(located, request, session, again=flag) for flag in (again, not again))
    # Two equal calls at once become one review.
    with store.lock(located.path):
        current = read_for_editing(located)
        earlier = _earlier(store, located, proposer, {key, other_key})
        void = [review for review in earlier if _is_void(store, review, current)]
        for review in earlier:
            if _answers(store, review, current, key=key) or (not again and _is_repeated(store, review, current)):
                _make_void(store, void, review.id)
                return review
        try:
            if session:
                review = _continue(store, located, request, proposer, key=key, session=session, current=current)
            else:
                proposal = apply_request(request, current, located.shown)
                review = store.create(
                    located,
                    mode=request.mode,
                    caller=proposer.caller,
                    key=key,
                    original=current,
                    proposed=proposal.data,
                    notes=(*proposal.notes, *_notes_of_earlier(store, earlier)),
                    client=proposer.name,
                )
        except ToolError:
            _make_void(store, void, "")
            raise
        _make_void(store, void, review.id)
        return review


def auto_approve(store: ReviewStore, review: Review, globs: tuple[str, ...], settings: ProgramSettings) -> None:
    """Approve and write a review that `--auto-approve` covers, unless the policy requires a person.

    Raises:
        ToolError: the text could not be written.
    """
    if not any(_covers(glob, review.parts) for glob in globs) or _requires_a_person(settings):
        return
    decide_and_settle(store, review, Decision("approve", AUTO_APPROVE))


def is_repeated(store: ReviewStore, review: Review) -> bool:
    """Return whether a call has returned the result of a review, and its change was written."""
    return store.is_delivered(review) and store.status(review) in _WRITTEN


def _earlier(store: ReviewStore, located: Located, proposer: Proposer, keys: set[str]) -> list[Review]:
    """Return the reviews of the same change by the same client, the newest first."""
    path = str(located.path)
    found = [
        review
        for review in store.all()
        if review.caller == proposer.caller and review.key in keys and review.path == path
    ]
    return sorted(found, key=lambda review: review.created_at, reverse=True)


def _answers(store: ReviewStore, review: Review, current: bytes | None, *, key: str) -> bool:
    """Return whether an earlier review answers the same call: it is pending, or nobody has received its result."""
    if store.now() >= review.expires_at:
        return False
    if not store.is_decided(review):
        return review.base_sha256 == digest(current)
    if review.key != key or store.is_delivered(review) or store.is_undone(review):
        return False
    decision = store.decision(review)
    return decision is not None and decision.action != "supersede"


def _is_repeated(store: ReviewStore, review: Review, current: bytes | None) -> bool:
    """Return whether the change of a review was written lately, and is in the file."""
    outcome = store.outcome(review)
    if outcome is None or outcome.status not in _WRITTEN or store.is_undone(review):
        return False
    return store.now() - outcome.at < AGAIN_S and keeps_change(store.original(review), store.final(review), current)


def _is_void(store: ReviewStore, review: Review, current: bytes | None) -> bool:
    """Return whether a pending review can only become a conflict."""
    is_pending = store.now() < review.expires_at and not store.is_decided(review)
    return is_pending and review.base_sha256 != digest(current)


def _make_void(store: ReviewStore, reviews: list[Review], successor: str) -> None:
    for review in reviews:
        make_void(store, review, successor)


def _continue(
    store: ReviewStore,
    located: Located,
    request: EditRequest,
    proposer: Proposer,
    *,
    key: str,
    session: str,
    current: bytes | None,
) -> Review:
    """Create a review that changes the text of another one; its base is still the file. The caller holds the lock."""
    before = store.get(session)
    if before is None or before.path != str(located.path):
        reason = "there is no such review" if before is None else f"it is a review of {quoted(before)}"
        message = f"session_path=`{session}`: {reason}. Leave session_path out for a new proposal"
        raise ToolError(message, code="NO_SUCH_REVIEW")
    outcome, status = store.outcome(before), store.status(before)
    if outcome is not None and outcome.is_superseded:
        raise ToolError(f"session_path: {before.id} was {outcome.message}; use that id", code="SUPERSEDED")
    if outcome is not None or status != "REVIEW":
        message = f"session_path: {before.id} is {status}, and only a REVIEW can be continued. " + (
            "Send the same call as before to wait for it" if status == "PENDING" else "Leave session_path out"
        )
        raise ToolError(message, code="NOT_IN_REVIEW")
    original = store.original(before)
    if current != original:
        message = (
            f"CONFLICT: `{located.shown}` changed since {before.id} was proposed. Read the file again, and send a new "
            "proposal without session_path"
        )
        raise ToolError(message, code="CONFLICT")
    edited = store.edited(before)
    text = store.proposed(before) if edited is None else edited
    proposal = apply_request(request, text, located.shown)
    review = store.create(
        located,
        mode=request.mode,
        caller=proposer.caller,
        key=key,
        original=original,
        proposed=proposal.data,
        notes=proposal.notes,
        continues=before.id,
        client=proposer.name,
    )
    supersede(store, before, review.id)
    return review


def _key(located: Located, request: EditRequest, session: str, *, again: bool) -> str:
    """Return the digest of a change. The mode is no part of it: one edit and a batch of it are the same change."""
    parts = [str(located.path), [asdict(edit) for edit in request.edits], session, *(["again"] if again else [])]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _notes_of_earlier(store: ReviewStore, earlier: list[Review]) -> tuple[str, ...]:
    """Return notes for the person and the model about the last end of a review of the same change."""
    for review in earlier:
        outcome, status = store.outcome(review), store.status(review)
        if status == "EXPIRED":
            return (f"an earlier review of this proposal ({review.id}) expired",)
        decision = store.decision(review)
        if status not in {*_WRITTEN, "REJECTED"} or decision is None:
            continue
        ended_at = outcome.at if outcome else decision.at
        done = "rejected" if status == "REJECTED" else "undone later" if store.is_undone(review) else "written"
        return (f"the same change was {done}, {elapsed(store.now() - ended_at)} before this proposal ({review.id})",)
    return ()


def _covers(glob: str, parts: tuple[str, ...]) -> bool:
    """Return whether a glob matches a path below the root. Without a slash, it matches only entries of the root."""
    steps = glob.removeprefix("./").split("/")
    if len(steps) == 1 and steps != ["**"]:
        return len(parts) == 1 and fnmatchcase(parts[0], steps[0])
    return matches(parts, steps)


def _requires_a_person(settings: ProgramSettings) -> bool:
    rule = settings.policy.tools.get(TOOL)
    required = None if rule is None else rule.require_approval
    return settings.policy.approval == "all" if required is None else required
