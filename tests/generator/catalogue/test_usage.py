"""`toolmason stats --usage`: the use of tools, counted from an audit log."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from toolmason.catalogue import usage
from toolmason.project import Project

Toolmason = Callable[..., Result]
DAY = timedelta(days=1)
TODAY = datetime.now(UTC).date()
TOOLS = f"""
[tools.old_count]
summary = "Count the words of a page"
category = "text"
aliases = ["word_number"]
hints = {{ read_only = true }}
handler = "text:count_words"
params.text = {{ type = "string", description = "The text to measure" }}
params.body = {{ type = "string", description = "Text", required = false, deprecated = {{ since = "1.0" }} }}
params.page = {{ type = "string", required = false, deprecated = {{ since = "1.0", until = "2020-01-31" }} }}
returns = "TextSize"
deprecated = {{ since = "1.0", until = "{TODAY + 12 * DAY}", replaced_by = "count_words" }}
"""


def call(tool: str, client: str | None = "codex", **fields: Any) -> dict[str, Any]:
    line = {"time": "2026-03-01T09:30:00.250Z", "event": "call", "server": "notes", "tool": tool, "outcome": "ok"}
    return line | ({"client": client} if client else {}) | fields


@pytest.fixture
def log(project: Project, tmp_path: Path) -> Path:
    """A log with a rotated file and damaged lines, of a project with deprecated tools and parameters."""
    with project.manifest.open("a", encoding="utf-8") as manifest:
        manifest.write(TOOLS)
    path = tmp_path / "audit.jsonl"
    old = [call("count_words", time="2026-01-01T00:00:00.000Z"), call("old_count", deprecated_arguments=["body"])]
    new = [
        {"time": "2026-03-01T09:30:00.250Z", "event": "start", "server": "notes"},
        call("count_words", "claude-code", outcome="input_required"),
        call("count_words", "claude-code"),
        call("old_count", None, alias="word_number", event="refusal", deprecated_arguments=["body", "page", 7]),
        call("count_words", server="another"),
        call("search", kind="meta"),
        call("removed\x1b[31m", event="refusal"),
        call("count_words", "codex", event="approval"),
        call("old_count", deprecated_arguments="body", alias=["word_number"]),
    ]
    path.with_name("audit.jsonl.1").write_text("".join(f"{json.dumps(line)}\n" for line in old), encoding="utf-8")
    damaged = ["not JSON", "[]", '{"time": 1, "event": "call"}', '{"time": "x", "event": "call", "tool": {}}']
    lines = [*map(json.dumps, new), *damaged]
    path.write_text("\n".join(lines) + "\n{", encoding="utf-8")
    return path


def test_calls_clients_and_deprecated_names_are_counted(run: Toolmason, log: Path) -> None:
    result = run("stats", "--usage", str(log))
    assert result.exit_code == 1
    assert [line.partition("skipped: ")[2] for line in result.stderr.splitlines()] == [
        "not JSON",
        "`time` or `event` is missing or invalid",
        "`time` or `event` is missing or invalid",
        "truncated",
    ]
    days = (TODAY + 12 * DAY).isoformat()
    assert (
        result.stdout
        == f"""\
tool         calls  refused  last use    clients
old_count        3        1  2026-03-01  codex (2), (no name) (1)
count_words      2        0  2026-03-01  codex (1), claude-code (1)

former name  tool       calls  refused  last use    clients
word_number  old_count      1        1  2026-03-01  (no name) (1)

deprecated      until       days left  calls  refused  last use    still used by
old_count.page  2020-01-31       over      1        1  2026-03-01  (no name) (1)
old_count       {days}         12      3        1  2026-03-01  codex (2), (no name) (1)
old_count.body  -                   -      2        1  2026-03-01  codex (1), (no name) (1)

not in the manifest  calls  refused  last use    clients
search                   1        0  2026-03-01  codex (1)
removed\\u001b[31m        1        1  2026-03-01  codex (1)

lines of other servers, not counted: 1
"""
    )


def test_json_has_the_same_counts(run: Toolmason, log: Path) -> None:
    counted = json.loads(run("stats", "--usage", str(log), "--json").stdout)
    assert counted["server"] == "notes"
    assert counted["tools"]["count_words"] == {
        "calls": 2,
        "refused": 0,
        "last": "2026-03-01T09:30:00.250Z",
        "clients": {"codex": 1, "claude-code": 1},
    }
    assert [(row["tool"], row["parameter"], row["days_left"], row["calls"]) for row in counted["deprecated"]] == [
        ("old_count", "page", -(TODAY - datetime(2020, 1, 31, tzinfo=UTC).date()).days, 1),
        ("old_count", None, 12, 3),
        ("old_count", "body", None, 2),
    ]
    assert counted["former_names"]["word_number"]["tool"] == "old_count"
    assert set(counted["others"]) == {"search", "removed\x1b[31m"}
    assert counted["lines_of_other_servers"] == 1


def test_names_that_models_invent_are_limited(run: Toolmason, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MAX_OTHER_NAMES", 30)
    log = tmp_path / "audit.jsonl"
    log.write_text("".join(f"{json.dumps(call(f'name_{number}'))}\n" for number in range(50)), encoding="utf-8")
    result = run("stats", "--usage", str(log))
    assert result.exit_code == 0
    assert result.stdout.count("name_") == 20
    assert result.stdout.endswith("calls of further names: 30\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--usage",), "the manifest has no audit log"),
        (("--usage", "missing.jsonl"), "missing.jsonl: No such file or directory"),
        (("--json",), "--json needs --usage"),
    ],
)
def test_a_missing_log_is_named(run: Toolmason, arguments: tuple[str, ...], error: str) -> None:
    result = run("stats", *arguments)
    assert result.exit_code == 2
    assert error in result.stderr


def test_the_log_of_the_variable_is_read(run: Toolmason, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_AUDIT", str(log))
    assert "old_count        3" in run("stats", "--usage").stdout
    monkeypatch.setenv("NOTES_AUDIT", "relative.jsonl")
    assert "NOTES_AUDIT must be an absolute path" in run("stats", "--usage").stderr
