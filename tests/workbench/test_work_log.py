from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import estimate_tokens

from workbench_handlers.notes.log import LogEntry
from workbench_handlers.notes.result import limit_log, render_table
from workbench_handlers.notes.work_log import parse_work_log

LOG = """\
# GSD-Lite Work Log

---

## 1. Current Understanding (Read First)

<current_mode>
housekeeping
</current_mode>

<parked_tasks>
- LOG-010: one
- two
</parked_tasks>

---

## 2. Key Events Index

### Architecture Decisions
- LOG-001: something

---

## 3. Atomic Session Log

### [LOG-001] - [DISCOVERY] - `$ref` Incompatibility — Root - Cause - Task: SCHEMA-DEBUG

**Date:** 2026-02-16
**Session:** Debugging

---

#### 1. Executive Summary

```markdown
### [LOG-900] - [QUOTED] - In a fence - Task: NONE
## 9. Not a section
```

---

### [LOG-002] - [PLAN] - A | B - Task: SCHEMA-DEBUG

**Date:** 2026-02-17

Text.

---

### [LOG-003] - [VERIFIED] - Done - Task: COMPLETED (LOG-001)

**Timestamp:** 2026-02-18
"""


def _tokens(start: int, end: int) -> int:
    return estimate_tokens("\n".join(LOG.splitlines()[start - 1 : end]))


def test_a_log_is_outlined_with_lines_to_read_it_by(room: Any) -> None:
    room.write("gsd-lite/WORK.md", LOG)
    data = room.call("analyze_work_log").data
    assert data == {
        "path": "gsd-lite/WORK.md",
        "lines": 53,
        "tokens": estimate_tokens(LOG),
        "current": {"current_mode": "housekeeping", "parked_tasks": "- LOG-010: one\n- two"},
        "sections": [
            {"title": "1. Current Understanding (Read First)", "start_line": 5, "end_line": 14},
            {"title": "2. Key Events Index", "start_line": 18, "end_line": 21},
            {"title": "3. Atomic Session Log", "start_line": 25, "end_line": 53},
        ],
        "entries": [
            {
                "id": "LOG-001",
                "type": "DISCOVERY",
                "title": "`$ref` Incompatibility — Root - Cause",
                "start_line": 27,
                "end_line": 39,
                "tokens": _tokens(27, 39),
                "task": "SCHEMA-DEBUG",
                "date": "2026-02-16",
            },
            {
                "id": "LOG-002",
                "type": "PLAN",
                "title": "A | B",
                "start_line": 43,
                "end_line": 47,
                "tokens": _tokens(43, 47),
                "task": "SCHEMA-DEBUG",
                "date": "2026-02-17",
            },
            {
                "id": "LOG-003",
                "type": "VERIFIED",
                "title": "Done",
                "start_line": 51,
                "end_line": 53,
                "tokens": _tokens(51, 53),
                "task": "COMPLETED (LOG-001)",
                "date": "2026-02-18",
            },
        ],
        "types": {"DISCOVERY": 1, "PLAN": 1, "VERIFIED": 1},
        "tasks": {"SCHEMA-DEBUG": 2, "COMPLETED (LOG-001)": 1},
        "statuses": {},
        "problems": [],
        "omitted": {},
    }


def test_the_lines_of_an_entry_are_the_entry(room: Any) -> None:
    room.write("gsd-lite/WORK.md", LOG)
    entry = room.call("analyze_work_log").data["entries"][1]
    read = room.read("gsd-lite/WORK.md", start_line=entry["start_line"], end_line=entry["end_line"])
    assert (
        read.text.partition("\n")[2]
        == "### [LOG-002] - [PLAN] - A | B - Task: SCHEMA-DEBUG\n\n**Date:** 2026-02-17\n\nText.\n"
    )


def test_a_table_is_shorter_and_keeps_its_cells_apart(room: Any) -> None:
    room.write("notes/LOG.md", LOG)
    data = room.call("analyze_gsd_work_log", file_path="notes/LOG.md", output_format="table").data
    assert "entries" not in data
    assert data["table"].splitlines()[:2] == [
        "| ID | Type | Date | Lines | Tokens | Status | Task | Title |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    tokens = _tokens(43, 47)
    row = f"| LOG-002 | PLAN | 2026-02-17 | 43-47 | {tokens} |  | SCHEMA-DEBUG | A \\| B |"
    assert data["table"].splitlines()[3] == row


def test_malformed_entries_are_reported_with_their_lines() -> None:
    log = parse_work_log(
        "## Log\n### LOG-001: no brackets\n### [LOG-002] - [A] - b\n### [LOG-002] - [A] - c - Task: T\n**Date:** x\n"
    )
    assert log.problems == [
        "line 2: `### LOG-001: no brackets` is not an entry heading; use `### [LOG-NNN] - [TYPE] - Title - Task: NAME`",
        "line 3: LOG-002 has no Task and no Date",
        "line 4: duplicate LOG-002, first used at line 3",
    ]


def _read_heading(heading: str) -> LogEntry:
    [entry] = parse_work_log(heading).entries
    return entry


_TASK = {"title": "Title", "task": "FEAT-001"}


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("[LOG-001] - [A] - Title - Task: FEAT-001 - **SUPERSEDED BY: LOG-003**", {"superseded_by": ("LOG-003",)}),
        ("[LOG-001] - [A] - Title - **SUPERSEDED BY: LOG-003** - Task: FEAT-001", {"superseded_by": ("LOG-003",)}),
        (
            "[LOG-001] - [A] - Title - Task: FEAT-001 (Superseded by LOG-3, LOG-4)",
            {"superseded_by": ("LOG-3", "LOG-4")},
        ),
        ("[LOG-002] - [A] - ~~Title~~ - Task: FEAT-001", {"struck_through": True}),
        ("[LOG-002] - [A] - ~~Title - Task: FEAT-001~~", {"struck_through": True}),
        ("~~[LOG-002] - [A] - Title - Task: FEAT-001~~", {"struck_through": True}),
        ("~~[LOG-002]~~ - ~~[A]~~ - ~~Title~~ - Task: FEAT-001", {"struck_through": True}),
        (
            "~~[LOG-002] - [A] - Title~~ - Task: FEAT-001 - SUPERSEDED BY: LOG-3",
            {"struck_through": True, "superseded_by": ("LOG-3",)},
        ),
        ("[LOG-002] - [A] - ~~Old~~ new - Task: FEAT-001", {"title": "~~Old~~ new"}),
        (
            "[LOG-003] - [A] - Title - Task: FEAT-001 - DEPENDS ON: LOG-001, LOG-002 - BLOCKED",
            {"depends_on": ("LOG-001", "LOG-002"), "blocked": "BLOCKED"},
        ),
        ("[LOG-003] - [A] - Title - Task: FEAT-001 - **BLOCKED: no key**", {"blocked": "BLOCKED: no key"}),
        ("[LOG-003] - [BLOCKED] - Title - Task: FEAT-001", {"blocked": "BLOCKED"}),
        ("[LOG-003] - [A] - Title - Task: FEAT-001 - HIT WALL", {"blocked": "HIT WALL"}),
        (
            "[LOG-003] - [A] - HIT A WALL with Redis - Task: FEAT-001",
            {"title": "HIT A WALL with Redis", "blocked": "HIT A WALL with Redis"},
        ),
        ("[LOG-003] - [A] - Title - Task: FEAT-001 - [DEPRECATED]", {"obsolete": True}),
        ("[LOG-003] - [A] - Why CI is BLOCKED - Task: FEAT-001", {"title": "Why CI is BLOCKED"}),
        ("[LOG-003] - [A] - `~~a~~`, `- BLOCKED` - Task: FEAT-001", {"title": "`~~a~~`, `- BLOCKED`"}),
        ("[LOG-003] - [A] - **Title** - Task: FEAT-001 - BLOCKED", {"title": "**Title**", "blocked": "BLOCKED"}),
    ],
)
def test_the_marks_in_a_heading_are_its_status_and_not_its_task(heading: str, expected: dict[str, Any]) -> None:
    entry = _read_heading(f"### {heading}")
    marks = {"superseded_by": None, "depends_on": None, "blocked": None, "struck_through": None, "obsolete": None}
    wanted = _TASK | marks | expected
    assert {name: getattr(entry, name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("**Dependencies:** LOG-001 (as in LOG-007), LOG-002 (why)", {"depends_on": ("LOG-001", "LOG-002")}),
        ("**Dependencies:** None (root discovery)", {}),
        ("**Dependencies:**\n\n- Builds on: LOG-001\n- LOG-002\n\n- LOG-007", {"depends_on": ("LOG-001", "LOG-002")}),
        ("**Dependency Chain:** LOG-001 -> LOG-002", {}),
        ("- **Depends On:** LOG-001", {"depends_on": ("LOG-001",)}),
        ("DEPENDS ON: LOG-001", {"depends_on": ("LOG-001",)}),
        ("**Status:** BLOCKED, no key", {"blocked": "BLOCKED, no key"}),
        ("**Status:** unblocked", {}),
        ("**Status:** Superseded by LOG-001", {"superseded_by": ("LOG-001",)}),
        ("**Status:** abandoned", {"obsolete": True}),
        ("**Superseded by:** LOG-001", {"superseded_by": ("LOG-001",)}),
        ("**Blocked by:** no key", {"blocked": "Blocked by: no key"}),
        ("**Blocked by:** None (for now)", {}),
        ("BLOCKED: no key", {"blocked": "BLOCKED: no key"}),
        ("Blocked users are listed", {}),
        ("**HIT WALL** with Redis", {"blocked": "HIT WALL with Redis"}),
        ("Then we hit a dead end.", {"blocked": "Then we hit a dead end."}),
        ("`hit a wall`, `BLOCKED`", {}),
        ("```\n**Status:** blocked\nDEPENDS ON: LOG-001\n```", {}),
    ],
)
def test_the_fields_below_a_heading_are_its_status(line: str, expected: dict[str, Any]) -> None:
    entry = _read_heading(f"### [LOG-009] - [A] - b - Task: T\n\n{line}\n")
    wanted = {"superseded_by": None, "depends_on": None, "blocked": None, "obsolete": None} | expected
    assert {name: getattr(entry, name) for name in wanted} == wanted


def test_references_to_nothing_and_in_circles_are_problems() -> None:
    headings = {
        "LOG-1": "SUPERSEDED BY: LOG-2",
        "LOG-2": "SUPERSEDED BY: LOG-3",
        "LOG-3": "SUPERSEDED BY: LOG-1 - DEPENDS ON: LOG-8, LOG-9",
        "LOG-4": "SUPERSEDED BY: LOG-4",
        "LOG-5": "SUPERSEDED BY: LOG-1",
    }
    text = "".join(f"### [{id_}] - [A] - b - Task: T - {mark}\n**Date:** x\n" for id_, mark in headings.items())
    log = parse_work_log(text)
    assert log.problems == [
        "line 5: LOG-3 depends on missing LOG-8, LOG-9",
        "line 1: circular supersession: LOG-1 -> LOG-2 -> LOG-3 -> LOG-1",
        "line 7: circular supersession: LOG-4 -> LOG-4",
    ]
    assert log.statuses == {"superseded": 5, "dependent": 1}


def test_the_table_has_the_status_in_words(room: Any) -> None:
    room.write(
        "gsd-lite/WORK.md",
        "### [LOG-1] - [A] - ~~b~~ - Task: T - SUPERSEDED BY: LOG-2\n**Date:** x\n"
        "### [LOG-2] - [A] - c - Task: T - DEPENDS ON: LOG-1 - BLOCKED: no key\n**Date:** x\n",
    )
    data = room.call("analyze_work_log", output_format="table").data
    rows = [[cell.strip() for cell in row.split("|")] for row in data["table"].splitlines()]
    assert [row[6] for row in rows[2:]] == ["superseded by LOG-2; struck through", "blocked; depends on LOG-1"]
    assert data["statuses"] == {"superseded": 1, "struck through": 1, "blocked": 1, "dependent": 1}


def test_a_fence_left_open_does_not_swallow_the_entries_after_it() -> None:
    log = parse_work_log(
        "### [LOG-001] - [A] - b - Task: T\n**Date:** x\n```\n\n---\n\n"
        "### [LOG-002] - [A] - b - Task: T\n\n**Date:** y\n"
    )
    assert [entry.id for entry in log.entries] == ["LOG-001", "LOG-002"]


def test_windows_line_endings_make_no_difference() -> None:
    assert parse_work_log(LOG.replace("\n", "\r\n")) == parse_work_log(LOG)


def test_an_empty_log_has_nothing(room: Any) -> None:
    room.write("gsd-lite/WORK.md", "")
    data = room.call("analyze_work_log").data
    assert (data["lines"], data["entries"], data["sections"]) == (0, [], [])


def test_a_missing_or_binary_log_is_reported(room: Any) -> None:
    assert "no such file or directory: `gsd-lite/WORK.md`" in room.call("analyze_work_log").text
    room.write("gsd-lite/WORK.md", b"\0")
    assert "is a binary file" in room.call("analyze_work_log").text


GAP = " " * 400_000
"""Enough that what takes time in proportion to its square does not end while anybody waits."""


@pytest.mark.parametrize(
    ("line", "titles"),
    [
        (f"## a{GAP}b", ["section"]),
        (f"## a{GAP}", ["section"]),
        (f"##{GAP}", []),
        (f"### [LOG-1] - [A] - b{GAP}c", ["entry"]),
        (f"### [LOG-1] - [A] - b{' -' * 200_000}", ["entry"]),
        (f"### [LOG-1] - [A] - b{' - Task:' * 50_000}{GAP}", ["entry"]),
        (f"### [LOG-1] - [A] - b{' - BLOCKED' * 40_000}", ["entry"]),
        (f"### [LOG-1] - [A] - b - SUPERSEDED BY: {'LOG-2, ' * 60_000}", ["entry"]),
        (f"### [LOG-1] - [A] - ~~b{'~~' * 200_000}", ["entry"]),
        (f"### [LOG-1] - [A] - {'`' * 399_999}{GAP}SUPERSEDED", ["entry"]),
        (f"### [LOG-1]{GAP}- [A]{GAP}-{GAP}", []),
        (f"### [LOG-1] - [{'[' * 400_000}", []),
        (f"**Date:**{GAP}", []),
        (f"<a>{GAP}b", []),
        ("`" * 400_000, []),
        (f"### [LOG-1] - [A] - b\n**Dependencies:**{GAP}{'(' * 400_000}\n**Status{GAP}\n", ["entry"]),
        ("### [LOG-1] - [A] - b\n**Dependencies:**\n" + "- LOG-2\n" * 100_000, ["entry"]),
        (f"### [LOG-1] - [A] - b\nDEPENDS{GAP}ON\n{'hit ' * 100_000}\n-{GAP}BLOCKED", ["entry"]),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_no_line_takes_for_ever(line: str, titles: list[str]) -> None:
    log = parse_work_log(f"{line}\n{line}")
    assert ["section"] * len(log.sections) + ["entry"] * len(log.entries) == titles * 2


def test_spaces_around_a_title_do_not_belong_to_it() -> None:
    log = parse_work_log("##   One \t\n### [LOG-1]-[A]-  Two  -  Task:  T  \n### [LOG-2] - [A] - Not - a-Task: T\n")
    assert [each.title for each in log.sections] == ["One"]
    assert [(each.title, each.task) for each in log.entries] == [("Two", "T"), ("Not - a-Task: T", None)]


@pytest.mark.parametrize("output_format", ["json", "table"])
def test_an_answer_on_a_large_log_is_bounded_and_counts_omissions(room: Any, output_format: str) -> None:
    long = "|" * 1000
    lines = [f"<{name}>\n{'x' * 3000}\n</{name}>" for name in "abcdefghijklmnopqrstuvwxyz"]
    lines += [f"## {number}{long}" for number in range(1000)]
    lines += [f"### [LOG-{number}] - [{number}{long}] - {long} - Task: {number}{long}" for number in range(600)]
    lines += [f"### LOG-{number}{long}" for number in range(1000)]
    room.write("gsd-lite/WORK.md", "\n".join(lines))
    data = room.call("analyze_work_log", output_format=output_format).data
    assert len(json.dumps(data)) < 36_000
    assert list(data)[:4] == ["path", "lines", "tokens", "omitted"]
    assert data["omitted"].keys() == {"current", "sections", "types", "tasks", "entries", "problems"}


@pytest.mark.parametrize("output_format", ["json", "table"])
def test_of_a_log_with_many_entries_the_newest_are_shown(room: Any, output_format: str) -> None:
    entries = [f"### [LOG-{number}] - [A] - b - Task: {number}\n**Date:** x\n" for number in range(1, 601)]
    room.write("gsd-lite/WORK.md", "".join(entries))
    data = room.call("analyze_work_log", output_format=output_format).data
    left = data["omitted"]["entries"]
    assert data["types"] == {"A": 600}
    if output_format == "json":
        assert [each["id"] for each in data["entries"]] == [f"LOG-{number}" for number in range(left + 1, 601)]
        assert len(data["entries"]) > 50
    else:
        assert data["table"].count("\n") == 601 - left
        assert data["table"].splitlines()[-1].startswith("| LOG-600 |")


def test_the_most_frequent_tasks_are_shown() -> None:
    tasks = [*(f"rare {number}" for number in range(200)), *["often"] * 3]
    log = limit_log(parse_work_log("\n".join(f"### [LOG-1] - [A] - b - Task: {task}" for task in tasks)))
    assert list(log.tasks.items())[:2] == [("often", 3), ("rare 0", 1)]
    assert log.omitted["tasks"] == 201 - len(log.tasks)


def test_an_analysis_can_be_ended() -> None:
    class EndedError(Exception):
        pass

    def step() -> None:
        raise EndedError

    with pytest.raises(EndedError):
        parse_work_log(LOG, step)


MARKED = (
    "### ~~[LOG-001] - [A] - b~~ - Task: T - SUPERSEDED BY: LOG-002",
    "### [LOG-002] - [A] - b - SUPERSEDED BY: LOG-001 - DEPENDS ON: LOG-009",
    "**Dependencies:**",
    "- Builds on: LOG-003",
    "**Status:** blocked",
)


@given(st.lists(st.sampled_from([*LOG.splitlines(), *MARKED, "```", "~~~~", "<a>", "</a>"]), max_size=40))
def test_entries_of_any_log_are_in_order_and_do_not_overlap(lines: list[str]) -> None:
    log = parse_work_log("\n".join(lines))
    last = 0
    for entry in log.entries:
        assert last < entry.start_line <= entry.end_line <= log.lines
        assert entry.tokens == estimate_tokens("\n".join(lines[entry.start_line - 1 : entry.end_line]))
        last = entry.end_line
    assert len(render_table(log).splitlines()) == len(log.entries) + 2
