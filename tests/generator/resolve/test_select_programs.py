"""All programs of `select` are compiled in one child process, and their results are stored."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from toolmason.kinds.http.select_programs import MAX_PROGRAM_BYTES, select_errors

pytest.importorskip("jq")

starts: list[str] = []
watched: list[bool] = []


def note_start(event: str, _arguments: tuple[Any, ...]) -> None:
    if watched and event == "subprocess.Popen":
        starts.append(event)


sys.addaudithook(note_start)


@pytest.fixture
def started() -> Iterator[list[str]]:
    """The processes that were started: an audit hook stays for the life of the interpreter."""
    watched.append(True)
    starts.clear()
    yield starts
    watched.clear()


def test_one_process_compiles_300_programs(started: list[str]) -> None:
    errors = select_errors(([f".[{number}]" for number in range(299)] + [".["]), None)

    assert list(errors) == [".["]
    assert len(started) == 1


def test_results_of_earlier_runs_need_no_process(started: list[str]) -> None:
    store: dict[str, str] = {}
    table = [".a", ".[", 'import "x" as $x; .']
    first = select_errors(table, store)
    started.clear()

    assert select_errors(table, store) == first
    assert len(first) == 2
    assert not started


def test_a_manifest_without_select_starts_no_process(started: list[str]) -> None:
    assert select_errors((["", ""]), None) == {}
    assert not started


def test_a_select_program_above_the_size_limit_is_refused() -> None:
    assert "at most 65,536 are allowed" in next(iter(select_errors((["." * (MAX_PROGRAM_BYTES + 1)]), None).values()))
