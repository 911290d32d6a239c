"""The output of a program while it runs: bounded in memory and on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.programs.output_buffer import Capture


@given(st.binary(max_size=60), st.integers(0, 20), st.integers(1, 7))
def test_capture_decodes_alike_however_it_was_fed(data: bytes, max_memory_bytes: int, step: int) -> None:
    capture = Capture(max_memory_bytes=max_memory_bytes, max_file_bytes=100)
    for start in range(0, len(data), step):
        capture.write(data[start : start + step])
    text = "".join(capture.texts())
    capture.close()

    assert text == data.decode("utf-8", "replace")
    assert capture.size == len(data)
    assert capture.dropped_bytes == 0
    assert capture.is_blank is not bool(data.strip())


def test_capture_counts_dropped_bytes_and_splits_no_character() -> None:
    capture = Capture(max_memory_bytes=4, max_file_bytes=4)
    capture.write("\u20ac\u20ac\u20ac\u20ac".encode())
    text = "".join(capture.texts())
    capture.close()

    assert text == "\u20ac\u20ac"
    assert capture.size == 12
    assert capture.dropped_bytes == 4


def test_capture_without_a_temporary_directory_keeps_the_bytes_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    capture = Capture(max_memory_bytes=4, max_file_bytes=100)
    capture.write(b"123456")
    capture.write(b"78")

    assert "".join(capture.texts()) == "1234"
    assert capture.dropped_bytes == 4


def test_capture_that_is_closed_takes_nothing_more() -> None:
    capture = Capture()
    capture.close()
    capture.write(b"late")

    assert capture.size == 0
