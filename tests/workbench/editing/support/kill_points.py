"""Run one write in child processes that are killed before its first, second, ... line; print the states of the file.

Usage: `kill_points.py DIRECTORY (replace | create)`. Each line is a JSON list: whether the child finished, the content
of the file (`missing`, `old`, `new`, `damaged`), its number of links, and whether it could be written afterwards.
"""

from __future__ import annotations

import ctypes  # noqa: F401  the children must not spend their lines on imports
import json
import os
import sys
from pathlib import Path

from killing import killed_at

from workbench_handlers.workspace import atomic, write
from workbench_handlers.workspace.roots import Root

OLD, NEW = b"old\n" * 500, b"new\n" * 900
MAX_LINES = 1_000
TRACED = {atomic.__file__, write.__file__}


def run(directory: Path, number: int, *, creates: bool) -> bool:
    """Write in a child that is killed before line `number`; return whether it finished first."""
    place = write.locate_for_writing("file.txt", (Root.of(str(directory), "a test"),))
    place.path.unlink(missing_ok=True)
    if not creates:
        place.path.write_bytes(OLD)
    child = os.fork()
    if child == 0:
        sys.settrace(killed_at(number, TRACED))
        write.replace_file(place, NEW, expected=None if creates else OLD)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def main(directory: Path, *, creates: bool) -> None:
    """Print the state after each kill, up to the run that finishes."""
    file = directory / "file.txt"
    for number in range(1, MAX_LINES):
        is_finished = run(directory, number, creates=creates)
        content = file.read_bytes() if file.exists() else None
        links = file.stat().st_nlink if file.exists() else 0
        name = {None: "missing", OLD: "old", NEW: "new"}.get(content, "damaged")
        place = write.locate_for_writing("file.txt", (Root.of(str(directory), "a test"),))
        for leftover in directory.glob(".*.toolmason-tmp"):
            os.utime(leftover, (0, 0))
        write.replace_file(place, b"next", expected=content)
        print(json.dumps([is_finished, name, links, file.read_bytes() == b"next"]), flush=True)  # noqa: T201  the answer
        if is_finished:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), creates=sys.argv[2] == "create")
