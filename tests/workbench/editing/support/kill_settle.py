"""End a review in child processes that are killed before one line after another; print the states afterwards.

Usage: `kill_settle.py DIRECTORY (settle | commit | undo)`. Each line is a JSON list: whether the child finished, the
content of the file after the kill (`old`, `new`, `damaged`), and its content and the status after a second end.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from killing import killed_at
from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews import settle, state_files
from workbench_handlers.editing.reviews import store as reviews
from workbench_handlers.editing.reviews.store import Decision, Review, ReviewStore
from workbench_handlers.workspace import write
from workbench_handlers.workspace.roots import Root

OLD, NEW = b"old\n" * 50, b"new\n" * 90
MAX_LINES = 1_000
TRACED = {module.__file__ for module in (reviews, settle, state_files, write)}


def prepared(directory: Path, work: str) -> tuple[ReviewStore, Review]:
    """Return a review of the file that was decided, and for `undo` committed."""
    store = ReviewStore(directory / "reviews")
    located = write.locate_for_writing("file.txt", (Root.of(str(directory), "a test"),))
    located.path.write_bytes(OLD)
    proposed = b"proposed" if work == "commit" else NEW
    review = store.create(located, mode="overwrite", caller="", key="", original=OLD, proposed=proposed)
    edit = work == "commit"
    assert store.decide(review, Decision("edit" if edit else "approve", "a test", edited=NEW if edit else None))
    if work == "undo":
        settle.settle(store, review)
    return store, review


def end(work: str, store: ReviewStore, review: Review) -> None:
    """End a review, or take its change back."""
    if work == "settle":
        settle.settle(store, review)
    elif work == "commit":
        settle.commit_edited(store, review)
    else:
        settle.undo(store, review.id)


def name(path: Path) -> str:
    """Return the name of the content of the file."""
    return {OLD: "old", NEW: "new"}.get(path.read_bytes(), "damaged")


def main(directory: Path, work: str) -> None:
    """Print the state after each kill, up to the run that finishes."""
    os.fsync = lambda _: None  # type: ignore[assignment]  # a killed process loses no data of the system's cache
    file = directory / "file.txt"
    for number in range(1, MAX_LINES):
        store, review = prepared(directory, work)
        child = os.fork()
        if child == 0:
            sys.settrace(killed_at(number, TRACED))
            end(work, store, review)
            os._exit(0)
        _, code = os.waitpid(child, 0)
        is_finished = os.waitstatus_to_exitcode(code) == 0
        after_kill = name(file)
        try:
            end(work, store, review)
        except ToolError:
            assert (work, after_kill) == ("undo", "old"), "a second undo changes nothing"
        print(json.dumps([is_finished, after_kill, name(file), store.status(review)]), flush=True)  # noqa: T201  the answer
        if is_finished:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
