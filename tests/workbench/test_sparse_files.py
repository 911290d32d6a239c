"""A file of 50 GB that needs no disk is refused at once, with what to do instead."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import pytest

SIZE = 50 * 1024**3
MAX_S = 15.0
"""Reading the file takes minutes; starting a program on a busy machine takes seconds."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sparse files of Linux")


def sparse(path: Path, start: bytes) -> Path:
    path.write_bytes(start)
    with path.open("r+b") as file:
        file.truncate(SIZE)
    return path


TEXT = b"a line of text\n" * 10_000
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_files", {"files": [{"path": "big.txt"}]}),
    ("read_media_file", {"path": "big.txt"}),
    ("grep_content", {"pattern": "absent", "search_path": "big.txt"}),
    ("grep_content", {"pattern": "line", "search_path": "big.txt", "section_patterns": ["text"]}),
    ("grep_content", {"pattern": "(?=absent)", "search_path": "big.txt"}),
    ("word_count", {"paths": ["big.txt"]}),
    ("word_count", {"paths": ["small.txt", "big.txt"], "lines": True}),
    ("query_json", {"file_path": "big.txt", "jq_expression": "."}),
    ("query_yaml", {"file_path": "big.txt", "yq_expression": "."}),
    ("analyze_work_log", {"file_path": "big.txt"}),
    ("append_text", {"path": "big.txt", "content": "more"}),
    ("write_file", {"path": "big.txt", "content": "all"}),
    ("propose_and_review", {"path": "big.txt", "match_text": "line", "new_string": "row"}),
]


@pytest.mark.parametrize("start", [b"", TEXT], ids=["zeros", "text at its start"])
@pytest.mark.parametrize(
    ("tool", "arguments"), CALLS, ids=[f"{number}-{tool}" for number, (tool, _) in enumerate(CALLS)]
)
def test_a_sparse_file_is_refused_at_once(  # noqa: PLR0917  parameters and fixtures
    tool: str, arguments: dict[str, Any], start: bytes, room: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_STATE", str(tmp_path / "state"))
    sparse(room.project / "big.txt", start)
    room.write("small.txt", "a")
    started = time.monotonic()
    answer = room.run(tool, **arguments)

    assert time.monotonic() - started < MAX_S
    assert answer.is_error or tool == "read_files", answer.text
    assert "Error executing tool" not in answer.text
    assert "timed out" not in answer.text


def test_a_search_of_the_directory_skips_it(room: Any) -> None:
    sparse(room.project / "big.txt", TEXT)
    room.write("small.txt", "a line")
    started = time.monotonic()
    answer = room.call("grep_content", pattern="line")

    assert time.monotonic() - started < MAX_S
    assert "small.txt" in answer.text
    assert "big.txt" not in answer.text
