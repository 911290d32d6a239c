"""The list of a directory's files: nothing ignored, nothing outside, in a stable order, with warnings about gaps."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import ToolError

from workbench_handlers.workspace.roots import Root, locate
from workbench_handlers.workspace.scan import Scan, ScanStoppedError
from workbench_research.file_list import MAX_EXCLUDED, MAX_FILES, FileList, list_files, readable

NOBODY = 65_534


def listed(root: Path, path: str = ".", **limits: Any) -> FileList:
    return list_files(locate(path, (Root.of(str(root), "a test"),)), Scan(), **limits)


def paths(found: FileList) -> list[str]:
    return [file.path for file in found.files]


def git_files(directory: Path) -> list[str]:
    """Give what git itself does not ignore."""
    run = subprocess.run(
        ["git", "-C", str(directory), "ls-files", "-z", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    )
    return sorted(os.fsdecode(name) for name in run.stdout.split(b"\0") if name)


@pytest.fixture
def repository(room: Any) -> Any:
    subprocess.run(["git", "init", "-q", str(room.project)], check=True)
    return room


def test_ignored_files_are_left_out_at_every_level_just_as_git_does_it(repository: Any) -> None:
    repository.write(".gitignore", "*.log\n/top.txt\nsecret/\n!important.log\ndoc/**/draft.md\n")
    repository.write("a/.gitignore", "!debug.log\nlocal.*\n/b/only-here.txt\n")
    repository.write("a/b/.gitignore", "*\n!.gitignore\n!kept.txt\n")
    for name in (
        *("top.txt", "x.log", "important.log", "src/main.py", "src/top.txt", "secret/key.txt", "doc/p/q/draft.md"),
        *(
            "a/debug.log",
            "a/other.log",
            "a/local.env",
            "a/x.txt",
            "a/b/kept.txt",
            "a/b/only-here.txt",
            "a/b/c/kept.txt",
        ),
    ):
        repository.write(name, "text")
    found = listed(repository.project)
    assert sorted(paths(found)) == git_files(repository.project)
    assert "a/debug.log" in paths(found)
    assert {"x.log", "secret", "a/local.env", "a/b/c"} <= set(found.excluded)
    assert found.warnings == ()


@pytest.mark.parametrize(
    "name",
    [".git", "node_modules", "dist", "build", "out", ".next", "coverage", ".venv", "venv", "__pycache__"],
)
def test_the_folders_of_the_fixed_list_are_left_out_wherever_they_stand_unless_asked_for(room: Any, name: str) -> None:
    room.write(f"{name}/x.js", "")
    room.write(f"packages/a/{name}/y.js", "")
    room.write("packages/a/z.js", "")
    found = listed(room.project)
    assert paths(found) == ["packages/a/z.js"]
    assert found.excluded == (name,)
    assert paths(listed(room.project, f"packages/a/{name}")) == [f"packages/a/{name}/y.js"]


def test_a_file_called_like_a_folder_of_the_fixed_list_is_listed(room: Any) -> None:
    room.write("build", "make")
    room.write("dist", "")
    assert paths(listed(room.project)) == ["build", "dist"]


def test_an_ignored_folder_that_is_asked_for_by_name_is_listed(room: Any) -> None:
    room.write(".gitignore", "generated/\n")
    room.write("generated/x.py", "")
    assert paths(listed(room.project, "generated")) == ["generated/x.py"]


def test_rules_above_the_folder_that_is_asked_for_hold_in_it(room: Any) -> None:
    room.write(".gitignore", "*.log\n")
    room.write("src/a.py", "")
    room.write("src/a.log", "")
    assert paths(listed(room.project, "src")) == ["src/a.py"]


def test_files_alone_count_and_those_nearest_to_the_top_are_taken(room: Any) -> None:
    for number in range(20):
        room.write(f"aaa/deep/{number:02}.txt", "")
        (room.project / f"empty-{number}").mkdir()
    for name in ("README.md", "zzz.py", "src/main.py"):
        room.write(name, "")
    found = listed(room.project, limit=3)
    assert paths(found) == ["README.md", "src/main.py", "zzz.py"]
    assert found.total == 23
    assert found.warnings == ("Exceeded maxFiles limit; showing first 3 of 23 files",)
    assert listed(room.project, limit=23).warnings == ()


@pytest.mark.parametrize(
    ("depth", "names", "reached"),
    [
        (1, ["a.txt"], 1),
        (2, ["a.txt", "one/b.txt"], 2),
        (3, ["a.txt", "one/b.txt", "one/two/c.txt"], 3),
        (9, ["a.txt", "one/b.txt", "one/two/c.txt"], 3),
        (None, ["a.txt", "one/b.txt", "one/two/c.txt"], 3),
    ],
)
def test_depth_counts_levels_of_folders_from_the_one_asked_for(
    room: Any, depth: int | None, names: list[str], reached: int
) -> None:
    for name in ("a.txt", "one/b.txt", "one/two/c.txt"):
        room.write(name, "")
    found = listed(room.project, depth=depth)
    assert (paths(found), found.depth, found.warnings) == (names, reached, ())


def test_a_tree_that_is_too_deep_has_a_warning(room: Any) -> None:
    deepest = "/".join("d" * 70)
    room.write(f"{deepest}/x.txt", "")
    room.write("a.txt", "")
    for limit in (None, 1_000_000):
        found = listed(room.project, depth=limit)
        assert paths(found) == ["a.txt"]
        assert "deeper than 60 levels" in found.warnings[0]


def test_links_are_not_followed_out_of_the_root_nor_in_circles_nor_twice(room: Any) -> None:
    room.write("src/a.py", "")
    (room.project / "out").symlink_to(room.outside)
    (room.project / "secret.txt").symlink_to(room.outside / "secret.txt")
    (room.project / "src" / "up").symlink_to("..")
    (room.project / "self").symlink_to("self")
    (room.project / "again").symlink_to("src")
    found = listed(room.project)
    assert paths(found) == ["src/a.py"]
    assert found.warnings == ("5 symbolic links were not followed",)


def test_pipes_and_sockets_are_not_listed(room: Any) -> None:
    os.mkfifo(room.project / "pipe")
    room.write("a.txt", "")
    assert paths(listed(room.project)) == ["a.txt"]


def test_the_list_is_the_same_in_whatever_order_the_files_were_made(tmp_path: Path) -> None:
    names = [f"{directory}{number}.txt" for directory in ("", "b/", "a/c/", "é/") for number in range(9)]
    for copy, order in (("one", names), ("two", names[::-1])):
        for name in order:
            path = tmp_path / copy / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    one, two = listed(tmp_path / "one", limit=30), listed(tmp_path / "two", limit=30)
    assert paths(one) == paths(two)
    assert paths(one) == sorted(paths(one), key=lambda path: path.split("/"))


def test_files_that_cannot_be_read_as_text_are_listed_and_marked(room: Any) -> None:
    room.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0" + b"\0" * 33_990)
    room.write("data.json", "x" * 2_500_000)
    room.write("empty.txt", "")
    room.write("a.py", "é" * 5_000)
    notes = {file.path: file.note for file in listed(room.project).files}
    assert notes == {"logo.png": "binary, 34 kB", "data.json": "large, 2.5 MB", "empty.txt": "empty", "a.py": ""}


def test_names_that_are_no_text_or_hold_line_breaks_are_listed(room: Any) -> None:
    for name in (b"caf\xe9.txt", b"a\nb.txt", "日本.txt".encode()):
        (room.project / os.fsdecode(name)).touch()
    found = paths(listed(room.project))
    assert found == ["a\nb.txt", "caf\\xe9.txt", "日本.txt"]


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """Give a directory that an ordinary user may read, and be one, as root may read everything."""
    directory = Path(tempfile.mkdtemp()).resolve()
    directory.chmod(0o755)
    is_root = os.geteuid() == 0
    yield directory
    if is_root:
        os.seteuid(0)
    (directory / "locked").chmod(0o755)
    shutil.rmtree(directory)


def test_a_folder_that_may_not_be_read_is_named_and_the_others_are_listed(unprivileged: Path) -> None:
    for name in ("a.txt", "locked/b.txt", "open/c.txt"):
        (unprivileged / name).parent.mkdir(exist_ok=True)
        (unprivileged / name).write_text("text", encoding="utf-8")
    (unprivileged / "a.txt").chmod(0)
    (unprivileged / "locked").chmod(0)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
    found = listed(unprivileged)
    assert [(file.path, file.note) for file in found.files] == [("a.txt", "cannot be read"), ("open/c.txt", "")]
    assert found.warnings == ("Could not be read: locked",)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("many")
    for directory in range(100):
        (top / f"{directory:03}").mkdir()
        for number in range(100):
            (top / f"{directory:03}" / f"{number:03}.txt").touch()
    return top


def test_of_ten_thousand_files_the_first_are_shown_and_all_are_counted(many: Path) -> None:
    found = listed(many)
    assert (len(found.files), found.total, found.depth) == (500, 10_000, 2)
    assert paths(found)[0] == "000/000.txt"
    assert paths(found)[-1] == "004/099.txt"
    assert found.warnings == ("Exceeded maxFiles limit; showing first 500 of 10,000 files",)


def test_no_map_has_more_files_than_can_be_summarized_whatever_is_asked_for(many: Path) -> None:
    found = listed(many, limit=9_000)
    assert len(found.files) == MAX_FILES
    assert found.warnings == (
        "maxFiles is 2,000 at most: give a deeper path for the rest",
        "Exceeded maxFiles limit; showing first 2,000 of 10,000 files",
    )


def test_a_walk_that_takes_too_long_reports_missing_files(many: Path) -> None:
    ticks = iter(range(10_000_000))
    top = locate(".", (Root.of(str(many), "a test"),))
    found = list_files(top, Scan(1_000, clock=lambda: next(ticks)))
    assert 0 < found.total < 1_000
    assert f"showing first 500 of at least {found.total:,} files" in found.warnings[0]
    assert "stopped after" in found.warnings[1]


def test_files_that_there_is_no_time_to_look_into_are_listed_without_a_mark(room: Any) -> None:
    for name in ("a.bin", "b.bin", "c.bin"):
        room.write(name, b"\0")
    ticks = iter(range(100))  # the walk and each look ask once
    found = list_files(locate(".", room.roots), Scan(5, clock=lambda: next(ticks)))
    assert [file.note for file in found.files] == ["binary, 1 B", "", ""]
    assert found.total == 3


def test_halves_of_characters_can_be_sent() -> None:
    assert readable("a\ud800b\udce9") == "a\\ud800b\\udce9"


def test_a_walk_that_nobody_waits_for_ends(many: Path) -> None:
    scan = Scan()
    scan.stop()
    with pytest.raises(ScanStoppedError):
        list_files(locate(".", (Root.of(str(many), "a test"),)), scan)


def test_very_many_excluded_names_are_cut_and_counted(room: Any) -> None:
    room.write(".gitignore", "*.log\n")
    for number in range(MAX_EXCLUDED + 7):
        room.write(f"{number:03}.log", "")
    found = listed(room.project)
    assert len(found.excluded) == MAX_EXCLUDED
    assert found.warnings == ("107 names are excluded; showing the first 100",)


def test_a_file_is_no_folder_to_list(room: Any) -> None:
    room.write("a.txt", "")
    with pytest.raises(ToolError, match="is a file, not a directory"):
        listed(room.project, "a.txt")
