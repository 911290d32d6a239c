"""How much goes into a result, by the variables of the server."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workbench_handlers.answers.limits import Limits, limits, truncate, truncation_warning

KB = 1024


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({}, Limits(10 * KB, 50 * KB), id="defaults"),
        pytest.param({"RESPONSE_CHUNK_SIZE_KB": "20"}, Limits(20 * KB, 50 * KB), id="chunks"),
        pytest.param({"RESPONSE_MAX_SIZE_KB": " 5000 "}, Limits(10 * KB, 5000 * KB), id="all"),
        pytest.param({"RESPONSE_CHUNK_SIZE_KB": "", "RESPONSE_MAX_SIZE_KB": " "}, Limits(10 * KB, 50 * KB), id="empty"),
        pytest.param(
            {"RESPONSE_CHUNK_SIZE_KB": "1", "RESPONSE_MAX_SIZE_KB": "65536"}, Limits(KB, 65536 * KB), id="both ends"
        ),
    ],
)
def test_sizes_are_kilobytes_of_the_environment(environ: dict[str, str], expected: Limits) -> None:
    assert limits(environ) == expected


@pytest.mark.parametrize("name", ["RESPONSE_CHUNK_SIZE_KB", "RESPONSE_MAX_SIZE_KB"])
@pytest.mark.parametrize(
    "value", ["0", "-1", "ten", "10KB", "1.5", "1_0", "65537", "9" * 5000, "nan", "inf", "\u0661\u0660", "0x10"]
)
def test_what_is_no_size_falls_back_and_is_logged_once(name: str, value: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        assert limits({name: value}) == limits({})

    [message] = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"{name} is ")
    assert "no whole number of KB from 1 to 65536" in message
    assert len(message) < 200


def test_environment_is_read_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESPONSE_CHUNK_SIZE_KB", "7")
    first = limits().chunk_bytes
    monkeypatch.setenv("RESPONSE_CHUNK_SIZE_KB", "8")

    assert (first, limits().chunk_bytes) == (7 * KB, 8 * KB)


@given(st.text(st.characters()), st.integers(0, 60))
def test_truncated_text_is_the_longest_beginning_that_fits(text: str, most: int) -> None:
    kept, is_truncated = truncate(text, most)

    def size(of: str) -> int:
        return len(of.encode("utf-8", "surrogatepass"))

    assert text.startswith(kept)
    assert size(kept) <= most
    assert is_truncated is (kept != text)
    assert kept == text or size(text[: len(kept) + 1]) > most


def test_text_of_just_the_size_is_whole() -> None:
    assert truncate("漢字", 6) == ("漢字", False)
    assert truncate("漢字", 5) == ("漢", True)


def test_warning_says_how_much_is_missing_and_what_to_raise() -> None:
    text = "漢" * 40_000
    kept, _ = truncate(text, 50 * KB)

    assert truncation_warning(text, kept, 50 * KB) == (
        "the answer was cut: 68,802 of its 120,000 bytes are left out. Ask for less at once, or have the user raise "
        "RESPONSE_MAX_SIZE_KB (now 50)"
    )
