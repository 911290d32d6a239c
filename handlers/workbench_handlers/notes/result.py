"""The part of a work log that fits into one result, and its table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final, TypeVar

from workbench_handlers.files.find import fitting_items
from workbench_handlers.notes.log import Log, LogEntry, LogSection

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
SHARES: Final = {"entries": 0.5, "sections": 0.15, "current": 0.15, "problems": 0.1, "types": 0.05, "tasks": 0.05}
"""Share of one result for each part of a log."""

Item = TypeVar("Item")


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
    return replace(
        log,
        current=current,
        sections=sections,
        entries=entries,
        types=types,
        tasks=tasks,
        problems=problems,
        omitted=omitted,
    )


def _first(part: str, items: Sequence[Item], limit: int) -> list[Item]:
    """Return the first items, at most `limit`, that fit into the share of one result for `part`."""
    return fitting_items(items[:limit], _json, SHARES[part])


def _json(item: Any) -> str:
    """Return an item as JSON, for its size. Bars are escaped, because the Markdown table escapes them."""
    value = item
    if isinstance(item, LogSection | LogEntry):
        value = {name: value for name, value in asdict(item).items() if value is not None}
    return json.dumps(value, ensure_ascii=False).replace("|", "\\\\|")


def render_table(log: Log) -> str:
    """Return the entries as a Markdown table."""
    rows: list[tuple[str, ...]] = [("ID", "Type", "Date", "Lines", "Tokens", "Status", "Task", "Title")]
    rows += [_row(entry) for entry in log.entries]
    printed = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([printed[0], "|" + " --- |" * len(rows[0]), *printed[1:]])


def _row(entry: LogEntry) -> tuple[str, ...]:
    references = {"superseded": entry.superseded_by, "dependent": entry.depends_on}
    words = {"superseded": "superseded by", "dependent": "depends on"}
    status = [
        " ".join([words.get(name, name), ", ".join(references.get(name) or ())]).strip() for name in entry.statuses
    ]
    lines = f"{entry.start_line}-{entry.end_line}"
    return (
        *(entry.id, entry.type, entry.date or "", lines, str(entry.tokens)),
        *("; ".join(status), entry.task or "", entry.title),
    )
