"""The steps of reviews in the audit log: proposed, decided, settled, failed and undone.

A review that a server with a log has proposed keeps the path of that log: so another process that decides or settles
it, such as `toolmason-workbench review`, writes to the same log.
"""

from __future__ import annotations

import getpass
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


class Review(Protocol):
    """The fields of a review that are logged."""

    @property
    def id(self) -> str:
        """Identity of the review."""
        ...

    @property
    def parts(self) -> tuple[str, ...]:
        """The path of the file below its root."""
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

    @property
    def base_sha256(self) -> str | None:
        """Digest of the file before the change; None if it was missing."""
        ...


def record_proposal(review: Review) -> None:
    """Record a new review, with the call that proposed it."""
    _record(review, "proposed", **current_call(), continues=review.continues)


def record_decision(review: Review, action: str, surface: str) -> None:
    """Record a decision, and on which surface it was made."""
    shown = _SURFACES.get(surface, surface)
    _record(review, "decided", decision=_DECISIONS[action], surface=shown, os_user=_user())


def record_settlement(review: Review, status: str, sha256: str | None) -> None:
    """Record the end of a review. `sha256` is the digest of the bytes that it wrote; None if it wrote none."""
    shown = _OUTCOMES.get(status, status.lower())
    is_same = shown == "written" and sha256 is None
    _record(review, "settled", outcome="unchanged" if is_same else shown, sha256_after=sha256)


def record_failure(review: Review, code: str) -> None:
    """Record that the text of an approved review could not be written."""
    _record(review, "failed", outcome="error", code=code)


def record_undo(review: Review) -> None:
    """Record that a written change was taken back."""
    _record(review, "undone", outcome="written", sha256_after=review.base_sha256, os_user=_user())


def _record(review: Review, step: str, **fields: Any) -> None:
    record(
        "review",
        to=review.audit,
        **{"client": review.client, **fields},
        step=step,
        review=review.id,
        file="/".join(review.parts),
        sha256_before=review.base_sha256,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
