"""The work log of the GSD-Lite method: one Markdown file with a summary, an index and numbered entries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from workbench.sections import after_fence

MOST_LOG_BYTES: Final = 10_000_000
"""Largest log that is analysed."""
MOST_ENTRIES: Final = 500
"""Entries in one answer, the newest."""
MOST_FIELD_CHARACTERS: Final = 2000
"""Characters shown of one field of the summary."""

_SECTION: Final = re.compile(r"##\s+(?!#)(.+?)\s*$")
_ENTRY: Final = re.compile(r"###\s+\[(LOG-\d+)\]\s*-\s*\[([^\]]+)\]\s*-\s*(.+?)\s*$")
_ENTRY_LIKE: Final = re.compile(r"#{1,6}\s+\[?LOG-\d+", re.IGNORECASE)
_TASK: Final = re.compile(r"\s+-\s+Task:\s*(.+)$")
_DATE: Final = re.compile(r"\*\*(?:Date|Timestamp):\*\*\s*(\S+)")
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_OPENING: Final = re.compile(r"<([a-z_]+)>\s*$")


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
    """What a work log says about itself. `current` holds the tagged fields of its summary, such as `active_task`."""

    lines: int
    current: dict[str, str]
    sections: list[LogSection]
    entries: list[LogEntry]
    types: dict[str, int]
    tasks: dict[str, int]
    problems: list[str] = field(default_factory=list)


def analyse(text: str) -> Log:
    """Read a work log. What does not look as it should is told in `problems`, and the rest is read all the same."""
    lines = text.removesuffix("\n").split("\n") if text else []
    headings = _headings(lines)
    sections = [
        LogSection(match[1], number, _end(lines, number, headings, {"section"}))
        for number, kind, match in headings
        if kind == "section" and match
    ]
    entries = [_entry(lines, number, headings, match) for number, kind, match in headings if kind == "entry" and match]
    return Log(
        len(lines),
        _current(lines),
        sections,
        entries,
        _counts([each.type for each in entries]),
        _counts([each.task for each in entries if each.task]),
        _problems(lines, entries, headings),
    )


Heading = tuple[int, str, re.Match[str] | None]
"""A 1-based line, `section`, `entry` or `odd`, and how it matched."""


def _headings(lines: Sequence[str]) -> list[Heading]:
    found: list[Heading] = []
    fence = ""
    for number, line in enumerate((each.removesuffix("\r") for each in lines), 1):
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


def _end(lines: Sequence[str], start: int, headings: Sequence[Heading], ending: set[str]) -> int:
    """Give the last line that belongs to the heading at `start`."""
    last = next((number - 1 for number, kind, _ in headings if number > start and kind in ending), len(lines))
    while last > start and lines[last - 1].strip() in {"", "---"}:
        last -= 1
    return last


def _entry(lines: Sequence[str], number: int, headings: Sequence[Heading], match: re.Match[str]) -> LogEntry:
    title = match[3]
    task = _TASK.search(title)
    end = _end(lines, number, headings, {"section", "entry", "odd"})
    dates = (_DATE.match(line) for line in lines[number : min(end, number + 15)])
    date = next((found[1] for found in dates if found), None)
    return LogEntry(
        match[1], match[2], title[: task.start()] if task else title, number, end, task[1] if task else None, date
    )


def _current(lines: Sequence[str]) -> dict[str, str]:
    """Read `<name>`, text, `</name>` before the first entry."""
    fields: dict[str, str] = {}
    name, kept = "", list[str]()
    for line in lines:
        if _ENTRY.match(line):
            break
        if name and line.strip() == f"</{name}>":
            fields[name] = "\n".join(kept).strip()[:MOST_FIELD_CHARACTERS]
            name = ""
        elif not name and (opening := _OPENING.match(line.strip())):
            name, kept = opening[1], []
        elif name:
            kept.append(line.rstrip())
    return fields


def _counts(values: Sequence[str]) -> dict[str, int]:
    return {value: values.count(value) for value in dict.fromkeys(values)}


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
        for each in log.entries[-MOST_ENTRIES:]
    ]
    printed = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([printed[0], "|" + " --- |" * len(rows[0]), *printed[1:]])
