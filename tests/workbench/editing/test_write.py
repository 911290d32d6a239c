"""Writing inside the roots: nothing outside ever changes, and a file is always its old or its new content."""

from __future__ import annotations

import json
import os
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toolmason_runtime import ToolError

from workbench_handlers.workspace.atomic import LEFTOVER_AGE_S, temporary_name
from workbench_handlers.workspace.move import locate_entry, move_path
from workbench_handlers.workspace.open import CAN_WALK
from workbench_handlers.workspace.roots import RefusedPathError, Root
from workbench_handlers.workspace.write import (
    MAX_EDIT_BYTES,
    FileChangedError,
    locate_for_writing,
    make_directory,
    read_for_editing,
    replace_file,
)

both_ways = pytest.mark.parametrize("walk", [True, False], ids=["walking", "by path"])
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def write(roots: tuple[Root, ...], path: str, data: bytes, *, walk: bool = CAN_WALK) -> None:
    """Replace a file by `data`, as a tool does."""
    located = locate_for_writing(path, roots)
    replace_file(located, data, expected=read_for_editing(located), walk=walk)


def move(roots: tuple[Root, ...], source: str, destination: str, *, walk: bool = CAN_WALK) -> None:
    move_path(locate_entry(source, roots), locate_entry(destination, roots), walk=walk)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def snapshot(top: Path) -> dict[str, Any]:
    """Everything below a directory by path: contents, targets of links, modes."""
    state: dict[str, Any] = {}
    for path in sorted(top.rglob("*")):
        status = path.lstat()
        content: Any = None
        if path.is_symlink():
            content = str(path.readlink())
        elif path.is_file():
            content = path.read_bytes()
        state[str(path.relative_to(top))] = (status.st_mode, status.st_ino, content)
    return state


def failure(action: Callable[[], object]) -> ToolError:
    with pytest.raises(ToolError) as error:
        action()
    return error.value


# What a write keeps


@both_ways
def test_a_file_is_replaced_with_its_mode_and_a_new_time(room: Any, walk: bool) -> None:
    path = room.write("run.sh", "old")
    path.chmod(0o750)
    os.utime(path, (1, 1))
    write(room.roots, "run.sh", b"new\r\n\xff", walk=walk)
    assert path.read_bytes() == b"new\r\n\xff"
    assert path.stat().st_mode & 0o7777 == 0o750
    assert path.stat().st_mtime > 1
    assert names(room.project) == ["run.sh"]


@both_ways
def test_a_new_file_gets_its_parents_and_the_usual_mode(room: Any, walk: bool) -> None:
    usual = room.write("usual", "").stat().st_mode
    write(room.roots, "a/b/c.txt", b"text", walk=walk)
    assert (room.project / "a/b/c.txt").read_bytes() == b"text"
    assert (room.project / "a/b/c.txt").stat().st_mode == usual


def test_a_link_inside_stays_a_link_and_its_target_is_written(room: Any) -> None:
    room.write("real/a.txt", "old")
    (room.project / "link").symlink_to("real/a.txt")
    (room.project / "new").symlink_to("real/b.txt")
    write(room.roots, "link", b"one")
    write(room.roots, "new", b"two")
    assert [str((room.project / name).readlink()) for name in ("link", "new")] == ["real/a.txt", "real/b.txt"]
    assert [(room.project / "real" / name).read_bytes() for name in ("a.txt", "b.txt")] == [b"one", b"two"]


def acl(*entries: tuple[int, int, int]) -> bytes:
    """An ACL as Linux stores it: tag, permissions and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NO_ID = 0xFFFF_FFFF
ACL = acl((1, 6, NO_ID), (2, 4, 12_345), (4, 4, NO_ID), (16, 4, NO_ID), (32, 0, NO_ID))


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="this system has no extended attributes in Python")
def test_extended_attributes_and_the_acl_are_those_of_the_old_file(room: Any) -> None:
    plain, special = room.write("plain", "old"), room.write("special", "old")
    os.setxattr(special, "user.origin", b"\0\xff")
    os.setxattr(special, "system.posix_acl_access", ACL)
    # Files that are created from now on inherit this one.
    os.setxattr(room.project, "system.posix_acl_default", ACL)
    before = {path: ({name: os.getxattr(path, name) for name in os.listxattr(path)}, path.stat().st_mode)
              for path in (plain, special)}  # fmt: skip
    for path in (plain, special):
        write(room.roots, str(path), b"new")
        assert path.read_bytes() == b"new"
    after = {path: ({name: os.getxattr(path, name) for name in os.listxattr(path)}, path.stat().st_mode)
             for path in (plain, special)}  # fmt: skip
    assert after == before
    assert "system.posix_acl_access" in before[special][0]
    assert "system.posix_acl_access" not in before[plain][0]


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a file to another user")
def test_the_owner_stays(room: Any) -> None:
    path = room.write("a.txt", "old")
    os.chown(path, 12_345, 12_346)
    path.chmod(0o6755)
    write(room.roots, "a.txt", b"new")
    status = path.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (12_345, 12_346, 0o6755)


@pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")
def test_a_file_of_another_user_is_refused_rather_than_taken_over(room: Any) -> None:
    path = room.write("a.txt", "old")
    path.chmod(0o666)
    room.project.chmod(0o777)
    located = locate_for_writing("a.txt", room.roots)
    with _other_user(room.project.parent):
        error = failure(lambda: replace_file(located, b"new", expected=b"old"))
    assert error.code == "NO_PERMISSION"
    assert (path.read_bytes(), path.stat().st_uid) == (b"old", 0)
    assert names(room.project) == ["a.txt"]


class _other_user:  # noqa: N801  used as a function
    """The body runs as the user 12345, who may enter the directories above `path`."""

    def __init__(self, path: Path) -> None:
        self._opened = [parent for parent in (path, *path.parents) if not parent.stat().st_mode & 0o001]

    def __enter__(self) -> None:
        for path in self._opened:
            path.chmod(path.stat().st_mode | 0o001)
        os.setegid(12_345)
        os.seteuid(12_345)

    def __exit__(self, *error: object) -> None:
        os.seteuid(0)
        os.setegid(0)
        for path in self._opened:
            path.chmod(path.stat().st_mode & ~0o001)


# What is refused


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".git/config",
            "sub/.git/hooks/pre-commit",
            ".GIT/config",
            ".Git",
            "sub/.git",
            ".git./config",
            ".git /config",
        ),
        *("git~1/config", ".g\u200cit/config", ".git::$INDEX_ALLOCATION/config", "link/config", "store/config"),
        *("store/hooks/new/deep", "safe/../.git/config"),
    ],
)
def test_the_internal_files_of_git_are_refused(room: Any, path: str) -> None:
    for name in ("objects", "refs", "hooks"):
        (room.project / "store" / name).mkdir(parents=True)
    room.write("store/HEAD", "ref: refs/heads/main\n")
    (room.project / "link").symlink_to("store")
    (room.project / "safe").mkdir()
    for locate in (locate_for_writing, locate_entry):
        with pytest.raises(RefusedPathError, match="internal files of a git repository"):
            locate(path, room.roots)


@pytest.mark.parametrize(
    ("existing", "path"),
    [
        (["HEAD", "objects/a"], "refs/a"),
        (["HEAD", "refs/a"], "objects"),
        (["objects/a", "refs/a"], "HEAD"),
        (["objects/a", "refs/a"], "head"),
        (["HEAD"], "commondir"),
        (["commondir"], "HEAD"),
        (["HEAD", "commondir"], "config"),
    ],
)
def test_a_directory_does_not_become_a_git_repository(room: Any, existing: list[str], path: str) -> None:
    for name in existing:
        room.write(f"store/{name}", "../other\n")
    for locate in (locate_for_writing, locate_entry):
        with pytest.raises(RefusedPathError, match="internal files of a git repository"):
            locate(f"store/{path}", room.roots)


@pytest.mark.parametrize("path", [".gitignore", ".github/workflows/ci.yml", "git/config", "my.git/x", ".gitattributes"])
def test_files_with_similar_names_are_written(room: Any, path: str) -> None:
    write(room.roots, path, b"text")
    assert (room.project / path).read_bytes() == b"text"


@pytest.mark.parametrize("path", [".", "sub/..", "{project}", "loop/.."])
def test_a_root_itself_is_refused(room: Any, path: str) -> None:
    (room.project / "loop").symlink_to(".")
    for locate in (locate_for_writing, locate_entry):
        with pytest.raises(RefusedPathError):
            locate(path.format(project=room.project), room.roots)


def test_a_path_that_is_too_deep_or_has_too_long_a_name_is_refused(room: Any) -> None:
    assert failure(lambda: locate_for_writing("a/" * 5_000, room.roots)).code == "PATH_NOT_ALLOWED"
    long = locate_for_writing(f"sub/{'a' * 300}", room.roots)
    (room.project / "sub").mkdir()
    for action in (read_for_editing, make_directory):
        assert "File name too long" in failure(lambda action=action: action(long)).message  # type: ignore[misc]
    assert names(room.project / "sub") == []


def test_a_sibling_whose_name_begins_the_same_is_refused(room: Any) -> None:
    for path in (str(room.outside / "new"), "../proj-evil/secret.txt"):
        with pytest.raises(RefusedPathError, match="outside the allowed directories"):
            locate_for_writing(path, room.roots)


def test_hard_links_and_special_files_are_refused(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    os.link(room.outside / "secret.txt", room.project / "hard.txt")
    os.mkfifo(room.project / "pipe")
    (room.project / "folder").mkdir()
    monkeypatch.chdir(room.project)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        before = snapshot(room.project.parent)
        for name, code in (
            ("hard.txt", "HARD_LINKS"),
            ("pipe", "NOT_A_FILE"),
            ("socket", "NOT_A_FILE"),
            ("folder", "NOT_A_FILE"),
        ):
            located = locate_for_writing(name, room.roots)
            assert failure(lambda located=located: read_for_editing(located)).code == code  # type: ignore[misc]
            for expected in (None, b""):
                refused = failure(lambda located=located, e=expected: replace_file(located, b"new", expected=e))  # type: ignore[misc]
                assert refused.code == code
        assert snapshot(room.project.parent) == before


def test_read_only_and_large_files_are_refused(room: Any) -> None:
    room.write("fixed.txt", "old").chmod(0o444)
    with room.write("large.txt", "").open("wb") as stream:
        stream.truncate(MAX_EDIT_BYTES + 1)
    assert failure(lambda: write(room.roots, "fixed.txt", b"new")).code == "NO_PERMISSION"
    assert failure(lambda: write(room.roots, "large.txt", b"new")).code == "TOO_LARGE"
    assert failure(lambda: write(room.roots, "new.txt", bytes(MAX_EDIT_BYTES + 1))).code == "TOO_LARGE"
    assert (room.project / "fixed.txt").read_bytes() == b"old"
    assert names(room.project) == ["fixed.txt", "large.txt"]


@both_ways
@pytest.mark.parametrize(
    ("before", "expected"),
    [(b"theirs", b"mine"), (b"theirs", None), (b"", None), (None, b"mine"), (b"mine", b"")],
    ids=["changed", "created", "created empty", "removed", "filled"],
)
def test_a_file_that_changed_since_it_was_read_is_refused_with_its_content(
    room: Any, before: bytes | None, expected: bytes | None, walk: bool
) -> None:
    if before is not None:
        room.write("a.txt", before)
    with pytest.raises(FileChangedError, match="since it was read; nothing was written") as error:
        replace_file(locate_for_writing("a.txt", room.roots), b"new", expected=expected, walk=walk)
    assert error.value.code == "CONFLICT"
    assert error.value.current == before
    path = room.project / "a.txt"
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_file_whose_directory_was_removed_has_changed(room: Any) -> None:
    with pytest.raises(FileChangedError, match=r"`sub/a\.txt` was removed since it was read"):
        replace_file(locate_for_writing("sub/a.txt", room.roots), b"new", expected=b"old")
    assert names(room.project) == []


# Directories and moving


def test_a_directory_is_made_once_with_its_parents(room: Any) -> None:
    assert make_directory(locate_for_writing("a/b/c", room.roots))
    assert not make_directory(locate_for_writing("a/b/c", room.roots))
    assert (room.project / "a/b/c").is_dir()
    room.write("file", "")
    for path in ("file", "file/below"):
        assert failure(lambda path=path: make_directory(locate_for_writing(path, room.roots))).code == "NOT_A_DIRECTORY"  # type: ignore[misc]


@both_ways
def test_files_and_directories_are_moved_whole(room: Any, walk: bool) -> None:
    room.write("a.txt", "text").chmod(0o640)
    room.write("old/deep/b.txt", "deep")
    (room.project / "sub").mkdir()
    inode = (room.project / "a.txt").stat().st_ino
    move(room.roots, "a.txt", "sub/c.txt", walk=walk)
    move(room.roots, "old/", "sub/new", walk=walk)
    assert (room.project / "sub/c.txt").stat().st_ino == inode
    assert (room.project / "sub/new/deep/b.txt").read_text(encoding="utf-8") == "deep"
    assert names(room.project) == ["sub"]


@both_ways
@pytest.mark.parametrize(
    ("source", "destination", "code"),
    [
        ("a.txt", "b.txt", "FILE_EXISTS"),
        ("a.txt", "folder", "FILE_EXISTS"),
        ("a.txt", "dangling", "FILE_EXISTS"),
        ("folder", "empty", "FILE_EXISTS"),
        ("folder", "a.txt", "FILE_EXISTS"),
        ("a.txt", "a.txt", "FILE_EXISTS"),
        ("missing", "c.txt", "NOT_FOUND"),
        ("a.txt", "missing/c.txt", "NOT_FOUND"),
        ("a.txt", "b.txt/c", "NOT_A_DIRECTORY"),
        ("folder", "folder/inner", "INVALID_ARGUMENT"),
        ("link", "c.txt", "NOT_A_FILE"),
        ("pipe", "c.txt", "NOT_A_FILE"),
        ("a.txt", "out/c.txt", "PATH_NOT_ALLOWED"),
        ("out/secret.txt", "c.txt", "PATH_NOT_ALLOWED"),
        ("a.txt", ".git", "PATH_NOT_ALLOWED"),
    ],
)
def test_a_move_that_would_lose_or_leave_something_is_refused(
    room: Any, source: str, destination: str, code: str, walk: bool
) -> None:
    room.write("a.txt", "one")
    room.write("b.txt", "two")
    room.write("folder/x", "three")
    (room.project / "empty").mkdir()
    (room.project / "dangling").symlink_to("nothing")
    (room.project / "link").symlink_to("a.txt")
    (room.project / "out").symlink_to(room.outside)
    os.mkfifo(room.project / "pipe")
    before = snapshot(room.project.parent)
    assert failure(lambda: move(room.roots, source, destination, walk=walk)).code == code
    assert snapshot(room.project.parent) == before


# Any tree of links


NAMES = st.sampled_from(["a", "b", "c", "d"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
TARGETS = st.one_of(
    PATHS,
    st.sampled_from(["..", ".", "../..", "../proj-evil", "../../proj-evil", "../proj-evil/secret.txt", "../proj/a"]),
    PATHS.map("../{}".format),
    PATHS.map(lambda path: f"{{top}}/proj/{path}"),
    st.sampled_from(["{top}/proj-evil", "{top}/proj-evil/secret.txt", "{top}/proj-evil/new", "{top}"]),
)
TREES = st.lists(st.tuples(PATHS, st.sampled_from(["file", "directory", "link", "link", "link"]), TARGETS), max_size=8)
TYPED = st.lists(st.sampled_from(["a", "b", "c", "d", "..", "."]), min_size=1, max_size=5).map("/".join)


def plant(top: Path, tree: list[tuple[str, str, str]]) -> None:
    """Create the entries of a tree in `proj`, without those that do not fit. They never leave it."""
    for path, kind, target in tree:
        place = top / "proj" / path
        with suppress(OSError):
            if not Path(os.path.realpath(place.parent)).is_relative_to(top / "proj"):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            if kind == "link":
                place.symlink_to(target.replace("{top}", str(top)))
            elif kind == "directory":
                place.mkdir()
            else:
                with place.open("x", encoding="utf-8") as stream:  # never through a link
                    stream.write(path)


@settings(max_examples=250, deadline=None)
@given(
    tree=TREES, action=st.sampled_from(["write", "mkdir", "move"]), path=TYPED, other=TYPED, is_absolute=st.booleans()
)
def test_in_any_tree_of_links_a_change_lands_at_the_real_path_inside_or_nowhere(
    tree: list[tuple[str, str, str]], action: str, path: str, other: str, is_absolute: bool
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory).resolve()
        for name in ("proj", "proj-evil"):
            (top / name).mkdir()
        (top / "proj-evil" / "secret.txt").write_bytes(b"secret")
        plant(top, tree)
        roots = (Root.of(str(top / "proj"), "a test"),)
        typed = f"{top}/proj/{path}" if is_absolute else path
        outside, inside = snapshot(top / "proj-evil"), snapshot(top / "proj")
        real = Path(os.path.realpath(top / "proj" / path))
        try:
            if action == "write":
                write(roots, typed, b"written")
            elif action == "mkdir":
                make_directory(locate_for_writing(typed, roots))
            else:
                move(roots, typed, other)
        except ToolError:
            changed = {}
        else:
            after = snapshot(top / "proj")
            changed = {name: after.get(name) for name in {*inside, *after} if after.get(name) != inside.get(name)}
        assert snapshot(top / "proj-evil") == outside
        assert names(top) == ["proj", "proj-evil"]
        files = {name for name, entry in changed.items() if entry and entry[2] is not None}
        if action == "write" and changed:
            assert files == {str(real.relative_to(top / "proj"))}
            assert real.read_bytes() == b"written"
        elif action == "mkdir":
            assert not files
        elif action == "move":
            kept = sorted((entry[1], entry[2] or b"") for entry in inside.values() if not isinstance(entry[2], str))
            moved = snapshot(top / "proj").values()
            assert sorted((entry[1], entry[2] or b"") for entry in moved if not isinstance(entry[2], str)) == kept


# Links that are swapped in during the call


@both_ways
@pytest.mark.parametrize("swapped", ["file", "folder"])
@pytest.mark.parametrize("expected", [b"inside", None], ids=["replace", "create"])
def test_a_link_swapped_in_between_check_and_write_is_not_followed(
    room: Any, swapped: str, expected: bytes | None, walk: bool
) -> None:
    path = room.write("sub/secret.txt", "inside")
    located = locate_for_writing("sub/secret.txt", room.roots)
    path.unlink()
    if swapped == "file":
        path.symlink_to(room.outside / ("secret.txt" if expected else "new.txt"))
    else:
        path.parent.rmdir()
        path.parent.symlink_to(room.outside)
    before = snapshot(room.outside)
    error = failure(lambda: replace_file(located, b"new", expected=expected, walk=walk))
    assert error.code == "PATH_CHANGED" or isinstance(error, FileChangedError)
    assert failure(lambda: make_directory(locate_for_writing("sub/secret.txt", room.roots))).code == "PATH_NOT_ALLOWED"
    assert snapshot(room.outside) == before


@pytest.mark.skipif(not CAN_WALK, reason="this system cannot open relative to a directory")
def test_replacing_a_directory_by_a_link_repeatedly_never_writes_outside(room: Any) -> None:
    sub = room.project / "sub"
    sub.mkdir()
    before, done, swaps = snapshot(room.outside), threading.Event(), 0

    def swap() -> None:
        nonlocal swaps
        while not done.is_set():
            was = room.project / f"was{swaps}"
            with suppress(OSError):  # the writer created `sub` meanwhile
                sub.rename(was)
                sub.symlink_to(room.outside)
                sub.unlink()
                was.rename(sub)
            with suppress(OSError):
                sub.symlink_to(room.outside)
                sub.unlink()
            swaps += 1

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes: list[str] = []
    try:
        for number in range(800):
            name = "secret.txt" if number % 2 else f"deep{number}/file"
            try:
                write(room.roots, f"sub/{name}", f"{number}".encode())
                outcomes.append("written")
            except ToolError as error:
                outcomes.append(str(error.code))
    finally:
        done.set()
        thread.join()
    assert snapshot(room.outside) == before
    assert swaps > 0
    assert "written" in outcomes
    assert not [name for name in snapshot(room.project) if name.endswith(".toolmason-tmp")]


# A full disk and a kill


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", place], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("only root can mount; the test with a limit covers the same")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.skipif(not IS_ROOT, reason="only root can mount; the test with a limit covers the same")
def test_a_full_disk_leaves_the_original(small_disk: Path) -> None:
    roots = (Root.of(str(small_disk), "a test"),)
    write(roots, "a.txt", b"old" * 1000)
    for path in ("a.txt", "b.txt"):
        error = failure(lambda path=path: write(roots, path, bytes(100_000)))  # type: ignore[misc]
        assert error.code == "NO_SPACE"
        assert f"no space left to write `{path}`" in error.message
    assert names(small_disk) == ["a.txt"]
    assert (small_disk / "a.txt").read_bytes() == b"old" * 1000


def test_a_limit_of_the_file_size_leaves_the_original(room: Any) -> None:
    path = room.write("a.txt", "old" * 1000)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_192, hard))
    try:
        error = failure(lambda: write(room.roots, "a.txt", bytes(100_000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.code == "NO_SPACE"
    assert path.read_bytes() == b"old" * 1000
    assert names(room.project) == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the children are forked")
@pytest.mark.parametrize("mode", ["replace", "create"])
def test_a_kill_before_any_line_leaves_the_old_or_the_new_file(tmp_path: Path, mode: str) -> None:
    script = Path(__file__).parent / "support" / "kill_points.py"
    result = subprocess.run(
        [sys.executable, script, tmp_path, mode], capture_output=True, encoding="utf-8", check=True, timeout=300
    )
    states = [json.loads(line) for line in result.stdout.splitlines()]
    assert [is_finished for is_finished, *_ in states] == [False] * (len(states) - 1) + [True]
    contents = [content for _, content, _, _ in states]
    first = contents.index("new")
    assert first > 20, "the kills hit the steps of the write"
    assert contents == ["missing" if mode == "create" else "old"] * first + ["new"] * (len(states) - first)
    assert all(links == (content != "missing") and is_writable for _, content, links, is_writable in states)
    assert names(tmp_path) == ["file.txt"], "the next write removes what a kill left"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse the name")
def test_a_name_that_is_not_utf_8_does_not_hinder_a_write(room: Any) -> None:
    (room.project / os.fsdecode(b".\xff1234567")).touch()
    write(room.roots, "a.txt", b"1")
    assert (room.project / "a.txt").read_bytes() == b"1"


def test_only_old_temporary_files_of_this_program_are_removed(room: Any) -> None:
    own, similar = temporary_name("01234567"), ".0123456789abcdef.toolmason-tmp"
    for name in (own, similar):
        room.write(name, "text")
    write(room.roots, "a.txt", b"1")
    assert names(room.project) == sorted([own, similar, "a.txt"])
    for name in (own, similar):
        os.utime(room.project / name, (0, time.time() - LEFTOVER_AGE_S - 1))
    write(room.roots, "a.txt", b"2")
    assert names(room.project) == [similar, "a.txt"]


def test_two_writers_of_one_file_never_lose_a_line(room: Any) -> None:
    room.write("log.txt", "")
    failures: list[BaseException] = []

    def append(name: str) -> None:
        located = locate_for_writing("log.txt", room.roots)
        for number in range(40):
            for _ in range(2_000):
                data = read_for_editing(located) or b""
                with suppress(FileChangedError):
                    replace_file(located, data + f"{name}{number}\n".encode(), expected=data)
                    break
            else:
                failures.append(AssertionError(number))

    threads = [threading.Thread(target=append, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (room.project / "log.txt").read_text(encoding="utf-8").split()
    assert failures == []
    assert sorted(lines) == sorted(f"{name}{number}" for name in "ab" for number in range(40))
