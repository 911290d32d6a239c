"""Write several files all or none, also if the process is killed at any step.

Before the first file is replaced, a journal names all files with their stamps. By these stamps a later run finds the
files that are not written yet, and writes them; or, if somebody has changed a file meanwhile, it restores the written
ones. The caller holds the locks of all files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews.store import Review, ReviewStore
from workbench_handlers.workspace.open import open_directory
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.write import FileChangedError, read_for_editing, replace_file

_State = Literal["waiting", "written", "changed"]


@dataclass(frozen=True, slots=True)
class Step:
    """The change of one file of a review. None is a missing file."""

    index: int
    """Number of the file in the review, from 0."""
    located: Located
    before: bytes | None
    after: bytes | None


class StepChangedError(Exception):
    """A file has other bytes than those before its step; no file of the change is written.

    `is_unknown`: an earlier run was killed, so the file may have been written and changed back.
    """

    def __init__(self, *, is_unknown: bool) -> None:
        super().__init__("a file changed")
        self.is_unknown = is_unknown


def begun_steps(store: ReviewStore, review: Review, journal: str) -> dict[int, str] | None:
    """Return the stamps of the files in a journal, by number of the file; None if no write was begun."""
    text = store.begun(review, journal)
    return None if text is None else {int(index): stamp for index, stamp in json.loads(text).items()}


def write_all(store: ReviewStore, review: Review, steps: Sequence[Step], journal: str) -> None:
    """Carry out all steps, or none. Afterwards the caller records the end, then calls `store.mark_finished`.

    Args:
        store: the reviews.
        review: the review of the files.
        steps: the changes; if a write was begun, those in its journal.
        journal: the name of the journal in the review.

    Raises:
        StepChangedError: a file changed; none is written.
        ToolError: a file could not be written; none is, except if the message says so.
    """
    stamps = begun_steps(store, review, journal)
    if stamps is None:
        if any(read_for_editing(step.located) != step.before for step in steps):
            raise StepChangedError(is_unknown=False)
        stamps = {step.index: stamp_of(step.located) for step in steps}
        store.mark_unfinished(review)
        store.begin(review, json.dumps(stamps), journal)
    states = {step.index: _state(store, review, step, stamps[step.index], journal) for step in steps}
    written = [step for step in steps if states[step.index] == "written"]
    if "changed" in states.values():
        _restore(written)
        raise StepChangedError(is_unknown=True)
    try:
        for step in steps:
            if states[step.index] == "waiting":
                if step.before is None:
                    store.begin(review, "", _creation(journal, step))
                _replace(step.located, step.before, step.after)
                written.append(step)
    except FileChangedError:
        _restore(written)
        raise StepChangedError(is_unknown=False) from None
    except ToolError:
        _restore(written)
        abandon(store, review, steps, journal)
        raise


def abandon(store: ReviewStore, review: Review, steps: Sequence[Step], journal: str) -> None:
    """Forget a write of which no file is written."""
    for step in steps:
        store.abandon(review, _creation(journal, step))
    store.abandon(review, journal)
    store.mark_finished(review)


def stamp_of(located: Located) -> str:
    """Return a value of a file that changes when it is replaced, even by the same bytes."""
    try:
        status = located.path.lstat()
    except FileNotFoundError:
        return ""
    return f"{status.st_ino} {status.st_ctime_ns}"


def remove_file(located: Located) -> None:
    """Remove a file, and make that durable."""
    with open_directory(located.parent) as descriptor:
        if descriptor < 0:
            located.path.unlink()
        else:
            os.unlink(located.parts[-1], dir_fd=descriptor)
            os.fsync(descriptor)


def _state(store: ReviewStore, review: Review, step: Step, stamp: str, journal: str) -> _State:
    current = read_for_editing(step.located)
    if current == step.after:
        return "written"
    if current is None and step.before is None:
        # With this mark, the file may have been created and removed again.
        return "waiting" if store.begun(review, _creation(journal, step)) is None else "changed"
    return "waiting" if current == step.before and stamp == stamp_of(step.located) else "changed"


def _creation(journal: str, step: Step) -> str:
    """Return the name of the mark that a file is created next."""
    return f"{journal}-{step.index}"


def _restore(written: Sequence[Step]) -> None:
    """Give the files their bytes from before their steps, except those that somebody has changed since.

    Raises:
        ToolError: a file could not be restored; the next run tries again.
    """
    failures = []
    for step in reversed(written):
        try:
            with suppress(FileChangedError):
                _replace(step.located, step.after, step.before)
        except ToolError as error:
            failures.append(error)
    if failures:
        message = f"{failures[0].message}. Some files are written and others are not: the next call repairs this"
        raise ToolError(message, code=failures[0].code)


def _replace(located: Located, before: bytes | None, after: bytes | None) -> None:
    """Replace, create or remove a file that has the bytes `before`.

    Raises:
        FileChangedError: it has other bytes.
        ToolError: it cannot be changed.
    """
    if after is not None:
        replace_file(located, after, expected=before)
        return
    current = read_for_editing(located)
    if current != before:
        raise FileChangedError(located, current)
    remove_file(located)
