"""Paths that are missing, change, or lead in a circle: each has its own message, and none spoils the others."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
from toolmason_runtime import ToolError
from toolmason_runtime.shared.suggestions import MAX_CHARS

from workbench_handlers.workspace import roots
from workbench_handlers.workspace.open import existing, open_directory
from workbench_handlers.workspace.roots import MAX_PATH_CHARS, RefusedPathError, locate


def test_a_path_of_many_missing_folders_spoils_no_other(room: Any) -> None:
    room.write("a.txt", "inside")
    (room.project / "loop").symlink_to("loop")
    deep, long = "a/" * 200, "x" * 5000
    answer = room.call("read_files", files=[{"path": path} for path in (deep, "loop", long, "loop/x", "a.txt")])
    assert not answer.is_error
    assert [text.splitlines()[1].partition(":")[0] for text in answer.texts] == ["error"] * 4 + ["inside"]
    results = room.call("validate_paths", paths=[deep, long, "a.txt"]).data["results"]
    assert [result["exists"] for result in results] == [False, False, True]


@pytest.mark.parametrize("part", ["a/", "./", "../", "/", "~/", "sub/../", "é", "%41/", "a\\"])
def test_a_path_over_the_limit_is_refused_before_it_is_resolved(
    room: Any, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (room.project / "sub").mkdir()
    path = (part * MAX_PATH_CHARS)[:MAX_PATH_CHARS]
    with suppress(RefusedPathError):
        locate(path, room.roots)  # it leads to the project, or out of it
    monkeypatch.delattr(roots, "candidates")
    with pytest.raises(RefusedPathError, match="the path has 4,097 characters, more than the limit of 4,096"):
        locate(path + "a", room.roots)


def test_a_chain_of_links_without_end_is_refused_in_words(room: Any) -> None:
    room.write("a.txt", "inside")
    previous = "a.txt"
    for number in range(1500):
        (room.project / f"{number}").symlink_to(previous)
        previous = f"{number}"
    answer = room.call("read_files", files=[{"path": previous}, {"path": "5"}])
    assert "error: the path is a chain of too many links" in answer.texts[0]
    assert "inside" in answer.texts[1]
    first, second = room.call("validate_paths", paths=[previous, "5"]).data["results"]
    assert (first["allowed"], first["reason"]) == (False, "the path is a chain of too many links")
    assert second["allowed"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the link that is none any more stands in /proc")
def test_a_link_removed_during_resolution_is_reported(room: Any) -> None:
    room.write("a.txt", "inside")
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        link = f"/proc/{ended.pid}/exe"  # listed as a link until the process is waited for, and cannot be read
        options = {"root": (str(room.project), "/proc")}
        answer = room.call("read_files", options=options, files=[{"path": link}, {"path": "a.txt"}])
        gone, there = room.call("validate_paths", options=options, paths=[link, "a.txt"]).data["results"]
    assert answer.texts[0].endswith("error: the path changed while it was resolved: retry")
    assert "inside" in answer.texts[1]
    assert (gone["allowed"], gone["reason"]) == (False, "the path changed while it was resolved: retry")
    assert there["allowed"]


@pytest.mark.parametrize("walk", [True, False], ids=["walking", "by path"])
def test_a_folder_that_is_gone_since_it_was_located_is_not_found(room: Any, walk: bool) -> None:
    (room.project / "sub").mkdir()
    located = locate("sub", room.roots)
    (room.project / "sub").rmdir()
    with pytest.raises(ToolError, match=r"no such file or directory: `sub`$"), open_directory(located, walk=walk):
        pass


def test_similar_names_are_offered_for_the_first_few_missing_paths_alone(room: Any) -> None:
    room.write("name.txt", "inside")
    missing = [f"nam{number}.txt" for number in range(7)]
    blocks = room.call("read_files", files=[{"path": path} for path in missing]).texts
    assert ["did you mean `name.txt`?" in block for block in blocks] == [True] * 5 + [False] * 2
    results = room.call("validate_paths", paths=missing).data["results"]
    assert ["did you mean `name.txt`?" in result["reason"] for result in results] == [True] * 5 + [False] * 2


def test_similar_names_are_offered_unless_they_are_very_long(room: Any) -> None:
    for length in (MAX_CHARS, MAX_CHARS + 1):
        room.write("x" * (length - 1) + "y", "")
    with pytest.raises(ToolError, match=rf"did you mean `x{{{MAX_CHARS - 1}}}y`\?"):
        existing("x" * MAX_CHARS, room.roots)
    with pytest.raises(ToolError, match=r"`$"):
        existing("x" * (MAX_CHARS + 1), room.roots)


def test_links_in_a_circle_are_not_there_and_not_allowed_and_dangling_ones_just_missing(room: Any) -> None:
    (room.project / "loop").symlink_to("loop")
    (room.project / "dangling").symlink_to("nothing-at-all")
    room.write("a.txt", "inside")
    (room.project / "good").symlink_to("a.txt")
    results = room.call("validate_paths", paths=["loop", "loop/x", "dangling", "good"]).data["results"]
    told = [(result["exists"], result["allowed"], result.get("reason")) for result in results]
    circle = "Path is a loop of symbolic links"
    assert told[:2] == [(False, False, circle), (False, False, circle)]
    assert told[2:] == [(False, True, "No such file or directory"), (True, True, None)]


def test_a_pipe_in_place_of_a_directory_is_reported_as_a_pipe(room: Any) -> None:
    os.mkfifo(room.project / "pipe")
    room.write("a.txt", "inside")
    piped = room.call("directory_tree", path="pipe")
    assert piped.is_error
    assert "`pipe` is a pipe, socket or device, not a directory" in piped.text
    assert "is a file, not a directory" in room.call("directory_tree", path="a.txt").text
    assert (
        "a pipe, socket or device, not a directory" in room.call("grep_content", search_path="pipe", pattern="x").text
    )
