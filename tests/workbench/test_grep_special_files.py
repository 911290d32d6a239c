"""Searches of files that are large, grow, or are not on a disk: ripgrep and Python give the same answer."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.files.grep import GrepRequest, grep
from workbench_handlers.files.match import MAX_SEARCHED_BYTES
from workbench_handlers.workspace.open import existing
from workbench_handlers.workspace.roots import Root

MAX_S = 15.0
"""A search that reads the largest of these files takes longer."""
PATTERNS = ("needle", r"\bneedle\b", "(?i)NEEDLE", "needl[^a-d]", "(?=needle)needle")
"""Patterns of ASCII, with a list of candidates, without case, without a literal at the end, and for Python's `re`."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sparse files, pipes and /proc of Linux")


@pytest.fixture(params=["ripgrep", "python"])
def program(request: pytest.FixtureRequest) -> str:
    return (shutil.which("rg") or pytest.fail("install ripgrep")) if request.param == "ripgrep" else ""


@pytest.fixture
def find(room: Any, tool_call: ToolCall, program: str) -> Any:
    def run(pattern: str, path: str = ".", roots: Any = room.roots) -> str:
        return asyncio.run(grep(existing(path, roots), GrepRequest(pattern=pattern), program, tool_call))

    return run


def sparse(path: Path, start: bytes, size: int, end: bytes) -> Path:
    """Write a file that has zeros, which need no disk, between `start` and `end`."""
    with path.open("wb") as stream:
        stream.write(start)
        stream.truncate(size)
        stream.seek(size - len(end))
        stream.write(end)
    return path


LARGE = {
    "2 GB of zeros after text": (b"a needle\n" * 8_000, 2 * 1024**3, b""),
    "one line of 300 MB": (b"x" * 70_000, 300_000_000, b"needle"),
    "2 GB of binary data": (b"\0" * 100, 2 * 1024**3, b"\nneedle\n"),
    "50 GB with a match at its end": (b"text\n" * 20_000, 50 * 1024**3, b"\nneedle\n"),
    "a minified file of 15 MB": (b"x=1;" * 3_750_000, 15_000_000, b"needle"),
    "one byte too much": (b"needle\n", MAX_SEARCHED_BYTES + 1, b"\n"),
}


@pytest.mark.parametrize("kind", LARGE)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_large_file_delays_no_search_of_its_directory(room: Any, find: Any, kind: str, pattern: str) -> None:
    sparse(room.project / "large.txt", *LARGE[kind])
    room.write("small.txt", "one\na needle\n")
    started = time.monotonic()
    answer = find(pattern)

    assert answer == "[1 matching line]\nsmall.txt\n2: a needle"
    assert time.monotonic() - started < MAX_S


@pytest.mark.parametrize("kind", LARGE)
def test_a_large_file_is_refused_by_its_name_with_its_size(room: Any, find: Any, kind: str) -> None:
    size = sparse(room.project / "large.txt", *LARGE[kind]).stat().st_size

    with pytest.raises(ToolError, match=rf"`large.txt` has {size:,} bytes, more than the limit of 10,000,000: read a"):
        find("needle", "large.txt")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("path", [".", "app.min.js"])
def test_a_match_at_the_end_of_a_minified_file_is_shown_alone(room: Any, find: Any, pattern: str, path: str) -> None:
    room.write("app.min.js", "x=1;" * ((MAX_SEARCHED_BYTES - 8) // 4) + "needle")
    answer = find(pattern, path)

    assert answer.startswith("[1 matching line]\napp.min.js\n1: ...")
    assert answer.endswith("x=1;needle (match at character 9,999,993 of 9,999,998)")
    assert len(answer) < 600


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pipe_delays_no_search(room: Any, find: Any, pattern: str) -> None:
    os.mkfifo(room.project / "pipe")
    room.write("small.txt", "needle\n")

    assert find(pattern) == "[1 matching line]\nsmall.txt\n1: needle"
    with pytest.raises(ToolError, match="`pipe` is a pipe, socket or device"):
        find(pattern, "pipe")


@pytest.mark.parametrize(
    ("path", "pattern", "line"),
    [
        ("sys/kernel/random", r"^\d+$", "sys/kernel/random/poolsize\n1: "),
        ("sys/kernel/random/boot_id", "[0-9a-f]{8}-", "sys/kernel/random/boot_id\n1: "),
        ("sys/kernel/ostype", "Linux", "sys/kernel/ostype\n1: Linux"),
        ("version", "Linux", "version\n1: Linux version "),
        ("self/status", "^Threads:", "status\n"),
    ],
)
def test_files_without_a_size_are_searched(find: Any, path: str, pattern: str, line: str) -> None:
    assert line in find(pattern, path, (Root.of("/proc", "of the test"),))


@pytest.mark.parametrize("added", ["\nmore text", " of more text\nmore needles", "\n" + "x" * 1_000_000])
def test_a_file_that_grows_is_shown_with_its_found_lines(
    room: Any, tool_call: ToolCall, tmp_path: Path, added: str
) -> None:
    (tmp_path / "added").write_text(added, encoding="utf-8")
    room.write("log.txt", "one\na needle")
    growing = tmp_path / "rg"
    growing.write_text(f'#!/bin/sh\n{shutil.which("rg")} "$@"\ncat {tmp_path}/added >> log.txt\n', encoding="utf-8")
    growing.chmod(0o755)
    searched = grep(existing(".", room.roots), GrepRequest(pattern="needle"), str(growing), tool_call)

    assert asyncio.run(searched).startswith("[1 matching line]\nlog.txt\n2: a needle")
