"""Find the problems of a work log: malformed headings, dangling references, circular supersession."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final

from workbench_handlers.notes.headings import Heading
from workbench_handlers.notes.log import LogEntry

MAX_CYCLES: Final = 20
"""Maximum reported circles of entries that supersede each other."""
MAX_CYCLE_ENTRIES: Final = 10
"""Maximum entries in the report of one circle."""


def find_problems(lines: Sequence[str], entries: Sequence[LogEntry], headings: Sequence[Heading]) -> list[str]:
    """Return the problems with the lines of their headings."""
    heading_form = "### [LOG-NNN] - [TYPE] - Title - Task: NAME"
    problems = [
        f"line {number}: `{lines[number - 1].strip()[:80]}` is not an entry heading; use `{heading_form}`"
        for number, kind, _ in headings
        if kind == "odd"
    ]
    seen: dict[str, int] = {}
    for entry in entries:
        if entry.id in seen:
            problems.append(f"line {entry.start_line}: duplicate {entry.id}, first used at line {seen[entry.id]}")
        seen.setdefault(entry.id, entry.start_line)
        missing = [name for name, value in (("Task", entry.task), ("Date", entry.date)) if value is None]
        if missing:
            problems.append(f"line {entry.start_line}: {entry.id} has no {' and no '.join(missing)}")
    for entry in entries:
        for relation, ids in (("superseded by", entry.superseded_by), ("depends on", entry.depends_on)):
            if absent := [reference for reference in ids or () if reference not in seen]:
                problems.append(f"line {entry.start_line}: {entry.id} {relation} missing {', '.join(absent)}")
    problems += [
        f"line {seen[circle[0]]}: circular supersession: {' -> '.join(circle[:MAX_CYCLE_ENTRIES])}"
        for circle in _circles(entries)
    ]
    return problems


def _circles(entries: Sequence[LogEntry]) -> Iterator[list[str]]:
    """Yield circles of entries, each of which is superseded by the next; the last is the first again."""
    successors = {entry.id: set(entry.superseded_by or ()) for entry in entries if entry.superseded_by}
    for _ in range(MAX_CYCLES):
        try:
            TopologicalSorter(successors).prepare()
        except CycleError as error:
            # The list of `graphlib` begins with a successor, so that it is reversed.
            circle = list(reversed(error.args[1]))
            yield circle
            for name in circle:
                successors.pop(name, None)
        else:
            return
