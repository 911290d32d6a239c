"""The comparison of instruction counts with the committed numbers: what is reported, and what is not compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench import counts
from bench.counts import BASELINE, CACHEGRIND, NO_COUNTER, PERF, UPDATE, compare, find_counter, main, report
from bench.session import SessionError

CONDITIONS = {"counter": "cachegrind", "machine": "x86_64", "python": "3.11", "build": "GCC 12.2.0, optimized"}
BEFORE = {"start to list": 100_000_000, "a search": 200_000_000}


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    path = tmp_path / "counts.json"
    path.write_text(json.dumps({"conditions": CONDITIONS, "instructions": BEFORE}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("count", "line", "has_grown"),
    [
        (50_000_000, "start to list: 50 million instructions, -50.0%", False),
        (100_000_000, "start to list: 100 million instructions, +0.0%", False),
        (110_000_000, "start to list: 110 million instructions, +10.0%", False),
        (111_000_000, "start to list: 111 million instructions, +11.0%  <-- more than 10% growth", True),
    ],
)
def test_growth_above_a_tenth_is_marked(count: int, line: str, has_grown: bool) -> None:
    assert compare({"start to list": count}, BEFORE) == ([line], has_grown)


def test_work_without_a_number_is_new() -> None:
    assert compare({"a call": 5_000_000}, BEFORE) == (["a call: 5 million instructions, new"], False)


@pytest.mark.parametrize(("is_strict", "code"), [(False, 0), (True, 1)])
def test_growth_prints_the_update_command_and_exits_with_1_only_if_strict(
    baseline: Path, is_strict: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = {**BEFORE, "a search": 300_000_000}

    assert report(grown, CONDITIONS, baseline, is_strict=is_strict, is_written=False) == code
    assert UPDATE in capsys.readouterr().out
    assert report(BEFORE, CONDITIONS, baseline, is_strict=is_strict, is_written=False) == 0
    assert UPDATE not in capsys.readouterr().out


@pytest.mark.parametrize(
    "changed", [{"python": "3.13"}, {"machine": "aarch64"}, {"counter": "perf"}, {"build": "Clang 18"}]
)
def test_numbers_of_other_conditions_are_not_compared(
    baseline: Path, changed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    grown = dict.fromkeys(BEFORE, 10**12)

    assert report(grown, CONDITIONS | changed, baseline, is_strict=True, is_written=False) == 0
    assert (
        "NOT COMPARED: the committed numbers are of cachegrind, x86_64, 3.11, GCC 12.2.0, optimized, these of"
        in capsys.readouterr().out
    )


def test_written_numbers_are_those_of_the_next_comparison(baseline: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = CONDITIONS | {"python": "3.14"}
    report({"a call": 7_000_000}, other, baseline, is_strict=True, is_written=True)
    report({"a call": 7_000_000}, other, baseline, is_strict=True, is_written=False)

    assert "a call: 7 million instructions, +0.0%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("counter", "text", "count"),
    [
        (PERF, "# started on Mon\n\n28123456,,instructions:u,9000,100.00,,\n", 28_123_456),
        (PERF, "28123456,,instructions:u:u,9000,100.00,,\n", 28_123_456),
        (PERF, "<not supported>,,instructions:u,0,100.00,,\n", None),
        (PERF, "", None),
        (CACHEGRIND, "events: Ir\nfn=main\n3 5\nsummary: 27720102\n", 27_720_102),
        (CACHEGRIND, "events: Ir\n", None),
    ],
)
def test_number_is_read_from_the_report_of_a_counter(
    counter: counts.Counter, text: str, count: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "report"
    path.write_text(text, encoding="utf-8")
    if count is None:
        with pytest.raises(SessionError, match=f"{counter.name} has counted nothing"):
            counter.count(path)
    else:
        assert counter.count(path) == count


def test_a_machine_without_a_counter_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_counter(tmp_path) is None
    assert main(["--strict"]) == 0
    assert capsys.readouterr().err == f"{NO_COUNTER}\n"


def test_the_counter_of_the_committed_numbers_is_preferred(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr("subprocess.run", lambda *_, **__: None)
    monkeypatch.setattr(counts.Counter, "count", lambda *_: 1)

    assert find_counter(tmp_path, "cachegrind") is CACHEGRIND
    assert find_counter(tmp_path, "perf") is PERF


def test_committed_numbers_are_of_the_work_that_is_counted() -> None:
    stored = json.loads(BASELINE.read_text(encoding="utf-8"))

    assert stored["conditions"].keys() == CONDITIONS.keys()
    assert list(stored["instructions"]) == [
        "start to list",
        f"start and {counts.CALLS} calls",
        f"start and {counts.CALLS} calls through `call`",
        f"start and {counts.SEARCHES} searches",
        f"generation of {counts.SIZE} tools",
    ]
