"""Find, or create, the review of a proposal.

A proposal that is sent again joins its pending review. If the user has decided it and no call has returned the result,
the call returns this result and writes nothing again. So a client's time-out loses no answer and repeats no change.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import ProgramSettings

from workbench_handlers.editing.reviews.settle import decide_and_settle, quoted, supersede
from workbench_handlers.editing.reviews.store import AUTO_APPROVE, Decision, Review, ReviewStore, digest
from workbench_handlers.editing.text.apply import apply_request
from workbench_handlers.editing.text.request import EditRequest
from workbench_handlers.files.find import matches
from workbench_handlers.workspace.editorconfig import charset_of
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.write import read_for_editing

TOOL = "propose_and_review"


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
    store: ReviewStore, located: Located, request: EditRequest, proposer: Proposer, *, session: str = ""
) -> Review:
    """Return the review of a proposal: that of the same earlier call, or a new one.

    Raises:
        ToolError: the proposal does not fit the file, `session` cannot be continued, or nothing may be written there.
    """
    store.check_apart(located)
    key = _key(located, request, session)
    # Two equal calls at once become one review.
    with store.lock(located.path):
        current = read_for_editing(located)
        same = (proposer.caller, key, str(located.path))
        earlier = [review for review in store.all() if (review.caller, review.key, review.path) == same]
        earlier.sort(key=lambda review: review.created_at, reverse=True)
        for review in earlier:
            if _answers(store, review, current):
                return review
        if session:
            return _continue(store, located, request, proposer, key=key, session=session, current=current)
        proposal = apply_request(request, current, located.shown, charset=charset_of(located))
        expired = [review.id for review in earlier if store.status(review) == "EXPIRED"]
        return store.create(
            located,
            mode=request.mode,
            caller=proposer.caller,
            key=key,
            original=current,
            proposed=proposal.data,
            encoding=proposal.codec,
            notes=(*proposal.notes, *_expiry_notes(expired)),
            client=proposer.name,
        )


def auto_approve(store: ReviewStore, review: Review, globs: tuple[str, ...], settings: ProgramSettings) -> None:
    """Approve and write a review that `--auto-approve` covers, unless the policy requires a person.

    Raises:
        ToolError: the text could not be written.
    """
    if not any(_covers(glob, review.parts) for glob in globs) or _requires_a_person(settings):
        return
    decide_and_settle(store, review, Decision("approve", AUTO_APPROVE))


def _answers(store: ReviewStore, review: Review, current: bytes | None) -> bool:
    """Return whether an earlier review answers the same call: it is pending, or nobody has received its result."""
    if store.now() >= review.expires_at:
        return False
    if store.is_decided(review):
        return not (store.is_delivered(review) or store.is_undone(review))
    return review.base_sha256 == digest(current)


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
    named = request if request.encoding else replace(request, encoding=before.encoding)
    proposal = apply_request(named, text, located.shown)
    review = store.create(
        located,
        mode=request.mode,
        caller=proposer.caller,
        key=key,
        original=original,
        proposed=proposal.data,
        encoding=proposal.codec,
        notes=proposal.notes,
        continues=before.id,
        client=proposer.name,
    )
    supersede(store, before, review.id)
    return review


def _key(located: Located, request: EditRequest, session: str) -> str:
    parts = json.dumps([str(located.path), asdict(request), session])
    return hashlib.sha256(parts.encode()).hexdigest()


def _expiry_notes(expired: list[str]) -> tuple[str, ...]:
    return (f"an earlier review of this proposal ({expired[0]}) expired",) if expired else ()


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
