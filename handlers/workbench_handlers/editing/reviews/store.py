"""Reviews on disk, shared by all servers of a user and the `review` command.

Each review is a directory. A file in it never changes once it is visible; `state_files.create_once` creates the files
that several processes may race to create, so the first decision and the first outcome are final.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from toolmason_runtime import ToolError
from toolmason_runtime.audit import log_path

from workbench_handlers.editing.reviews.audit_trail import record_decision, record_proposal, record_settlement
from workbench_handlers.editing.reviews.state_files import (
    create_once,
    locked,
    make_private,
    state_errors,
    sync_directory,
    write_durably,
)
from workbench_handlers.workspace.roots import Located, Root

if TYPE_CHECKING:
    from workbench_handlers.editing.text.request import Mode

Action = Literal["approve", "edit", "reject", "comment"]
Status = Literal["PENDING", "COMMITTED", "AUTO_APPROVED", "REVIEW", "REJECTED", "CONFLICT", "EXPIRED"]

TTL_S: Final = 86_400.0
"""Default seconds until a review without a decision expires."""
KEEP_S: Final = 7 * 86_400.0
"""Seconds after its expiry during which a review stays on the disk: as a notice, and for undo."""
AUTO_APPROVE: Final = "auto-approve"
"""Surface of decisions that `--auto-approve` makes."""

_ID: Final = re.compile(r"rv_[0-9a-f]{20}")
_ACTIONS: Final = get_args(Action)
_STATUSES: Final = get_args(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A proposed change of one file."""

    id: str
    path: str
    """Absolute path of the file."""
    root: str
    parts: tuple[str, ...]
    shown: str
    """The path in results."""
    caller: str
    """The client that proposed it, and its transport."""
    key: str
    """Digest of the path and the arguments."""
    mode: Mode
    created_at: float
    expires_at: float
    base_sha256: str | None
    """Digest of the file when it was read; None if it was missing."""
    notes: tuple[str, ...] = ()
    continues: str | None = None
    """The review whose text this one changes."""
    client: str = ""
    """Name of the client."""
    audit: str = ""
    """Path of the audit log of the server that proposed it; empty without one."""
    encoding: str = ""
    """The codec of the file's text; empty to detect it."""

    @property
    def located(self) -> Located:
        """The file, for opening it below its root."""
        return Located(Root(Path(self.root), "a review"), self.parts, self.shown)


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of a person, or of `--auto-approve`. `surface` is where it was made."""

    action: Action
    surface: str
    comment: str = ""
    edited: bytes | None = None
    at: float = 0.0
    """Time of the decision; the store sets it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a review: its text was written, there was a conflict, or another review continues it."""

    status: Status
    message: str
    at: float
    sha256: str | None = None
    """Digest of the written bytes."""
    diff: str = ""
    """For a conflict: the change of the file since it was read."""

    @property
    def is_superseded(self) -> bool:
        """Whether another review continues this one."""
        return self.status == "REVIEW"


class ReviewStore:
    """The reviews below `directory`. `ttl_s` applies to new reviews."""

    def __init__(self, directory: Path, *, ttl_s: float = TTL_S, now: Callable[[], float] = time.time) -> None:
        self.directory = directory
        self.ttl_s = ttl_s
        self.now = now

    def check_apart(self, *changed: Located) -> None:
        """Refuse a change of the reviews, or of a directory that contains them: it could forge a decision.

        Raises:
            ToolError: a path is in the directory of reviews, or contains it.
        """
        own = self.directory.resolve()
        if any(located.path.is_relative_to(own) or own.is_relative_to(located.path) for located in changed):
            raise ToolError("the directory of pending reviews cannot be changed by tools", code="PATH_NOT_ALLOWED")

    def create(
        self,
        located: Located,
        *,
        mode: Mode,
        caller: str,
        key: str,
        original: bytes | None,
        proposed: bytes,
        encoding: str = "",
        notes: tuple[str, ...] = (),
        continues: str | None = None,
        client: str = "",
    ) -> Review:
        """Store a new review, and remove old ones.

        Raises:
            ToolError: the state directory cannot be used.
        """
        make_private(self.directory)
        self._sweep()
        created_at = self.now()
        review = Review(
            id=f"rv_{token_hex(10)}",
            path=str(located.path),
            root=str(located.root.path),
            parts=located.parts,
            shown=located.shown,
            caller=caller,
            key=key,
            mode=mode,
            created_at=created_at,
            expires_at=created_at + self.ttl_s,
            base_sha256=digest(original),
            notes=notes,
            continues=continues,
            client=client,
            audit=log_path(),
            encoding=encoding,
        )
        files = {"review.json": _as_json(asdict(review)), "proposed": proposed}
        if original is not None:
            files["original"] = original
        # The directory gets its name when it is complete, so that a kill leaves no incomplete review.
        temporary = self.directory / f"tmp-{token_hex(10)}"
        with state_errors(self.directory):
            temporary.mkdir(mode=0o700)
            try:
                for name, data in files.items():
                    write_durably(temporary / name, data)
                sync_directory(temporary)
                temporary.rename(self.directory / review.id)
            except OSError:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
            sync_directory(self.directory)
        record_proposal(review)
        return review

    def get(self, review_id: str) -> Review | None:
        """Return a review; None if the id is invalid or unknown, or a file of the review is damaged."""
        if not _ID.fullmatch(review_id):
            return None
        try:
            stored = self._load(review_id, "review.json") or {}
            review = Review(**{**stored, "parts": tuple(stored["parts"]), "notes": tuple(stored["notes"])})
            # A damaged review must not name another directory, or show one path and write to another.
            is_valid = review.id == review_id and review.path == str(review.located.path)
            is_valid = is_valid and all(isinstance(at, float) for at in (review.created_at, review.expires_at))
            for name in ("proposed", *(["original"] if review.base_sha256 else [])):
                (self._path(review) / name).stat()
            self.decision(review), self.outcome(review)
        except (OSError, KeyError, TypeError, ValueError, RecursionError):
            return None
        return review if is_valid else None

    def original(self, review: Review) -> bytes | None:
        """Return the bytes of the file when it was read; None if it was missing."""
        return None if review.base_sha256 is None else (self._path(review) / "original").read_bytes()

    def proposed(self, review: Review) -> bytes:
        """Return the proposed bytes."""
        return (self._path(review) / "proposed").read_bytes()

    def edited(self, review: Review) -> bytes | None:
        """Return the bytes that a person saved; None unless the decision is an edit."""
        decision = self.decision(review)
        return None if decision is None else decision.edited

    def editor_file(self, review: Review) -> Path:
        """Return a private copy of the proposed bytes with the name of the file, for editors."""
        path = self._path(review) / "editor" / review.parts[-1]
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            create_once(path, self.proposed(review))
        return path

    def decide(self, review: Review, decision: Decision) -> bool:
        """Record a decision; return False if another one was first, or the review has expired.

        An edit to the proposed text is an approval.
        """
        if self.now() >= review.expires_at:
            return False
        directory = self._path(review)
        try:
            action, edited = decision.action, decision.edited
            if action == "edit" and edited == self.proposed(review):
                action, edited = "approve", None
            stored = {"action": action, "surface": decision.surface, "comment": decision.comment, "at": self.now()}
            with state_errors(self.directory):
                if edited is not None:
                    # A name of its own: the text of a later surface must not replace the text of the first one.
                    stored["edited"] = f"edited-{token_hex(4)}"
                    write_durably(directory / str(stored["edited"]), edited)
                is_first = create_once(directory / "decision.json", _as_json(stored))
        except FileNotFoundError:  # removed meanwhile
            return False
        if is_first:
            record_decision(review, action, decision.surface)
        return is_first

    def decision(self, review: Review) -> Decision | None:
        """Return the decision; None if there is none yet."""
        stored = self._load(review.id, "decision.json")
        if stored is None:
            return None
        if stored["action"] not in _ACTIONS or not _are_texts(stored["surface"], stored["comment"]):
            raise ValueError(f"the decision of {review.id} is damaged")
        edited = None
        if name := str(stored.get("edited", "")):
            edited = (self._path(review) / Path(name).name).read_bytes()
        return Decision(stored["action"], stored["surface"], stored["comment"], edited, stored["at"])

    def begin(self, review: Review, stamp: str) -> None:
        """Record, before the file is replaced, that it will be. `stamp` identifies the file."""
        with state_errors(self.directory):
            create_once(self._path(review) / "begun", stamp.encode())

    def begun(self, review: Review) -> str | None:
        """Return the stamp of a write that was begun; None if there was none."""
        with suppress(FileNotFoundError):
            return (self._path(review) / "begun").read_text(encoding="utf-8", errors="replace")
        return None

    def abandon(self, review: Review) -> None:
        """Forget a write that was begun: it failed, and the file was not replaced."""
        (self._path(review) / "begun").unlink(missing_ok=True)

    def record_outcome(self, review: Review, outcome: Outcome) -> Outcome:
        """Record the outcome, and return it, or the one that was recorded first."""
        with state_errors(self.directory):
            is_first = create_once(self._path(review) / "outcome.json", _as_json(asdict(outcome)))
        if is_first:
            record_settlement(review, outcome.status, outcome.sha256)
        return self.outcome(review) or outcome

    def outcome(self, review: Review) -> Outcome | None:
        """Return the outcome; None if there is none yet."""
        stored = self._load(review.id, "outcome.json")
        if stored is None:
            return None
        outcome = Outcome(**stored)
        if outcome.status not in _STATUSES or not _are_texts(outcome.message, outcome.diff, outcome.sha256 or ""):
            raise ValueError(f"the outcome of {review.id} is damaged")
        return outcome

    def status(self, review: Review) -> Status:
        """Return the state of a review. An approved one is pending until its text is written."""
        if outcome := self.outcome(review):
            return outcome.status
        decision = self.decision(review)
        if decision is None:
            return "EXPIRED" if self.now() >= review.expires_at else "PENDING"
        by_action: dict[Action, Status] = {"approve": "PENDING", "reject": "REJECTED"}
        return by_action.get(decision.action, "REVIEW")

    def mark_delivered(self, review: Review) -> None:
        """Record that a call has returned the final result. If this fails, another call returns it again."""
        with suppress(OSError):
            (self._path(review) / "delivered").touch(mode=0o600)

    def is_delivered(self, review: Review) -> bool:
        """Return whether a call has returned the final result."""
        return (self._path(review) / "delivered").exists()

    def mark_undone(self, review: Review) -> None:
        """Record that the change of a committed review was taken back."""
        with suppress(OSError):
            (self._path(review) / "undone").touch(mode=0o600)

    def is_undone(self, review: Review) -> bool:
        """Return whether the change of a committed review was taken back."""
        return (self._path(review) / "undone").exists()

    def is_decided(self, review: Review) -> bool:
        """Return whether there is a decision, without reading it."""
        return (self._path(review) / "decision.json").exists()

    def pending(self) -> list[Review]:
        """Return the reviews that wait for a decision, in order of creation."""
        now = self.now()
        waiting = [review for review in self.all() if now < review.expires_at and not self.is_decided(review)]
        return sorted(waiting, key=lambda review: (review.created_at, review.id))

    def recent(self, limit: int = 50) -> list[Review]:
        """Return the last reviews, newest first."""
        return sorted(self.all(), key=lambda review: (review.created_at, review.id), reverse=True)[:limit]

    def all(self) -> Iterator[Review]:
        """Yield all reviews, in any order."""
        for name in self._names():
            if review := self.get(name):
                yield review

    def lock(self, path: str | Path) -> AbstractContextManager[None]:
        """Return the lock of a file. Of all processes, only its holder compares the file with a base and writes it."""
        directory = self.directory / "locks"
        make_private(self.directory)
        make_private(directory)
        return locked(directory / hashlib.sha256(os.fsencode(path)).hexdigest())

    def _path(self, review: Review) -> Path:
        return self.directory / review.id

    def _names(self) -> list[str]:
        with suppress(FileNotFoundError), state_errors(self.directory):
            return [path.name for path in self.directory.iterdir()]
        return []

    def _load(self, review_id: str, name: str) -> dict[str, Any] | None:
        """Return the content of a JSON file; None if it is missing.

        Raises:
            ValueError: it is damaged.
        """
        try:
            stored = json.loads((self.directory / review_id / name).read_bytes())
        except FileNotFoundError:
            return None
        if not isinstance(stored, dict):
            raise ValueError(f"{name} of {review_id} is damaged")  # noqa: TRY004  as for other damage
        return cast("dict[str, Any]", stored)

    def _sweep(self) -> None:
        """Remove reviews that expired long ago, and incomplete ones that a killed process left."""
        old = self.now() - KEEP_S
        for name in self._names():
            path = self.directory / name
            if name.startswith("tmp-"):
                with suppress(OSError):
                    if path.stat().st_mtime < old:
                        shutil.rmtree(path)
            elif (review := self.get(name)) and review.expires_at < old:
                removed = self.directory / f"tmp-{token_hex(10)}"
                with suppress(OSError):  # another process was first
                    path.rename(removed)
                    shutil.rmtree(removed)


def digest(data: bytes | None) -> str | None:
    """Return the SHA-256 of some bytes; None for a missing file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def _are_texts(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def _as_json(value: Any) -> bytes:
    # Names of files may contain bytes that are not UTF-8: as escapes, they are valid JSON.
    return json.dumps(value, indent=1).encode("ascii")
