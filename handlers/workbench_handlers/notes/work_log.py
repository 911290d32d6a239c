"""The work log of the GSD-Lite method: one Markdown file with a summary, an index and numbered entries."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, TypeVar

from workbench_handlers.files.find import fitting_items
from workbench_handlers.files.sections import after_fence

MAX_LOG_BYTES: Final = 10_000_000
"""Largest log that is analysed."""
MAX_ENTRIES: Final = 500
"""Entries in one answer, the newest."""
MAX_SECTIONS: Final = 200
"""Sections in one answer, the first."""
MAX_PROBLEMS: Final = 100
"""Problems in one answer, the first."""
MAX_COUNTED: Final = 100
"""Types, and tasks, in one answer: those with the most entries."""
MAX_FIELDS: Final = 20
"""Fields of the summary in one answer, the first."""
MAX_FIELD_CHARACTERS: Final = 2000
"""Characters shown of one field of the summary."""
MAX_TITLE_CHARACTERS: Final = 200
"""Characters shown of a title, a type, a task or a date."""
SHARES: Final = {"entries": 0.5, "sections": 0.15, "current": 0.15, "problems": 0.1, "types": 0.05, "tasks": 0.05}
"""The share of one answer that each part of a log may fill."""

# A log is text that anybody wrote: each of these takes time in proportion to a line, whatever the line.
_SECTION: Final = re.compile(r"##\s+([^\s#].*)")
_ENTRY: Final = re.compile(r"###\s+\[(LOG-\d+)\]\s*-\s*\[([^\]]+)\]\s*-\s*(\S.*)")
_ENTRY_LIKE: Final = re.compile(r"#{1,6}\s+\[?LOG-\d+", re.IGNORECASE)
_TASK: Final = re.compile(r"(?<=\s)-\s+Task:\s*(\S.*)")
_DATE: Final = re.compile(r"\*\*(?:Date|Timestamp):\*\*\s*(\S+)")
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_OPENING: Final = re.compile(r"<([a-z_]{1,50})>")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class LogSection:
    """A part of the log under a heading of the second level; 1-based lines."""

    title: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One `### [LOG-NNN]` entry; 1-based lines, blank ones and rules at its end not counted."""

    id: str
    type: str
    title: str
    start_line: int
    end_line: int
    task: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """What a work log says about itself. `current` holds the tagged fields of its summary, such as `active_task`.

    `omitted` says how many of what are left out.
    """

    lines: int
    current: dict[str, str]
    sections: list[LogSection]
    entries: list[LogEntry]
    types: dict[str, int]
    tasks: dict[str, int]
    problems: list[str] = field(default_factory=list)
    omitted: dict[str, int] = field(default_factory=dict)


def analyse(text: str, step: Callable[[], None] = lambda: None) -> Log:
    """Read a work log. What does not look as it should is told in `problems`, and the rest is read all the same.

    Takes time in proportion to the text; `step` is called for each line and may raise to end it.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    headings = _headings(lines, step)
    section_ends = _ends(lines, headings, {"section"})
    entry_ends = _ends(lines, headings, {"section", "entry", "odd"})
    sections = [
        LogSection(_short(match[1].rstrip()), number, section_ends[number])
        for number, kind, match in headings
        if kind == "section" and match
    ]
    entries = [
        _entry(lines, number, entry_ends[number], match)
        for number, kind, match in headings
        if kind == "entry" and match
    ]
    return Log(
        len(lines),
        _current(lines),
        sections,
        entries,
        _counts(each.type for each in entries),
        _counts(each.task for each in entries if each.task),
        _problems(lines, entries, headings),
    )


def bounded(log: Log) -> Log:
    """Leave out what is too much for one answer, and say in `omitted` how much that is."""
    entries = _first("entries", log.entries[::-1], MAX_ENTRIES)[::-1]
    sections = _first("sections", log.sections, MAX_SECTIONS)
    problems = _first("problems", log.problems, MAX_PROBLEMS)
    current = dict(_first("current", list(log.current.items()), MAX_FIELDS))
    types = dict(_first("types", list(log.types.items()), MAX_COUNTED))
    tasks = dict(_first("tasks", list(log.tasks.items()), MAX_COUNTED))
    left = {
        "current": len(log.current) - len(current),
        "sections": len(log.sections) - len(sections),
        "entries": len(log.entries) - len(entries),
        "types": len(log.types) - len(types),
        "tasks": len(log.tasks) - len(tasks),
        "problems": len(log.problems) - len(problems),
    }
    omitted = {what: count for what, count in left.items() if count}
    return Log(log.lines, current, sections, entries, types, tasks, problems, omitted)


def _first(part: str, items: Sequence[Item], most: int) -> list[Item]:
    """Return the first items, at most `most`, that fit together into the share of an answer which `part` has."""
    return fitting_items(items[:most], _json, SHARES[part])


def _json(item: Any) -> str:
    """Print an item as JSON. A bar counts as in a Markdown table, where it is escaped."""
    value = asdict(item) if isinstance(item, LogSection | LogEntry) else item
    return json.dumps(value, ensure_ascii=False).replace("|", "\\\\|")


def _short(text: str) -> str:
    return text if len(text) <= MAX_TITLE_CHARACTERS else f"{text[:MAX_TITLE_CHARACTERS]}..."


Heading = tuple[int, str, re.Match[str] | None]
"""A 1-based line, `section`, `entry` or `odd`, and how it matched."""


def _headings(lines: Sequence[str], step: Callable[[], None]) -> list[Heading]:
    found: list[Heading] = []
    fence = ""
    for number, line in enumerate((each.removesuffix("\r") for each in lines), 1):
        step()
        if not line.lstrip().startswith(("#", "`", "~")):
            continue
        if mark := _FENCE.match(line):
            fence = after_fence(fence, mark[1], line)
        elif entry := _ENTRY.match(line):
            # Logs quote each other, so one fence left open must not swallow the rest.
            if not fence or (number > 1 and lines[number - 2].strip() in {"", "---"} and _is_dated(lines, number)):
                fence = ""
                found.append((number, "entry", entry))
        elif not fence and (section := _SECTION.match(line)):
            found.append((number, "section", section))
        elif not fence and _ENTRY_LIKE.match(line):
            found.append((number, "odd", None))
    return found


def _is_dated(lines: Sequence[str], heading: int) -> bool:
    return any(_DATE.match(line) for line in lines[heading : heading + 3])


def _ends(lines: Sequence[str], headings: Sequence[Heading], ending: set[str]) -> dict[int, int]:
    """Give the last line that belongs to each heading: before the next one of the kinds `ending`, no blank ones."""
    ends: dict[int, int] = {}
    after = last = len(lines)
    for number, kind, _ in reversed(headings):
        last = min(last, after)
        while last > number and lines[last - 1].strip() in {"", "---"}:
            last -= 1
        ends[number] = max(last, number)
        if kind in ending:
            after = number - 1
    return ends


def _entry(lines: Sequence[str], number: int, end: int, match: re.Match[str]) -> LogEntry:
    title = match[3].rstrip()
    task = _TASK.search(title)
    dates = (_DATE.match(line) for line in lines[number : min(end, number + 15)])
    date = next((_short(found[1]) for found in dates if found), None)
    return LogEntry(
        _short(match[1]),
        _short(match[2]),
        _short(title[: task.start()].rstrip() if task else title),
        number,
        end,
        _short(task[1]) if task else None,
        date,
    )


def _current(lines: Sequence[str]) -> dict[str, str]:
    """Read `<name>`, text, `</name>` before the first entry."""
    fields: dict[str, str] = {}
    name, kept = "", list[str]()
    for line in lines:
        if _ENTRY.match(line):
            break
        if name and line.strip() == f"</{name}>":
            fields[name] = "\n".join(kept).strip()[:MAX_FIELD_CHARACTERS]
            name = ""
        elif not name and (opening := _OPENING.fullmatch(line.strip())):
            name, kept = opening[1], []
        elif name:
            kept.append(line.rstrip())
    return fields


def _counts(values: Iterable[str]) -> dict[str, int]:
    """Count, the most frequent first."""
    return dict(Counter(values).most_common())


def _problems(lines: Sequence[str], entries: Sequence[LogEntry], headings: Sequence[Heading]) -> list[str]:
    asked = "### [LOG-NNN] - [TYPE] - Title - Task: NAME"
    found = [
        f"line {number}: `{lines[number - 1].strip()[:80]}` is no entry heading: write `{asked}`"
        for number, kind, _ in headings
        if kind == "odd"
    ]
    seen: dict[str, int] = {}
    for entry in entries:
        if entry.id in seen:
            found.append(f"line {entry.start_line}: {entry.id} is there already, at line {seen[entry.id]}")
        seen.setdefault(entry.id, entry.start_line)
        missing = [name for name, value in (("Task", entry.task), ("Date", entry.date)) if value is None]
        if missing:
            found.append(f"line {entry.start_line}: {entry.id} has no {' and no '.join(missing)}")
    return found


def table(log: Log) -> str:
    """Print the entries as a Markdown table."""
    rows = [("ID", "Type", "Date", "Lines", "Task", "Title")]
    rows += [
        (each.id, each.type, each.date or "", f"{each.start_line}-{each.end_line}", each.task or "", each.title)
        for each in log.entries
    ]
    printed = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([printed[0], "|" + " --- |" * len(rows[0]), *printed[1:]])
