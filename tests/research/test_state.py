"""The settings that the research tools share."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from workbench_research.operations import LINGER_S, WAIT_S
from workbench_research.slots import MAX_PROGRAMS
from workbench_research.state import (
    MAX_PROGRAMS_VARIABLE,
    MAX_SECONDS,
    WAIT_VARIABLE,
    max_programs,
    seconds_setting,
)

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("text", "seconds"), [("", WAIT_S), ("0", 0.0), (" 2.5 ", 2.5), ("50", 50.0), ("3600", MAX_SECONDS)]
)
def test_a_setting_in_seconds_is_parsed(
    text: str, seconds: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, text)

    assert seconds_setting(WAIT_VARIABLE, WAIT_S) == seconds
    assert caplog.text == ""


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "1e9"])
def test_an_invalid_number_of_seconds_is_logged_and_the_default_applies(
    text: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(WAIT_VARIABLE, text)

    assert seconds_setting(WAIT_VARIABLE, LINGER_S) == LINGER_S
    assert WAIT_VARIABLE in caplog.text


def test_a_call_returns_before_the_clock_of_codex_in_the_generated_file() -> None:
    manifest = tomllib.loads((REPOSITORY / "manifest" / "workbench.toml").read_text(encoding="utf-8"))
    codex = tomllib.loads((REPOSITORY / "generated/clients/codex/.codex/config.toml").read_text(encoding="utf-8"))
    clock = codex["mcp_servers"]["workbench"]["tool_timeout_sec"]

    assert clock == manifest["server"]["tool_timeout"]
    assert clock >= WAIT_S + 30


@pytest.mark.parametrize(("text", "number"), [("", MAX_PROGRAMS), ("1", 1), (" 40 ", 40), ("1000", 1000)])
def test_the_number_of_programs_is_read(
    text: str, number: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(MAX_PROGRAMS_VARIABLE, text)

    assert max_programs() == number
    assert caplog.text == ""


@pytest.mark.parametrize("text", ["many", "0", "-1", "1.5", "1001", "9" * 5000, "\N{SUPERSCRIPT TWO}"])
def test_an_invalid_number_of_programs_is_logged_and_the_default_applies(
    text: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(MAX_PROGRAMS_VARIABLE, text)

    assert max_programs() == MAX_PROGRAMS
    assert MAX_PROGRAMS_VARIABLE in caplog.text
