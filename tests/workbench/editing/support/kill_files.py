"""End a review of several files in child processes that are killed before their first, second, ... change.

Usage: `kill_files.py DIRECTORY (settle | commit | undo | restore)`. Each line is a JSON list: whether the child
finished, the contents of the files after the kill (`old`, `new`, `damaged`), those after the recovery of the next
start, the status, the contents after a second end, and what is left to recover.
In `restore`, somebody changes the last file, which the child then finds changed after it has written the first ones.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from killing import kill_before_change
from toolmason_runtime import ToolError

from workbench_handlers.editing.reviews import change_set, settle
from workbench_handlers.editing.reviews.store import Decision, ProposedFile, Review, ReviewStore
from workbench_handlers.workspace import write
from workbench_handlers.workspace.roots import Located, Root

TEXTS: dict[str, tuple[bytes | None, bytes]] = {
    "a.txt": (b"old a\n" * 50, b"new a\n" * 90),
    "sub/b.txt": (None, b"new b\n"),
    "c.txt": (b"old c\n", b"new c\n"),
}
MAX_CHANGES = 500


def prepared(directory: Path, work: str) -> tuple[ReviewStore, Review]:
    """Return a review of the files that was decided, and for `undo` committed."""
    store = ReviewStore(directory / "reviews")
    root = Root.of(str(directory), "a test")
    files = []
    for name, (old, new) in TEXTS.items():
        located = write.locate_for_writing(name, (root,))
        located.path.unlink(missing_ok=True)
        if old is not None:
            located.path.write_bytes(old)
        files.append(ProposedFile(located, old, b"proposed" if work == "commit" else new))
    first, *more = files
    review = store.create(
        first.located, mode="files", caller="", key="", original=first.original, proposed=first.proposed, more=more
    )
    texts: dict[int, bytes | None] = dict(enumerate(new for _, new in TEXTS.values())) if work == "commit" else {}
    assert store.decide(review, Decision("edit" if texts else "approve", "a test", texts=texts))
    if work == "undo":
        settle.settle(store, review)
    return store, review


def end(work: str, store: ReviewStore, review: Review) -> None:
    """End a review, or take its change back."""
    if work == "commit":
        settle.commit_edited(store, review)
    elif work == "undo":
        settle.undo(store, review.id)
    else:
        settle.settle(store, review)


def change_last_file_before_it_is_written() -> None:
    """Let somebody change the last file when the first ones are written."""

    def replace(located: Located, data: bytes, *, expected: bytes | None) -> None:
        if located.path.name == "c.txt":
            located.path.write_bytes(b"by hand")
        write.replace_file(located, data, expected=expected)

    vars(change_set)["replace_file"] = replace


def names(directory: Path) -> list[str]:
    """Return the names of the contents of the files."""
    result = []
    for name, (old, new) in TEXTS.items():
        file = directory / name
        content = file.read_bytes() if file.exists() else None
        result.append({old: "old", new: "new", b"by hand": "by hand"}.get(content, "damaged"))
    return result


def main(directory: Path, work: str) -> None:
    """Print the states after each kill, up to the run that finishes."""
    for number in range(1, MAX_CHANGES):
        store, review = prepared(directory, work)
        child = os.fork()
        if child == 0:
            if work == "restore":
                change_last_file_before_it_is_written()
            kill_before_change(number)
            end(work, store, review)
            os._exit(0)
        _, code = os.waitpid(child, 0)
        is_finished = os.waitstatus_to_exitcode(code) == 0
        after_kill = names(directory)
        settle.recover(store)
        recovered, left = names(directory), store.unfinished()
        try:
            end(work, store, review)
        except ToolError:
            assert (work, recovered[0]) == ("undo", "old"), "a second undo changes nothing"
        status = [store.status(review), names(directory), left]
        print(json.dumps([is_finished, after_kill, recovered, *status]), flush=True)  # noqa: T201  the answer
        if is_finished:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
