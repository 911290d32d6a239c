"""Parse a GSD-Lite work log: a Markdown file with a summary, an index and numbered entries."""

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
"""Maximum bytes of a log."""
MAX_ENTRIES: Final = 500
"""Maximum entries in one result, the newest."""
MAX_SECTIONS: Final = 200
"""Maximum sections in one result, the first."""
MAX_PROBLEMS: Final = 100
"""Maximum problems in one result, the first."""
MAX_COUNTED: Final = 100
"""Maximum types, and tasks, in one result: those with the most entries."""
MAX_FIELDS: Final = 20
"""Maximum fields of the summary in one result, the first."""
MAX_FIELD_CHARACTERS: Final = 2000
"""Maximum characters of one field of the summary."""
MAX_TITLE_CHARACTERS: Final = 200
"""Maximum characters of a title, type, task or date."""
SHARES: Final = {"entries": 0.5, "sections": 0.15, "current": 0.15, "problems": 0.1, "types": 0.05, "tasks": 0.05}
"""Share of one result for each part of a log."""

# A log is untrusted text: each of these takes linear time on any line.
_SECTION: Final = re.compile(r"##\s+([^\s#].*)")  # `## Decisions`
# `### [LOG-012] - [PLAN] - Title - Task: NAME`; anything after `LOG-012` is malformed otherwise
_ENTRY: Final = re.compile(r"###\s+\[(LOG-\d+)\]\s*-\s*\[([^\]]+)\]\s*-\s*(\S.*)")
_ENTRY_LIKE: Final = re.compile(r"#{1,6}\s+\[?LOG-\d+", re.IGNORECASE)
_TASK: Final = re.compile(r"(?<=\s)-\s+Task:\s*(\S.*)")  # `- Task: NAME`
_DATE: Final = re.compile(r"\*\*(?:Date|Timestamp):\*\*\s*(\S+)")  # `**Date:** 2026-02-17`
_FENCE: Final = re.compile(r"\s{0,3}(`{3,}|~{3,})")
_OPENING: Final = re.compile(r"<([a-z_]{1,50})>")  # `<active_task>`

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class LogSection:
    """A section with a heading of level 2; 1-based lines."""

    title: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One `### [LOG-NNN]` entry; 1-based lines, without blank lines and rules at its end."""

    id: str
    type: str
    title: str
    start_line: int
    end_line: int
    task: str | None = None
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """The outline of a work log. `current` has the tagged fields of its summary, such as `active_task`.

    `omitted` has the number of omitted items of each part.
    """

    lines: int
    current: dict[str, str]
    sections: list[LogSection]
    entries: list[LogEntry]
    types: dict[str, int]
    tasks: dict[str, int]
    problems: list[str] = field(default_factory=list)
    omitted: dict[str, int] = field(default_factory=dict)


def parse_work_log(text: str, step: Callable[[], None] = lambda: None) -> Log:
    """Parse a work log in linear time. Malformed entries are reported in `problems`.

    `step` is called for each line and may raise to stop.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    headings = _headings(lines, step)
    section_ends = _section_ends(lines, headings, {"section"})
    entry_ends = _section_ends(lines, headings, {"section", "entry", "odd"})
    sections = [
        LogSection(_shorten(match[1].rstrip()), number, section_ends[number])
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
        _parse_summary(lines),
        sections,
        entries,
        _count(entry.type for entry in entries),
        _count(entry.task for entry in entries if entry.task),
        _find_problems(lines, entries, headings),
    )


def limit_log(log: Log) -> Log:
    """Return the part of a log that fits into one result, with the number of omitted items."""
    entries = _first("entries", log.entries[::-1], MAX_ENTRIES)[::-1]
    sections = _first("sections", log.sections, MAX_SECTIONS)
    problems = _first("problems", log.problems, MAX_PROBLEMS)
    current = dict(_first("current", list(log.current.items()), MAX_FIELDS))
    types = dict(_first("types", list(log.types.items()), MAX_COUNTED))
    tasks = dict(_first("tasks", list(log.tasks.items()), MAX_COUNTED))
    omitted_counts = {
        "current": len(log.current) - len(current),
        "sections": len(log.sections) - len(sections),
        "entries": len(log.entries) - len(entries),
        "types": len(log.types) - len(types),
        "tasks": len(log.tasks) - len(tasks),
        "problems": len(log.problems) - len(problems),
    }
    omitted = {part: count for part, count in omitted_counts.items() if count}
    return Log(log.lines, current, sections, entries, types, tasks, problems, omitted)


def _first(part: str, items: Sequence[Item], limit: int) -> list[Item]:
    """Return the first items, at most `limit`, that fit into the share of one result for `part`."""
    return fitting_items(items[:limit], _json, SHARES[part])


def _json(item: Any) -> str:
    """Return an item as JSON. A bar is escaped as in a Markdown table, to have the same size."""
    value = asdict(item) if isinstance(item, LogSection | LogEntry) else item
    return json.dumps(value, ensure_ascii=False).replace("|", "\\\\|")


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_TITLE_CHARACTERS else f"{text[:MAX_TITLE_CHARACTERS]}..."


Heading = tuple[int, str, re.Match[str] | None]
"""A 1-based line, its kind (`section`, `entry` or `odd`), and its match."""


def _headings(lines: Sequence[str], step: Callable[[], None]) -> list[Heading]:
    headings: list[Heading] = []
    fence = ""
    for number, line in enumerate((raw_line.removesuffix("\r") for raw_line in lines), 1):
        step()
        if not line.lstrip().startswith(("#", "`", "~")):
            continue
        if mark := _FENCE.match(line):
            fence = after_fence(fence, mark[1], line)
        elif entry := _ENTRY.match(line):
            # Logs quote each other, so an unclosed fence must not hide the following entries.
            if not fence or (number > 1 and lines[number - 2].strip() in {"", "---"} and _is_dated(lines, number)):
                fence = ""
                headings.append((number, "entry", entry))
        elif not fence and (section := _SECTION.match(line)):
            headings.append((number, "section", section))
        elif not fence and _ENTRY_LIKE.match(line):
            headings.append((number, "odd", None))
    return headings


def _is_dated(lines: Sequence[str], heading: int) -> bool:
    return any(_DATE.match(line) for line in lines[heading : heading + 3])


def _section_ends(lines: Sequence[str], headings: Sequence[Heading], ending: set[str]) -> dict[int, int]:
    """Return the last line of each heading's section: before the next heading of the kinds `ending`, not blank."""
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
    date = next((_shorten(match[1]) for match in dates if match), None)
    return LogEntry(
        _shorten(match[1]),
        _shorten(match[2]),
        _shorten(title[: task.start()].rstrip() if task else title),
        number,
        end,
        _shorten(task[1]) if task else None,
        date,
    )


def _parse_summary(lines: Sequence[str]) -> dict[str, str]:
    """Parse `<name>`, text, `</name>` before the first entry."""
    fields: dict[str, str] = {}
    name, text_lines = "", list[str]()
    for line in lines:
        if _ENTRY.match(line):
            break
        if name and line.strip() == f"</{name}>":
            fields[name] = "\n".join(text_lines).strip()[:MAX_FIELD_CHARACTERS]
            name = ""
        elif not name and (opening := _OPENING.fullmatch(line.strip())):
            name, text_lines = opening[1], []
        elif name:
            text_lines.append(line.rstrip())
    return fields


def _count(values: Iterable[str]) -> dict[str, int]:
    """Count values, the most frequent first."""
    return dict(Counter(values).most_common())


def _find_problems(lines: Sequence[str], entries: Sequence[LogEntry], headings: Sequence[Heading]) -> list[str]:
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
    return problems


def render_table(log: Log) -> str:
    """Return the entries as a Markdown table."""
    rows = [("ID", "Type", "Date", "Lines", "Task", "Title")]
    rows += [
        (entry.id, entry.type, entry.date or "", f"{entry.start_line}-{entry.end_line}", entry.task or "", entry.title)
        for entry in log.entries
    ]
    printed = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([printed[0], "|" + " --- |" * len(rows[0]), *printed[1:]])
