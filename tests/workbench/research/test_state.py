"""The settings that the research tools share."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from workbench_handlers.research.operations import LINGER_S, WAIT_S
from workbench_handlers.research.slots import MAX_PROGRAMS
from workbench_handlers.research.state import (
    FLASH,
    LINGER,
    MAX_LINGER_S,
    MODELS,
    PRO,
    PROGRAMS,
    WAIT,
    linger,
    models,
    most_programs,
    wait,
)

REPOSITORY = Path(__file__).parents[3]


@pytest.mark.parametrize(("said", "seconds"), [("", LINGER_S), ("0", 0.0), (" 2.5 ", 2.5), ("3600", MAX_LINGER_S)])
def test_seconds_of_lingering_are_read(
    said: str, seconds: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(LINGER, said)

    assert linger() == seconds
    assert caplog.text == ""


@pytest.mark.parametrize("said", ["soon", "-1", "nan", "inf", "1e9"])
def test_what_is_no_number_of_seconds_is_logged_and_the_default_counts(
    said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(LINGER, said)

    assert linger() == LINGER_S
    assert LINGER in caplog.text


@pytest.mark.parametrize(("said", "seconds"), [("", WAIT_S), ("0", 0.0), ("50", 50.0), ("soon", WAIT_S)])
def test_seconds_that_one_call_waits_are_read(said: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WAIT, said)

    assert wait() == seconds


def test_a_call_returns_before_the_clock_of_codex_in_the_generated_file() -> None:
    manifest = tomllib.loads((REPOSITORY / "manifest" / "workbench.toml").read_text(encoding="utf-8"))
    codex = tomllib.loads((REPOSITORY / "generated/clients/codex/.codex/config.toml").read_text(encoding="utf-8"))
    clock = codex["mcp_servers"]["workbench"]["tool_timeout_sec"]

    assert clock == manifest["server"]["tool_timeout"]
    assert clock >= WAIT_S + 30


@pytest.mark.parametrize(("said", "number"), [("", MAX_PROGRAMS), ("1", 1), (" 40 ", 40), ("1000", 1000)])
def test_the_number_of_programs_is_read(
    said: str, number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(PROGRAMS, said)

    assert most_programs() == number
    assert caplog.text == ""


@pytest.mark.parametrize("said", ["many", "0", "-1", "1.5", "1001", "9" * 5000, "\N{SUPERSCRIPT TWO}"])
def test_what_is_no_number_of_programs_is_logged_and_the_default_counts(
    said: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(PROGRAMS, said)

    assert most_programs() == MAX_PROGRAMS
    assert PROGRAMS in caplog.text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", FLASH),
        (" , ", FLASH),
        ("one, two ,auto", ("one", "two", "")),
        ("auto", ("",)),
        ("one,one,auto,auto", ("one", "")),
    ],
)
def test_models_are_named_in_order_between_commas(said: str, expected: tuple[str, ...]) -> None:
    assert models("flash", {MODELS["flash"][0]: said}) == expected
    assert models("pro", {MODELS["flash"][0]: said}) == PRO
