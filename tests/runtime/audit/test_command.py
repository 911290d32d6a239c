"""The command that reads an audit log: filters, counts, and files that somebody has changed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.audit.command import audit_command
from toolmason_runtime.audit.reader import parse_time

AT = "2026-03-01T09:30:00.000Z"


def line(**fields: Any) -> str:
    return json.dumps({"time": AT, "event": "call", **fields}) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "audit[1].jsonl"
    path.with_name("audit[1].jsonl.10").write_text(
        line(time="2026-02-01T00:00:00.000Z", tool="first"), encoding="ascii"
    )
    path.with_name("audit[1].jsonl.2").write_text(
        line(time="2026-02-02T00:00:00.000Z", tool="second"), encoding="ascii"
    )
    path.with_name("audit[1].jsonl.key").write_text("0" * 64, encoding="ascii")
    path.with_name("audit[1].jsonl.key").chmod(0o600)
    path.write_text(
        line(tool="push", outcome="ok", principal="ada", call="abcdef0123")
        + line(tool="push", outcome="error", code="BUSY", principal="bob")
        + line(event="refusal", tool="record", via="call", outcome="refused", rule="POLICY", principal="bob"),
        encoding="ascii",
    )
    return path


def run(capsys: pytest.CaptureFixture[str], path: Path, *arguments: str) -> tuple[int, list[str], str]:
    status = audit_command([str(path), *arguments], prog="audit")
    said = capsys.readouterr()
    return status, said.out.splitlines(), said.err


@pytest.mark.parametrize(
    ("arguments", "tools"),
    [
        ((), ["first", "second", "push", "push", "record"]),
        (("--tool", "push"), ["push", "push"]),
        (("--tool", "call"), ["record"]),
        (("--tool", "push", "--tool", "record", "--principal", "bob"), ["push", "record"]),
        (("--event", "refusal"), ["record"]),
        (("--outcome", "error"), ["push"]),
        (("--code", "BUSY"), ["push"]),
        (("--id", "abcdef0123"), ["push"]),
        (("--id", "abcdef"), ["push"]),
        (("--id", "abc"), []),
        (("--since", "2026-02-02"), ["second", "push", "push", "record"]),
        (("--since", "2026-02-02T01:00+01:00", "--until", "2026-03-01T09:30"), ["second"]),
    ],
)
def test_lines_are_selected(capsys: pytest.CaptureFixture[str], log: Path, arguments: Any, tools: list[str]) -> None:
    status, out, _ = run(capsys, log, *arguments, "--format", "json")
    assert (status, [json.loads(text)["tool"] for text in out]) == (0, tools)


def test_lines_are_counted_by_fields(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    _, out, _ = run(capsys, log, "--since", "2026-03-01", "--count", "tool,outcome")
    assert out == ["COUNT  TOOL    OUTCOME", "1      push    error", "1      push    ok", "1      record  refused"]


@pytest.mark.parametrize("damage", ["{", "[]", '{"time": 1, "event": "x"}', "\x00\x01", "[" * 50_000, '{"a":' * 5000])
def test_a_damaged_line_is_reported_with_its_place_and_skipped(
    capsys: pytest.CaptureFixture[str], log: Path, damage: str
) -> None:
    text = log.read_text(encoding="ascii")
    log.write_text(f"{damage}\n{text}{'x' * 200_000}\n{line(tool='last')}" + '{"time":"cut', encoding="ascii")
    status, out, err = run(capsys, log, "--since", "2026-03-01")

    assert (status, len(out)) == (1, 4)
    places = [error.rpartition("audit[1].jsonl:")[2].split(":")[0] for error in err.splitlines()]
    assert places == ["1", "5", "7"]


@pytest.mark.parametrize(
    "hostile", ["\x1b[2J\x1b]0;x\x07", "a\nforged", "\u202egpj.exe", "\u200b\u2028\x7f\x9b31m", "\ud800"]
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_hostile_values_are_escaped(capsys: pytest.CaptureFixture[str], log: Path, hostile: str, form: str) -> None:
    log.write_text(line(tool=hostile, **{hostile: hostile}), encoding="ascii")
    _, out, _ = run(capsys, log, "--since", "2026-03-01", "--format", form)
    _, counted, _ = run(capsys, log, "--since", "2026-03-01", "--count", "tool")

    assert (len(out), len(counted)) == (1, 2)
    assert all(text.isascii() and text.isprintable() for text in (*out, *counted))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--since", "yesterday"), "--since: `yesterday` must be a duration such as 24h"),
        (("--until", "99999-01-01"), "--until: `99999-01-01` must be"),
        (("--since", "999999d"), "--since: `999999d` must be"),
        (("--arguments", "{"), "--arguments is not JSON"),
    ],
)
def test_a_wrong_argument_is_explained(
    capsys: pytest.CaptureFixture[str], log: Path, arguments: tuple[str, ...], reason: str
) -> None:
    status, out, err = run(capsys, log, *arguments)
    assert (status, out) == (2, [])
    assert reason in err


def test_a_missing_log_is_an_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, _, err = run(capsys, tmp_path / "none.jsonl")
    assert status == 2
    assert "none.jsonl: No such file or directory" in err


def test_lines_of_a_reported_gap_are_not_reported_as_removed(capsys: pytest.CaptureFixture[str], log: Path) -> None:
    gap = line(event="gap", lost=2, instance="a")
    log.write_text(
        line(seq=1, instance="a") + gap + line(seq=4, instance="a") + line(seq=9, instance="a"), encoding="ascii"
    )
    status, _, err = run(capsys, log)
    assert (status, err) == (1, "instance a: 4 lines are missing in the sequence\n")


def test_durations_are_before_now() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert [parse_time(text, now) for text in ("90m", "24h", "7d", "5s")] == [
        *("2026-03-01T10:30:00.000Z", "2026-02-28T12:00:00.000Z", "2026-02-22T12:00:00.000Z"),
        "2026-03-01T11:59:55.000Z",
    ]
