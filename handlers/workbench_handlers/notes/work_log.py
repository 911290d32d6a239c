"""Parse a GSD-Lite work log: a Markdown file with a summary, an index and numbered entries."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from toolmason_runtime import estimate_tokens

from workbench_handlers.notes.body import parse_body
from workbench_handlers.notes.headings import (
    EntryHeading,
    Heading,
    find_headings,
    is_entry,
    parse_entry_heading,
    read_date,
    section_title,
    unique,
)
from workbench_handlers.notes.log import Log, LogEntry, LogSection
from workbench_handlers.notes.problems import find_problems

MAX_LOG_BYTES: Final = 10_000_000
"""Maximum bytes of a log."""
MAX_FIELD_CHARACTERS: Final = 2000
"""Maximum characters of one field of the summary."""

_OPENING: Final = re.compile(r"<([a-z_]{1,50})>")  # `<active_task>`


def parse_work_log(text: str, step: Callable[[], None] = lambda: None) -> Log:
    """Parse a work log in linear time. Malformed entries and dangling references are reported in `problems`.

    `step` is called for each line and may raise to stop.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    headings, fenced = find_headings(lines, step)
    tokens = _line_tokens(lines, step)
    section_ends = _section_ends(lines, headings, {"section"})
    entry_ends = _section_ends(lines, headings, {"section", "entry", "odd"})
    sections = [
        LogSection(section_title(match), number, section_ends[number])
        for number, kind, match in headings
        if kind == "section" and match
    ]
    entries = [
        _entry(parse_entry_heading(match), lines, fenced, (number, entry_ends[number]), tokens)
        for number, kind, match in headings
        if kind == "entry" and match
    ]
    return Log(
        len(lines),
        sum(tokens),
        _parse_summary(lines),
        sections,
        entries,
        _count(entry.type for entry in entries),
        _count(entry.task for entry in entries if entry.task),
        _count(status for entry in entries for status in entry.statuses),
        find_problems(lines, entries, headings),
    )


def _line_tokens(lines: Sequence[str], step: Callable[[], None]) -> list[int]:
    """Return the tokens of each line. None of the estimate's pieces crosses a line break."""
    counts = []
    for line in lines:
        step()
        counts.append(estimate_tokens(line))
    return counts


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


def _entry(
    heading: EntryHeading, lines: Sequence[str], fenced: set[int], span: tuple[int, int], tokens: Sequence[int]
) -> LogEntry:
    number, end = span
    body = parse_body(lines[index] for index in range(number, end) if index + 1 not in fenced)
    dates = (read_date(line) for line in lines[number : min(end, number + 15)])
    return LogEntry(
        heading.id,
        heading.type,
        heading.title,
        number,
        end,
        sum(tokens[number - 1 : end]),
        heading.task,
        next((date for date in dates if date), None),
        unique([*heading.superseded_by, *body.superseded_by]) or None,
        unique([*heading.depends_on, *body.depends_on]) or None,
        heading.blocked or body.blocked or None,
        heading.is_struck or None,
        heading.is_obsolete or body.is_obsolete or None,
    )


def _parse_summary(lines: Sequence[str]) -> dict[str, str]:
    """Parse `<name>`, text, `</name>` before the first entry."""
    fields: dict[str, str] = {}
    name, text_lines = "", list[str]()
    for line in lines:
        if is_entry(line):
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
