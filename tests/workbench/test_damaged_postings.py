"""A server with a damaged `semantic.postings` reports it at its start, and finds tools by words."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import zlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.search.postings import SemanticPostings

PACKAGE = Path(__file__).parents[2] / "generated" / "workbench_server"
CONTENT = (PACKAGE / "semantic.postings").read_bytes()
HEAD, _, WORDS = CONTENT.partition(b"\n\n")
REMEDY = "searches find tools by words only: {}; reinstall the server, or in its project run: toolmason generate"
PACKED = "the compressed lines of words are damaged"


def flipped(place: int) -> bytes:
    """Return the content with one bit changed."""
    return CONTENT[:place] + bytes([CONTENT[place] ^ 4]) + CONTENT[place + 1 :]


def of_another_server() -> bytes:
    packed = b64encode(zlib.compress(b"1\ncommit 0 90\n"))
    return b"toolmason-postings 2\nmodel " + b"0" * 64 + b"\ntool lend_book 0123456789abcdef AAEC\n\n" + packed + b"\n"


def requests(*calls: dict[str, Any]) -> str:
    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": about},
        {"method": "notifications/initialized"},
        *({"id": number, "method": "tools/call", "params": call} for number, call in enumerate(calls, 1)),
    ]
    return "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)


def run(directory: Path, change: Callable[[Path], object], *calls: dict[str, Any]) -> tuple[dict[int, Any], str]:
    """Return the answers of a server whose file was changed, by id, and its stderr."""
    shutil.copytree(PACKAGE, directory / "workbench_server", ignore=shutil.ignore_patterns("__pycache__"))
    change(directory / "workbench_server" / "semantic.postings")
    done = subprocess.run(
        [sys.executable, "-m", "workbench_server"],
        cwd=directory,
        input=requests(*calls),
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(directory)},
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return {answer["id"]: answer for answer in answers if "id" in answer}, done.stderr


def writes(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def becomes_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def becomes_a_dead_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


DAMAGES = {
    "empty": (writes(b""), "it does not start with `toolmason-postings 2`"),
    "wrong magic": (writes(b"PK" + CONTENT[2:]), "it does not start with `toolmason-postings 2`"),
    "other version": (writes(CONTENT.replace(b"postings 2", b"postings 3", 1)), "it does not start with"),
    "truncated": (writes(CONTENT[: len(CONTENT) // 2]), "its last line is cut off"),
    "truncated after a line": (
        writes(CONTENT[: CONTENT.rindex(b"\n", 0, -9) + 1]),
        "the compressed lines of words are cut off",
    ),
    "truncated in the tools": (writes(HEAD[: len(HEAD) // 2]), "its last line is cut off"),
    "flipped bit in the words": (writes(flipped(len(HEAD) + len(WORDS) // 2)), PACKED),
    "flipped bit in a line of a tool": (writes(flipped(HEAD.index(b"tool ") + 1)), "those of other tools"),
    "two files in one": (writes(CONTENT + WORDS), PACKED),
    "other server": (writes(of_another_server()), "none of its tools is one of this server"),
    "missing": (Path.unlink, "No such file or directory"),
    "directory": (becomes_a_directory, "Is a directory"),
    "dead link": (becomes_a_dead_link, "No such file or directory"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_an_error_at_the_start_and_words_find_tools(tmp_path: Path, damage: str) -> None:
    change, reason = DAMAGES[damage]
    search = {"name": "search", "arguments": {"query": "commit history"}}
    answers, stderr = run(tmp_path, change, search)
    found = json.loads(answers[1]["result"]["content"][0]["text"])

    assert not answers[1]["result"].get("isError")
    assert "git_log" in [result["tool_name"] for result in found["results"]]
    assert "Traceback" not in stderr
    before, _, after = REMEDY.partition("{}")
    assert "semantic.postings is unusable, so " + before in stderr
    assert reason in stderr
    assert after in stderr


def test_the_error_comes_at_the_start_without_a_search(tmp_path: Path) -> None:
    answers, stderr = run(tmp_path, DAMAGES["truncated"][0])

    assert answers[0]["result"]["serverInfo"]["name"] == "workbench"
    assert stderr.count("semantic.postings is unusable") == 1


def test_the_generated_file_is_no_error(tmp_path: Path) -> None:
    _, stderr = run(tmp_path, lambda _path: None, {"name": "search", "arguments": {"query": "commit"}})

    assert "semantic.postings" not in stderr


def test_line_ends_of_windows_are_no_error(tmp_path: Path) -> None:
    change = writes(CONTENT.replace(b"\n", b"\r\n"))
    _, stderr = run(tmp_path, change, {"name": "search", "arguments": {"query": "commit"}})

    assert "semantic.postings" not in stderr


def test_a_file_without_permission_is_an_error_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    def load() -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    catalogue = json.loads((PACKAGE / "catalogue.json").read_bytes())
    data = json.loads((PACKAGE / "search_index.json").read_bytes())
    index = ToolIndex(catalogue, catalogue["tools"], lambda: data, load_postings=load)

    assert index.search("commit history")[0].name.startswith("git")
    assert REMEDY.format("Permission denied") in caplog.text


@pytest.mark.parametrize("row", ["commit", "commit 0", "commit 0 x", "commit 9 50", "commit -1 50", "commit 0 5 1"])
def test_an_invalid_line_of_a_word_has_no_effect(row: str) -> None:
    packed = b64encode(zlib.compress(f"1\n{row}\ndelete 0 7\n".encode()))
    content = b"toolmason-postings 2\nmodel x\ntool git_log 0123 AAEC\n\n" + packed + b"\n"
    postings = SemanticPostings(content)

    assert postings.best("commit") is None
    assert postings.scores({"commit": 1, "delete": 1}) == {0: 7}
