"""Reviews on disk, shared by all servers of a user and the `review` command.

Each review is a directory. A file in it never changes once it is visible; `state_files.create_once` creates the files
that several processes may race to create, so the first decision and the first outcome are final.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import randbelow, token_hex
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from toolmason_runtime import ToolError
from toolmason_runtime.audit import log_path

from workbench_handlers.editing.reviews.audit_trail import record_decision, record_proposal, record_settlement
from workbench_handlers.editing.reviews.state_files import (
    REVIEW_ID,
    TTL_S,
    UNFINISHED,
    create_once,
    locked,
    make_private,
    state_errors,
    sync_directory,
    unfinished_reviews,
    write_durably,
)
from workbench_handlers.workspace.roots import Located, Root

if TYPE_CHECKING:
    from workbench_handlers.editing.text.request import Mode

Action = Literal["approve", "edit", "reject", "comment", "supersede"]
"""The last one ends a review without a person: its file changed, and the same change was proposed again."""
Status = Literal["PENDING", "COMMITTED", "AUTO_APPROVED", "REVIEW", "REJECTED", "CONFLICT", "EXPIRED"]

KEEP_S: Final = 7 * 86_400.0
"""Seconds after its expiry during which a review stays on the disk: as a notice, and for undo."""
AUTO_APPROVE: Final = "auto-approve"
"""Surface of decisions that `--auto-approve` makes."""

_ACTIONS: Final = get_args(Action)
_STATUSES: Final = get_args(Status)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedFile:
    """One file of a review."""

    path: str
    """Its absolute path."""
    root: str
    parts: tuple[str, ...]
    shown: str
    """The path in results."""
    base_sha256: str | None
    """Digest of the file when it was read; None if it was missing."""
    encoding: str = ""
    """The codec of its text; empty to detect it."""

    @property
    def located(self) -> Located:
        """The file, for opening it below its root."""
        return Located(Root(Path(self.root), "a review"), self.parts, self.shown)


@dataclass(frozen=True, slots=True)
class ProposedFile:
    """A file of a new review: its bytes when it was read, None if it was missing, and the proposed ones.

    `encoding` is the codec of its text; empty to detect it.
    """

    located: Located
    original: bytes | None
    proposed: bytes
    encoding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A proposed change of one file, or of several that are written together."""

    id: str
    path: str
    """Absolute path of the first file."""
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
    """The codec of the first file's text; empty to detect it."""
    more: tuple[ReviewedFile, ...] = ()
    """The files after the first one."""

    @property
    def files(self) -> tuple[ReviewedFile, ...]:
        """All files, in the order of the proposal."""
        first = ReviewedFile(
            path=self.path,
            root=self.root,
            parts=self.parts,
            shown=self.shown,
            base_sha256=self.base_sha256,
            encoding=self.encoding,
        )
        return (first, *self.more)

    @property
    def located(self) -> Located:
        """The first file, for opening it below its root."""
        return self.files[0].located


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer of a person, or of `--auto-approve`, or its end without one. `surface` is where it was made."""

    action: Action
    surface: str
    comment: str = ""
    """A text for the model; if another review supersedes this one, its id or the empty string."""
    edited: bytes | None = None
    """The text of the first file; see `texts`."""
    at: float = 0.0
    """Time of the decision; the store sets it."""
    texts: Mapping[int, bytes | None] = field(default_factory=dict)
    """The bytes of each file that differ from the proposed ones, by the number of the file, from 0: a person saved them
    or, with the action `approve`, chose a part of the change. None: the file stays missing."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of a review: its text was written, there was a conflict, or another review continues it."""

    status: Status
    message: str
    at: float
    sha256: str | None = None
    """Digest of the bytes that were written to the only file."""
    files: tuple[str | None, ...] = ()
    """For several files: the digest of the bytes that were written to each; None if it was not written."""
    diff: str = ""
    """For a conflict: the change of the file since it was read."""
    successor: str = ""
    """For a conflict: the review of the same change on the changed file."""

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
        self._known: dict[str, tuple[str, str, float]] = {}
        """Client, key and expiry of reviews by id. A proposal would need a second to read hundreds of them."""

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
        more: Sequence[ProposedFile] = (),
    ) -> Review:
        """Store a new review, and remove old ones. `more` are the files after the first one.

        Raises:
            ToolError: the state directory cannot be used.
        """
        make_private(self.directory)
        self._sweep()
        created_at = self.now()
        review = Review(
            id=f"rv_{randbelow(10**20):020}",  # of 20 letters and digits, tokenizers make twice as many tokens
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
            more=tuple(_reviewed(file) for file in more),
        )
        files = {"review.json": _as_json(asdict(review))}
        for index, file in enumerate([ProposedFile(located, original, proposed), *more]):
            files[_numbered("proposed", index)] = file.proposed
            if file.original is not None:
                files[_numbered("original", index)] = file.original
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
        if not REVIEW_ID.fullmatch(review_id):
            return None
        try:
            stored = self._load(review_id, "review.json") or {}
            more = tuple(ReviewedFile(**{**file, "parts": tuple(file["parts"])}) for file in stored.get("more", ()))
            lists = {"parts": tuple(stored["parts"]), "notes": tuple(stored["notes"]), "more": more}
            review = Review(**{**stored, **lists})
            # A damaged review must not name another directory, or show one path and write to another.
            is_valid = review.id == review_id and all(file.path == str(file.located.path) for file in review.files)
            is_valid = is_valid and all(isinstance(at, float) for at in (review.created_at, review.expires_at))
            for index, file in enumerate(review.files):
                for name in ("proposed", *(["original"] if file.base_sha256 else [])):
                    (self._path(review) / _numbered(name, index)).stat()
            self.decision(review), self.outcome(review)
        except (OSError, KeyError, TypeError, ValueError, RecursionError):
            return None
        return review if is_valid else None

    def original(self, review: Review, index: int = 0) -> bytes | None:
        """Return the bytes of a file when it was read; None if it was missing."""
        if review.files[index].base_sha256 is None:
            return None
        return (self._path(review) / _numbered("original", index)).read_bytes()

    def proposed(self, review: Review, index: int = 0) -> bytes:
        """Return the proposed bytes of a file."""
        return (self._path(review) / _numbered("proposed", index)).read_bytes()

    def final(self, review: Review, index: int = 0) -> bytes | None:
        """Return the bytes of a file after a decided review: those of the person, or the proposed ones."""
        decision = self.decision(review)
        if decision is not None and index in decision.texts:
            return decision.texts[index]
        return self.proposed(review, index)

    def edited(self, review: Review) -> bytes | None:
        """Return the bytes that a person saved; None unless the decision is an edit."""
        decision = self.decision(review)
        return None if decision is None else decision.edited

    def editor_file(self, review: Review, index: int = 0) -> Path:
        """Return a private copy of the proposed bytes with the name of the file, for editors."""
        path = self._path(review) / _numbered("editor", index) / review.files[index].parts[-1]
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            create_once(path, self.proposed(review, index))
        return path

    def decide(self, review: Review, decision: Decision) -> bool:
        """Record a decision; return False if another one was first, or the review has expired.

        An edit to the proposed text is an approval, and an approval of no change is a rejection.
        """
        if self.now() >= review.expires_at:
            return False
        directory = self._path(review)
        try:
            action, texts = self._normalized(review, decision)
            stored = {"action": action, "surface": decision.surface, "comment": decision.comment, "at": self.now()}
            with state_errors(self.directory):
                # A name of its own: the text of a later surface must not replace the text of the first one.
                names = {index: f"edited-{token_hex(4)}" for index, text in texts.items() if text is not None}
                for index, name in names.items():
                    write_durably(directory / name, texts[index] or b"")
                stored["texts"] = {index: names.get(index) for index in texts}
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
        names = dict(stored.get("texts") or {})
        if name := stored.get("edited"):  # a decision of an earlier version
            names["0"] = name
        texts = {
            int(index): None if name is None else (self._path(review) / Path(name).name).read_bytes()
            for index, name in names.items()
        }
        return Decision(stored["action"], stored["surface"], stored["comment"], texts.get(0), stored["at"], texts)

    def _normalized(self, review: Review, decision: Decision) -> tuple[Action, dict[int, bytes | None]]:
        """Return the action of a decision, and its texts that are not the proposed ones."""
        texts = dict(decision.texts) if decision.edited is None else {0: decision.edited, **decision.texts}
        texts = {index: text for index, text in texts.items() if text != self.proposed(review, index)}
        action = decision.action
        if action == "edit" and not texts:
            action = "approve"
        elif action == "approve" and len(texts) == len(review.files):
            is_empty = all(text == self.original(review, index) for index, text in texts.items())
            return ("reject", {}) if is_empty else (action, texts)
        return action, texts

    def begin(self, review: Review, stamp: str, name: str = "begun") -> None:
        """Record, before a file is replaced, that it will be. `stamp` identifies the file."""
        with state_errors(self.directory):
            create_once(self._path(review) / name, stamp.encode())

    def begun(self, review: Review, name: str = "begun") -> str | None:
        """Return the stamp of a write that was begun; None if there was none."""
        with suppress(FileNotFoundError):
            return (self._path(review) / name).read_text(encoding="utf-8", errors="replace")
        return None

    def abandon(self, review: Review, name: str = "begun") -> None:
        """Forget a write that was begun: it failed, and no file was replaced."""
        (self._path(review) / name).unlink(missing_ok=True)

    def mark_unfinished(self, review: Review) -> None:
        """Record that files of a review are being written, so that the next server or command finishes a killed one."""
        directory = self.directory / UNFINISHED
        make_private(directory)
        with state_errors(self.directory):
            create_once(directory / review.id, b"")

    def mark_finished(self, review: Review) -> None:
        """Record that no file of a review is being written."""
        (self.directory / UNFINISHED / review.id).unlink(missing_ok=True)

    def unfinished(self) -> list[str]:
        """Return the ids of the reviews whose files are being written, or were when a process was killed."""
        return unfinished_reviews(self.directory)

    def forget_unfinished(self, review_id: str) -> None:
        """Forget an unfinished review that was removed."""
        if REVIEW_ID.fullmatch(review_id):
            (self.directory / UNFINISHED / review_id).unlink(missing_ok=True)

    def record_outcome(self, review: Review, outcome: Outcome) -> Outcome:
        """Record the outcome, and return it, or the one that was recorded first."""
        with state_errors(self.directory):
            is_first = create_once(self._path(review) / "outcome.json", _as_json(asdict(outcome)))
        if is_first:
            record_settlement(review, outcome.status, outcome.files or (outcome.sha256,))
        return self.outcome(review) or outcome

    def outcome(self, review: Review) -> Outcome | None:
        """Return the outcome; None if there is none yet."""
        stored = self._load(review.id, "outcome.json")
        if stored is None:
            return None
        outcome = Outcome(**{**stored, "files": tuple(stored.get("files", ()))})
        if outcome.status not in _STATUSES or not _are_texts(
            outcome.message, outcome.diff, outcome.sha256 or "", *filter(None, outcome.files)
        ):
            raise ValueError(f"the outcome of {review.id} is damaged")
        return outcome

    def status(self, review: Review) -> Status:
        """Return the state of a review. An approved one is pending until its text is written."""
        if outcome := self.outcome(review):
            return outcome.status
        decision = self.decision(review)
        if decision is None:
            return "EXPIRED" if self.now() >= review.expires_at else "PENDING"
        by_action: dict[Action, Status] = {"approve": "PENDING", "reject": "REJECTED", "supersede": "CONFLICT"}
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
        undecided = (name for name in self._names() if not (self.directory / name / "decision.json").exists())
        waiting = [review for name in undecided if (review := self.get(name)) and now < review.expires_at]
        return sorted(waiting, key=lambda review: (review.created_at, review.id))

    def recent(self, limit: int = 50) -> list[Review]:
        """Return the last reviews, newest first."""
        return sorted(self.all(), key=lambda review: (review.created_at, review.id), reverse=True)[:limit]

    def with_keys(self, caller: str, keys: Collection[str]) -> list[Review]:
        """Return the reviews of a client with one of these keys, newest first."""
        known = self._read_new(self._names())
        found = [review_id for review_id, (own, key, _) in known.items() if own == caller and key in keys]
        reviews = [review for review_id in found if (review := self.get(review_id))]
        return sorted(reviews, key=lambda review: review.created_at, reverse=True)

    def _read_new(self, names: Collection[str]) -> dict[str, tuple[str, str, float]]:
        """Return client, key and expiry of the reviews in `names`, of which each is read once: it never changes."""
        earlier = self._known  # another thread may replace it
        known = {name: earlier[name] for name in names if name in earlier}
        for name in names:
            if name not in known and (review := self.get(name)):
                known[name] = (review.caller, review.key, review.expires_at)
        self._known = known
        return known

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

    @contextmanager
    def lock_all(self, paths: Iterable[str | Path]) -> Iterator[None]:
        """Hold the locks of several files. All callers take them in one order."""
        with ExitStack() as stack:
            for path in sorted({str(path) for path in paths}):
                stack.enter_context(self.lock(path))
            yield

    def _path(self, review: Review) -> Path:
        return self.directory / review.id

    def _names(self) -> list[str]:
        with suppress(FileNotFoundError), state_errors(self.directory):
            return os.listdir(self.directory)  # noqa: PTH208  thousands of names, with each proposal
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
        names = self._names()
        known = self._read_new(names)
        for name in names:
            if name.startswith("tmp-"):
                path = self.directory / name
                with suppress(OSError):
                    if path.stat().st_mtime < old:
                        shutil.rmtree(path)
            elif name in known and known[name][-1] < old:
                removed = self.directory / f"tmp-{token_hex(10)}"
                with suppress(OSError):  # another process was first
                    (self.directory / name).rename(removed)
                    shutil.rmtree(removed)


def _numbered(name: str, index: int) -> str:
    """Return the name of a file in the directory of a review, for one of the reviewed files."""
    return f"{name}-{index}" if index else name


def _reviewed(file: ProposedFile) -> ReviewedFile:
    located = file.located
    return ReviewedFile(
        path=str(located.path),
        root=str(located.root.path),
        parts=located.parts,
        shown=located.shown,
        base_sha256=digest(file.original),
        encoding=file.encoding,
    )


def digest(data: bytes | None) -> str | None:
    """Return the SHA-256 of some bytes; None for a missing file."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def _are_texts(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def _as_json(value: Any) -> bytes:
    # Names of files may contain bytes that are not UTF-8: as escapes, they are valid JSON.
    return json.dumps(value, indent=1).encode("ascii")
