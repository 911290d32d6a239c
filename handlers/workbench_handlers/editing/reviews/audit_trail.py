"""The steps of reviews in the audit log: proposed, decided, settled, failed and undone.

A review that a server with a log has proposed keeps the path of that log: so another process that decides or settles
it, such as `toolmason-workbench review`, writes to the same log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol

from toolmason_runtime.audit import current_call, record

_DECISIONS: Final = {
    "approve": "approved",
    "reject": "rejected",
    "edit": "changed",
    "comment": "commented",
    "supersede": "superseded",
}
_SURFACES: Final = {"question": "client"}
_OUTCOMES: Final = {"COMMITTED": "written", "AUTO_APPROVED": "written", "REVIEW": "superseded"}


class ReviewedFile(Protocol):
    """The fields of a reviewed file that are logged."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The path of the file below its root."""
        ...

    @property
    def base_sha256(self) -> str | None:
        """Digest of the file before the change; None if it was missing."""
        ...


class Review(Protocol):
    """The fields of a review that are logged."""

    @property
    def id(self) -> str:
        """Identity of the review."""
        ...

    @property
    def files(self) -> Sequence[ReviewedFile]:
        """The files; each has a line of its own."""
        ...

    @property
    def client(self) -> str:
        """Name of the client that proposed it."""
        ...

    @property
    def audit(self) -> str:
        """Path of the log; empty for that of this process."""
        ...

    @property
    def continues(self) -> str | None:
        """The review whose text this one changes."""
        ...


def record_proposal(review: Review) -> None:
    """Record a new review, with the call that proposed it."""
    _record(review, "proposed", **current_call(), continues=review.continues)


def record_decision(review: Review, action: str, surface: str) -> None:
    """Record a decision, and on which surface it was made."""
    shown = _SURFACES.get(surface, surface)
    _record(review, "decided", decision=_DECISIONS[action], surface=shown, os_user=_user())


def record_settlement(review: Review, status: str, digests: Sequence[str | None]) -> None:
    """Record the end of a review. `digests` are those of the bytes that it wrote to each file; None for none."""
    shown = _OUTCOMES.get(status, status.lower())
    for index, file in enumerate(review.files):
        sha256 = digests[index] if index < len(digests) else None
        is_same = shown == "written" and sha256 is None
        _record_file(review, file, "settled", outcome="unchanged" if is_same else shown, sha256_after=sha256)


def record_failure(review: Review, code: str) -> None:
    """Record that the text of an approved review could not be written."""
    _record(review, "failed", outcome="error", code=code)


def record_undo(review: Review) -> None:
    """Record that a written change was taken back."""
    for file in review.files:
        _record_file(review, file, "undone", outcome="written", sha256_after=file.base_sha256, os_user=_user())


def _record(review: Review, step: str, **fields: Any) -> None:
    for file in review.files:
        _record_file(review, file, step, **fields)


def _record_file(review: Review, file: ReviewedFile, step: str, **fields: Any) -> None:
    record(
        "review",
        to=review.audit,
        **{"client": review.client, **fields},
        step=step,
        review=review.id,
        file="/".join(file.parts),
        sha256_before=file.base_sha256,
    )


def _user() -> str:
    try:
        import getpass  # it imports `termios`

        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
