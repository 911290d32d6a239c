"""Find, or create, the review of a proposal.

A proposal that is sent again joins its pending review. If the user has decided it and no call has returned the result,
the call returns this result and writes nothing again. A result that a call has returned may be lost in the client: for
`AGAIN_S` seconds, while the change is in the file, the same call returns it again, unless it asks for another change.
So a client's time-out loses no answer and repeats no change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Final

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import ProgramSettings

from workbench_handlers.editing.reviews.results import elapsed
from workbench_handlers.editing.reviews.settle import decide_and_settle, make_void, quoted, supersede
from workbench_handlers.editing.reviews.store import AUTO_APPROVE, Decision, ProposedFile, Review, ReviewStore, digest
from workbench_handlers.editing.text.apply import Proposal, apply_request
from workbench_handlers.editing.text.diff import keeps_change
from workbench_handlers.editing.text.request import EditRequest, Mode
from workbench_handlers.files.find import matches
from workbench_handlers.workspace.editorconfig import charset_of
from workbench_handlers.workspace.open import near
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


@dataclass(frozen=True, slots=True)
class FileChange:
    """The edits of one file in a proposal."""

    located: Located
    request: EditRequest


def find_or_create(
    store: ReviewStore,
    located: Located,
    request: EditRequest,
    proposer: Proposer,
    *,
    session: str = "",
    again: bool = False,
) -> Review:
    """Return the review of a proposal for one file; see `find_or_create_all`."""
    return find_or_create_all(store, [FileChange(located, request)], proposer, session=session, again=again)


def find_or_create_all(
    store: ReviewStore, changes: Sequence[FileChange], proposer: Proposer, *, session: str = "", again: bool = False
) -> Review:
    """Return the review of a proposal: that of the same earlier call, or a new one.

    A pending review of the same change whose files have changed since becomes a conflict: only the new one can succeed.

    Args:
        store: the reviews.
        changes: the change of each file; no file occurs twice.
        proposer: the client.
        session: the review that the proposal continues; empty for none.
        again: whether a change that was written, and is in the files, is made once more.

    Raises:
        ToolError: the proposal does not fit a file, `session` cannot be continued, or nothing may be written there.
    """
    store.check_apart(*(change.located for change in changes))
    key, other_key = (_key(changes, session, again=flag) for flag in (again, not again))
    before = store.get(session) if session else None
    files = [change.located for change in changes] + ([file.located for file in before.files] if before else [])
    # Two equal calls at once become one review.
    with store.lock_all(located.path for located in files):
        disk = _Disk()
        earlier = store.with_keys(proposer.caller, {key, other_key})
        void = [review for review in earlier if _is_pending(store, review) and not disk.is_base_of(review)]
        for review in earlier:
            if _answers(store, review, disk, key=key) or (not again and _is_repeated(store, review, disk)):
                _make_void(store, void, review.id)
                return review
        try:
            if session:
                review = _continue(store, changes, proposer, key=key, session=session, disk=disk)
            else:
                review = _create(store, changes, proposer, key=key, earlier=earlier, disk=disk)
        except ToolError:
            _make_void(store, void, "")
            raise
        _make_void(store, void, review.id)
        return review


def _create(
    store: ReviewStore,
    changes: Sequence[FileChange],
    proposer: Proposer,
    *,
    key: str,
    earlier: list[Review],
    disk: _Disk,
) -> Review:
    """Create the review of a proposal that continues no other one. The caller holds the locks of the files."""
    texts = {str(change.located.path): disk.read(change.located) for change in changes}
    proposals = _apply(changes, texts)
    notes = [note for proposal in proposals for note in proposal.notes]
    files = [
        ProposedFile(change.located, texts[str(change.located.path)], proposal.data, proposal.codec)
        for change, proposal in zip(changes, proposals, strict=True)
    ]
    notes += _notes_of_earlier(store, earlier)
    mode: Mode = "files" if len(changes) > 1 else changes[0].request.mode
    return _store(store, files, proposer, key=key, mode=mode, notes=notes)


def _store(
    store: ReviewStore,
    files: Sequence[ProposedFile],
    proposer: Proposer,
    *,
    key: str,
    mode: Mode,
    notes: Sequence[str],
    continues: str | None = None,
) -> Review:
    first, *more = files
    return store.create(
        first.located,
        mode=mode,
        caller=proposer.caller,
        key=key,
        original=first.original,
        proposed=first.proposed,
        encoding=first.encoding,
        notes=tuple(notes),
        continues=continues,
        client=proposer.name,
        more=more,
    )


def _apply(
    changes: Sequence[FileChange], texts: Mapping[str, bytes | None], codecs: Mapping[str, str] | None = None
) -> list[Proposal]:
    """Return the proposed bytes of each file. With several files, the error reports each file that fails.

    `codecs` are by path those of the texts, if they are known.

    Raises:
        ToolError: as `apply_request`.
    """
    proposals: list[Proposal] = []
    errors: list[ToolError] = []
    is_several = len(changes) > 1
    for number, change in enumerate(changes, 1):
        path, shown = str(change.located.path), change.located.shown
        codec, charset = (codecs or {}).get(path, ""), charset_of(change.located)
        try:
            proposal = apply_request(change.request, texts[path], shown, charset=charset, codec=codec)
        except ToolError as error:
            problem = error.message + (near(change.located) if error.code == "NOT_FOUND" else "")
            message = f"file {number} of {len(changes)}, `{shown}`: {problem}" if is_several else problem
            errors.append(ToolError(message, code=error.code))
        else:
            notes = [f"{shown}: {note}" for note in proposal.notes] if is_several else proposal.notes
            proposals.append(replace(proposal, notes=tuple(notes)))
    if errors and is_several:
        message = "\n".join(error.message for error in errors)
        raise ToolError(f"{message}\nNo file was changed, and no review was created", code=errors[0].code)
    if errors:
        raise errors[0]
    return proposals


class _Disk:
    """The bytes of files, each read once. The caller holds their locks."""

    def __init__(self) -> None:
        self._read: dict[str, bytes | None] = {}

    def read(self, located: Located) -> bytes | None:
        """Return the bytes of a file; None if it is missing."""
        path = str(located.path)
        if path not in self._read:
            self._read[path] = read_for_editing(located)
        return self._read[path]

    def is_base_of(self, review: Review) -> bool:
        """Return whether all files are as they were when the review was proposed."""
        return all(digest(self.read(file.located)) == file.base_sha256 for file in review.files)


def auto_approve(store: ReviewStore, review: Review, globs: tuple[str, ...], settings: ProgramSettings) -> None:
    """Approve and write a review that `--auto-approve` covers, unless the policy requires a person.

    Raises:
        ToolError: the text could not be written.
    """
    is_covered = all(any(_covers(glob, file.parts) for glob in globs) for file in review.files)
    if not is_covered or _requires_a_person(settings):
        return
    decide_and_settle(store, review, Decision("approve", AUTO_APPROVE))


def is_repeated(store: ReviewStore, review: Review) -> bool:
    """Return whether a call has returned the result of a review, and its change was written."""
    return store.is_delivered(review) and store.status(review) in _WRITTEN


def _answers(store: ReviewStore, review: Review, disk: _Disk, *, key: str) -> bool:
    """Return whether an earlier review answers the same call: it is pending, or nobody has received its result."""
    if _is_pending(store, review):
        return disk.is_base_of(review)
    if store.now() >= review.expires_at or review.key != key:
        return False
    decision = store.decision(review)
    is_open = not (store.is_delivered(review) or store.is_undone(review))
    return is_open and decision is not None and decision.action != "supersede"


def _is_repeated(store: ReviewStore, review: Review, disk: _Disk) -> bool:
    """Return whether the change of a review was written lately, and is in all of its files."""
    outcome = store.outcome(review)
    if outcome is None or outcome.status not in _WRITTEN or store.is_undone(review):
        return False
    return store.now() - outcome.at < AGAIN_S and all(
        keeps_change(
            store.original(review, index), store.final(review, index), disk.read(file.located), codec=file.encoding
        )
        for index, file in enumerate(review.files)
        if store.original(review, index) != store.final(review, index)
    )


def _is_pending(store: ReviewStore, review: Review) -> bool:
    return store.now() < review.expires_at and not store.is_decided(review)


def _make_void(store: ReviewStore, reviews: list[Review], successor: str) -> None:
    for review in reviews:
        make_void(store, review, successor)


def _continue(
    store: ReviewStore,
    changes: Sequence[FileChange],
    proposer: Proposer,
    *,
    key: str,
    session: str,
    disk: _Disk,
) -> Review:
    """Create a review that changes the texts of another one; its bases are still the files.

    Files without a change keep their texts, and each file its encoding, unless the proposal names another one. The
    caller holds the locks.
    """
    before = store.get(session)
    paths = [] if before is None else [file.path for file in before.files]
    other = next((change.located for change in changes if str(change.located.path) not in paths), None)
    if before is None or other is not None:
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
    if not disk.is_base_of(before):
        message = (
            f"CONFLICT: {quoted(before)} changed since {before.id} was proposed. Read the file again, and send a new "
            "proposal without session_path"
        )
        raise ToolError(message, code="CONFLICT")
    texts = {path: store.final(before, index) for index, path in enumerate(paths)}
    proposals = _apply(changes, texts, {file.path: file.encoding for file in before.files})
    applied = {str(change.located.path): each for change, each in zip(changes, proposals, strict=True)}
    files = [
        ProposedFile(file.located, store.original(before, index), each.data, each.codec)
        for index, file in enumerate(before.files)
        for each in [applied.get(file.path) or Proposal(texts[file.path] or b"", codec=file.encoding)]
    ]
    review = _store(
        store,
        files,
        proposer,
        key=key,
        mode="files" if before.more else changes[0].request.mode,
        notes=[note for proposal in proposals for note in proposal.notes],
        continues=before.id,
    )
    supersede(store, before, review.id)
    return review


def _key(changes: Sequence[FileChange], session: str, *, again: bool) -> str:
    """Return the digest of a change. The mode is no part of it: one edit and a batch of it are the same change."""
    files = sorted(
        [
            str(change.located.path),
            [list(asdict(edit).values()) for edit in change.request.edits],
            change.request.encoding.lower(),
        ]
        for change in changes
    )
    parts = [files, session, *(["again"] if again else [])]
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
