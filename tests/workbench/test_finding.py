from __future__ import annotations

import asyncio
import os
import threading
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.files.find import expand_braces, find, matches
from workbench_handlers.files.list import render_tree
from workbench_handlers.workspace.open import existing
from workbench_handlers.workspace.scan import Scan, ScanStoppedError, in_thread


def paths(room: Any, pattern: str, path: str = ".") -> list[str]:
    found: list[str] = room.call("search_files", path=path, pattern=pattern).data["paths"]
    return found


@pytest.fixture
def project(room: Any) -> Any:
    for name in (
        "README.md",
        "src/app.py",
        "src/lib/util.py",
        "src/lib/deep/x.ts",
        "src/lib/deep/y.tsx",
        ".env",
        "Config/a.ini",
    ):
        room.write(name, "x")
    return room


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["src/app.py", "src/lib/util.py"]),
        ("src/*.py", ["src/app.py"]),
        ("src/**/*.py", ["src/app.py", "src/lib/util.py"]),
        ("./src/*", ["src/app.py", "src/lib/"]),
        ("**/deep/*", ["src/lib/deep/x.ts", "src/lib/deep/y.tsx"]),
        ("**/deep/**", ["src/lib/deep/", "src/lib/deep/x.ts", "src/lib/deep/y.tsx"]),
        ("*.{ts,tsx}", ["src/lib/deep/x.ts", "src/lib/deep/y.tsx"]),
        ("[xy].ts*", ["src/lib/deep/x.ts", "src/lib/deep/y.tsx"]),
        ("lib/", ["src/lib/"]),
        ("*/", ["Config/", "src/", "src/lib/", "src/lib/deep/"]),
        ("config", ["Config/"]),
        ("UTIL", ["src/lib/util.py"]),
        (".env", [".env"]),
        ("nothing", []),
    ],
)
def test_a_glob_finds_the_matching_paths(project: Any, pattern: str, expected: list[str]) -> None:
    assert paths(project, pattern) == expected


def test_a_search_below_a_folder_is_anchored_there(project: Any) -> None:
    assert paths(project, "deep/*.ts", "src/lib") == ["src/lib/deep/x.ts"]
    assert paths(project, "src/*.py", "src") == []


def test_ignored_entries_are_left_out_and_counted(project: Any) -> None:
    project.write(".gitignore", "*.log\n")
    project.write("src/.gitignore", "!kept.log\n")
    project.write("src/a.log", "x")
    project.write("src/kept.log", "x")
    project.write("node_modules/m/b.log", "x")
    assert paths(project, "*.log") == ["src/kept.log"]
    assert paths(project, "*.log", "node_modules") == ["node_modules/m/b.log"]
    note = project.call("search_files", path=".", pattern="b.log").data["note"]
    assert note == "no matches; 2 ignored entries (.gitignore, node_modules, ...) were skipped"


def test_rules_that_are_a_link_do_not_count(project: Any) -> None:
    (project.outside / "rules").write_text("*.py\n", encoding="utf-8")
    (project.project / ".gitignore").symlink_to(project.outside / "rules")
    assert paths(project, "app.py") == ["src/app.py"]


def test_links_are_found_and_not_followed(project: Any) -> None:
    (project.project / "out").symlink_to(project.outside)
    (project.project / "loop").symlink_to(".")
    assert paths(project, "out") == ["out"]
    assert paths(project, "secret*") == []


def test_many_paths_are_cut_with_a_note(room: Any) -> None:
    for number in range(501):
        room.write(f"{number:03}.txt", "")
    data = room.call("search_files", path=".", pattern="*.txt").data
    assert len(data["paths"]) == 500
    assert "stopped after 500 paths" in data["note"]
    (room.project / "500.txt").unlink()
    assert "note" not in room.call("search_files", path=".", pattern="*.txt").data


@pytest.mark.parametrize(("pattern", "message"), [("/", "is empty"), ("{a,b}" * 7, "more than 64")])
def test_an_invalid_glob_is_refused(room: Any, pattern: str, message: str) -> None:
    answer = room.call("search_files", path=".", pattern=pattern)
    assert answer.is_error
    assert message in answer.text


def test_braces_are_written_out() -> None:
    assert expand_braces("a{b,c{d,e}}{f}") == ["ab{f}", "acd{f}", "ace{f}"]


def test_a_file_cannot_be_searched_like_a_folder(project: Any) -> None:
    answer = project.call("search_files", path="README.md", pattern="*")
    assert answer.is_error
    assert "is a file, not a directory" in answer.text


def test_a_glob_of_many_stars_is_decided_at_once() -> None:
    assert not matches(("a" * 200,), ["*a" * 40 + "b"])
    assert not matches(("a",) * 60, ["**", "a"] * 25 + ["b"])


PART = st.sampled_from(["a", "b", "ab"])


@given(
    parts=st.lists(PART, min_size=1, max_size=5),
    pattern=st.lists(st.sampled_from(["a", "b", "a*", "**"]), min_size=2, max_size=5),
)
def test_a_glob_matches_as_a_recursive_matcher(parts: list[str], pattern: list[str]) -> None:
    def tried(parts: list[str], pattern: list[str]) -> bool:
        if not pattern:
            return not parts
        if pattern[0] == "**":
            return any(tried(parts[skipped:], pattern[1:]) for skipped in range(len(parts) + 1))
        fits = bool(parts) and (parts[0] == pattern[0] or (pattern[0] == "a*" and parts[0].startswith("a")))
        return fits and tried(parts[1:], pattern[1:])

    assert matches(tuple(parts), pattern) == tried(parts, pattern)


def test_a_tree_is_indented_and_begins_with_the_omitted_entries(project: Any) -> None:
    project.write("node_modules/m/b.js", "x")
    assert project.call("directory_tree", path=".").text == (
        "[1 ignored entries (.gitignore, node_modules, ...) omitted]\n"
        "./\n  .env\n  Config/\n    a.ini\n  README.md\n  src/\n    app.py\n    lib/\n      deep/\n        x.ts\n"
        "        y.tsx\n      util.py"
    )


def test_a_tree_honours_max_depth_and_exclude_dirs(project: Any) -> None:
    shallow = project.call("directory_tree", path="src", max_depth=1).text
    assert shallow == "src/\n  app.py\n  lib/"
    assert (
        project.call("directory_tree", path="src", exclude_dirs=["de*/"]).text == "src/\n  app.py\n  lib/\n    util.py"
    )


def test_a_large_folder_is_cut_in_a_tree_and_the_rest_is_shown(room: Any) -> None:
    for number in range(103):
        room.write(f"many/{number:03}/x", "")
    room.write("z.txt", "")
    text = room.call("directory_tree", path=".").text
    assert "099/" in text
    assert "100/" not in text
    assert text.startswith("[many: 3 more entries; see list_directory_with_sizes]\n./\n")
    assert text.endswith("  z.txt")


def test_a_long_tree_is_cut_with_a_note(room: Any) -> None:
    for folder in range(11):
        for number in range(100):
            room.write(f"{folder}/{number}", "")
    lines = room.call("directory_tree", path=".").text.splitlines()
    assert len(lines) == 1002
    assert lines[0] == "[cut after 1000 lines: use a deeper `path` or a smaller `max_depth`]"


def test_a_folder_is_listed_with_sizes_hidden_and_ignored_entries_included(project: Any) -> None:
    project.write(".gitignore", "*\n")
    (project.project / "link").symlink_to("nowhere")
    os.mkfifo(project.project / "pipe")
    assert project.call("list_directory_with_sizes", path=".").data == {
        "path": ".",
        "entries": [
            {"name": "Config", "type": "directory"},
            {"name": "src", "type": "directory"},
            {"name": ".env", "type": "file", "size": 1},
            {"name": ".gitignore", "type": "file", "size": 2},
            {"name": "README.md", "type": "file", "size": 1},
            {"name": "link", "type": "link"},
            {"name": "pipe", "type": "other"},
        ],
        "files": 3,
        "directories": 2,
        "total_size": 4,
        "omitted": 0,
    }


def test_a_long_listing_is_cut_and_still_counted(room: Any) -> None:
    for number in range(1003):
        room.write(f"{number}", "ab")
    data = room.call("list_directory_with_sizes", path=".").data
    assert len(data["entries"]) > 300
    assert (data["omitted"], data["files"], data["total_size"]) == (1003 - len(data["entries"]), 1003, 2006)
    assert list(data)[:2] == ["path", "omitted"]


def test_an_entry_is_described_without_being_read_out(room: Any) -> None:
    path = room.write("a.txt", "é\nb")
    path.chmod(0o640)
    os.utime(path, (0, 0))
    assert room.call("get_file_info", path="a.txt").data == {
        "path": str(path),
        "type": "file",
        "size": 4,
        "modified": "1970-01-01T00:00:00Z",
        "permissions": "-rw-r-----",
        "media_type": "text/plain",
        "encoding": "utf-8",
        "lines": 2,
    }
    folder = room.call("get_file_info", path=".").data
    assert (folder["type"], folder["entries"]) == ("directory", 1)
    room.write("b.bin", b"\0")
    assert room.call("get_file_info", path="b.bin").data.keys().isdisjoint({"encoding", "lines"})
    assert room.call("get_file_info", path="../proj-evil/secret.txt").is_error


def test_names_that_are_not_utf_8_are_listed(room: Any) -> None:
    (room.project / os.fsdecode(b"bad\xff.txt")).write_text("word\n", encoding="utf-8")
    assert not room.call("directory_tree", path=".").is_error
    assert len(paths(room, "bad*")) == 1
    assert "word" in room.call("grep_content", pattern="word").text


def test_a_scan_at_its_time_limit_returns_partial_results(project: Any) -> None:
    ticks = count()
    scan = Scan(seconds=4, clock=lambda: next(ticks))
    text = render_tree(existing(".", project.roots), 4, [], scan)
    assert text.startswith("[stopped at the time limit")
    assert "]\n./\n  .env\n" in text
    over = find(existing(".", project.roots), "*", Scan(seconds=0))
    assert over.note == "stopped at the time limit of one search: narrow `path`"


def test_a_cancelled_scan_stops(tool_call: ToolCall) -> None:
    started, stopped = threading.Event(), threading.Event()

    def endless(scan: Scan) -> None:
        started.set()
        try:
            while True:
                scan.step()
        except ScanStoppedError:
            stopped.set()
            raise

    async def cancel() -> None:
        running = asyncio.ensure_future(in_thread(endless, tool_call))
        await asyncio.to_thread(started.wait)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await asyncio.to_thread(stopped.wait, 10)

    asyncio.run(cancel())


def test_a_long_scan_reports_progress(client: Any, tool_call: ToolCall) -> None:
    def until_told(scan: Scan) -> str:
        while len(client.told) < 2:
            scan.step()
        return "done"

    assert asyncio.run(in_thread(until_told, tool_call, interval_s=0.01)) == "done"
    assert client.told == sorted(set(client.told))


def test_an_exception_of_a_scan_reaches_the_caller(tool_call: ToolCall) -> None:
    def fails(_scan: Scan) -> None:
        raise ToolError("no")

    with pytest.raises(ToolError, match="no"):
        asyncio.run(in_thread(fails, tool_call))
