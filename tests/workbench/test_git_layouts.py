"""The git tools in work trees, submodules and sub-folders, whose git directory is outside of the opened folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from git_repository import Canary, git, head, new_repository
from workbench_room import Room

pytestmark = pytest.mark.usefixtures("calm")

SECRET = "the secret outside"
READING: dict[str, dict[str, Any]] = {
    **{tool: {} for tool in ("git_status", "git_log", "git_diff", "git_show", "git_branch")},
    "git_blame": {"path": "app.py"},
}
WRITING: dict[str, dict[str, Any]] = {"git_add": {"paths": ["."]}, "git_commit": {"message": "No"}}
REFUSED = "belongs to a repository outside the allowed directories"


def commit(folder: Path, message: str) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", f"--message={message}")


@pytest.fixture(scope="module")
def repository_to_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with two commits."""
    with new_repository(tmp_path_factory.mktemp("main")) as folder:
        (folder / "app.py").write_text("one\n", encoding="utf-8")
        commit(folder, "Begin")
        (folder / "app.py").write_text("two\n", encoding="utf-8")
        commit(folder, "Go on")
    return folder


@pytest.fixture
def main(room: Room, repository_to_copy: Path) -> Path:
    """A fresh copy of it, outside of the roots."""
    return shutil.copytree(repository_to_copy, room.outside / "main", symlinks=True)


def work_tree(main: Path, opened: Path) -> None:
    opened.rmdir()
    git(main, "worktree", "add", "--quiet", str(opened), "-b", "topic")


def relative_work_tree(main: Path, opened: Path) -> None:
    work_tree(main, opened)
    own = main / ".git" / "worktrees" / opened.name
    (own / "gitdir").write_text(os.path.relpath(opened / ".git", own) + "\n", encoding="utf-8")
    (opened / ".git").write_text(f"gitdir: {os.path.relpath(own, opened)}\n", encoding="utf-8")


def work_tree_of_a_bare_repository(main: Path, opened: Path) -> None:
    git(main, "clone", "--quiet", "--bare", ".", str(opened.parent / "work" / ".bare"))
    work_tree(opened.parent / "work" / ".bare", opened)


def submodule(main: Path, opened: Path, *, name: str = "") -> None:
    outer = opened.parent
    git(outer, "init", "--quiet")
    opened.rmdir()
    git(outer, *ALLOW, "submodule", "--quiet", "add", *(["--name", name] if name else []), str(main), opened.name)
    git(outer, "commit", "--quiet", "--message=Hold")


def submodule_in_a_work_tree(main: Path, opened: Path) -> None:
    opened.rmdir()
    outer = opened.parent / "outer"
    git(opened.parent, "init", "--quiet", str(outer))
    git(outer, *ALLOW, "submodule", "--quiet", "add", str(main), opened.name)
    git(outer, "commit", "--quiet", "--message=Hold")
    moved = opened.parent / "trees"
    git(outer, "worktree", "add", "--quiet", str(moved), "-b", "other")
    git(moved, *ALLOW, "submodule", "--quiet", "update", "--init")
    # The opened folder has a fixed name, so the tree around it is moved there by a link that git resolves.
    opened.symlink_to(moved / opened.name)


def nested_submodule(main: Path, opened: Path) -> None:
    middle = opened.parent / "middle"
    middle.mkdir()
    git(middle, "init", "--quiet")
    git(middle, *ALLOW, "submodule", "--quiet", "add", str(main), "inner")
    git(middle, "commit", "--quiet", "--message=Hold")
    outer = opened.parent / "outer"
    git(opened.parent, "init", "--quiet", str(outer))
    git(outer, *ALLOW, "submodule", "--quiet", "add", str(middle), "middle")
    git(outer, *ALLOW, "submodule", "--quiet", "update", "--init", "--recursive")
    opened.rmdir()
    opened.symlink_to(outer / "middle" / "inner")


def separate_with_pointer(main: Path, opened: Path) -> None:
    opened.rmdir()
    git(main, "clone", "--quiet", f"--separate-git-dir={opened.parent / 'separate'}", ".", str(opened))
    git(opened, "config", "core.worktree", str(opened))


def linked_directory_with_pointer(main: Path, opened: Path) -> None:
    separate_with_pointer(main, opened)
    (opened / ".git").unlink()
    (opened / ".git").symlink_to(opened.parent / "separate")


ALLOW = ("-c", "protocol.file.allow=always")
LAYOUTS: dict[str, Callable[[Path, Path], None]] = {
    "work tree": work_tree,
    "relative work tree": relative_work_tree,
    "work tree of a bare repository": work_tree_of_a_bare_repository,
    "submodule": submodule,
    "submodule in a work tree": submodule_in_a_work_tree,
    "nested submodule": nested_submodule,
    "separate git directory": separate_with_pointer,
    "linked git directory": linked_directory_with_pointer,
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_reading_tools_work_where_the_git_directory_points_back(room: Room, main: Path, layout: str) -> None:
    LAYOUTS[layout](main, room.project)
    (room.project / "app.py").write_text("three\n", encoding="utf-8")

    answers = {tool: room.call(tool, **arguments) for tool, arguments in READING.items()}

    assert {tool: answer.text for tool, answer in answers.items() if answer.is_error} == {}
    assert " M app.py" in answers["git_status"].text
    assert "Go on" in answers["git_log"].text
    assert "+three" in answers["git_diff"].text
    assert room.call("git_show", object="HEAD~1:app.py").text == "one"


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("tool", WRITING)
def test_writing_tools_name_the_directories_and_the_flag(room: Room, main: Path, person: Any, tool: str) -> None:
    work_tree(main, room.project)
    before = {path: path.read_bytes() for path in (main / ".git").rglob("*") if path.is_file()}

    answer = room.run(tool, client=person, **WRITING[tool])

    assert answer.is_error
    assert REFUSED in answer.text
    assert f"`--root {room.project} --root {main / '.git'}`" in answer.text
    assert person.asked == []
    assert {path: path.read_bytes() for path in (main / ".git").rglob("*") if path.is_file()} == before


# A git directory that does not belong to the opened folder


def plain_pointer(main: Path, opened: Path) -> None:
    (opened / ".git").write_text(f"gitdir: {main / '.git'}\n", encoding="utf-8")


def pointer_to_the_work_tree_of_another(main: Path, opened: Path) -> None:
    git(main, "worktree", "add", "--quiet", str(opened.parent / "other"), "-b", "other")
    (opened / ".git").write_text(f"gitdir: {main / '.git' / 'worktrees' / 'other'}\n", encoding="utf-8")


def own_directory_that_borrows(main: Path, opened: Path) -> None:
    """The pointer back is inside the opened folder, so whoever wrote it chose `commondir` too."""
    own = opened / "forged" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (own / "commondir").write_text(f"{main / '.git'}\n", encoding="utf-8")
    (own / "gitdir").write_text(f"{opened / '.git'}\n", encoding="utf-8")
    (opened / ".git").write_text(f"gitdir: {own}\n", encoding="utf-8")


def directory_beside_that_borrows(main: Path, opened: Path) -> None:
    own = opened.parent / "forged" / "worktrees" / "x"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (own / "commondir").write_text(f"{main / '.git'}\n", encoding="utf-8")
    (own / "gitdir").write_text(f"{opened / '.git'}\n", encoding="utf-8")
    (opened / ".git").write_text(f"gitdir: {own}\n", encoding="utf-8")


def git_directory_that_borrows(main: Path, opened: Path) -> None:
    git(opened, "init", "--quiet")
    (opened / ".git" / "commondir").write_text(f"{main / '.git'}\n", encoding="utf-8")


def link_to_another(main: Path, opened: Path) -> None:
    (opened / ".git").symlink_to(main / ".git")


def link_inside_a_pointer(main: Path, opened: Path) -> None:
    (opened / "away").symlink_to(main / ".git")
    (opened / ".git").write_text("gitdir: away\n", encoding="utf-8")


def tree_of_another(main: Path, opened: Path) -> None:
    git(opened, "init", "--quiet")
    git(opened, "config", "core.worktree", str(main))


def tree_around_the_folder(_main: Path, opened: Path) -> None:
    """The folder's own settings name a working tree around it, with the files of others."""
    git(opened, "init", "--quiet")
    git(opened, "config", "core.worktree", str(opened.parent))


def separate_without_pointer(main: Path, opened: Path) -> None:
    opened.rmdir()
    git(main, "clone", "--quiet", f"--separate-git-dir={opened.parent / 'separate'}", ".", str(opened))


def included_pointer(main: Path, opened: Path) -> None:
    """`core.worktree` comes from a file inside the opened folder."""
    plain_pointer(main, opened)
    (opened / "more").write_text(f"[core]\nworktree = {opened}\n", encoding="utf-8")
    git(main, "config", "include.path", str(opened / "more"))


def pointer_to_a_moved_folder(main: Path, opened: Path) -> None:
    work_tree(main, opened)
    moved = opened.parent / "moved"
    opened.rename(moved)
    shutil.copytree(moved, opened)
    own = main / ".git" / "worktrees" / opened.name
    (own / "gitdir").write_text(f"{moved / '.git'}\n", encoding="utf-8")


def bare_repository_above(main: Path, opened: Path) -> None:
    git(main, "clone", "--quiet", "--bare", ".", str(opened.parent / "bare"))
    shutil.copytree(opened.parent / "bare", opened.parent, dirs_exist_ok=True)


FOREIGN: dict[str, Callable[[Path, Path], None]] = {
    function.__name__: function
    for function in (
        plain_pointer,
        pointer_to_the_work_tree_of_another,
        own_directory_that_borrows,
        directory_beside_that_borrows,
        git_directory_that_borrows,
        link_to_another,
        link_inside_a_pointer,
        tree_of_another,
        tree_around_the_folder,
        separate_without_pointer,
        included_pointer,
        pointer_to_a_moved_folder,
        bare_repository_above,
    )
}


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("layout", FOREIGN)
def test_no_tool_reads_a_git_directory_that_does_not_point_back(
    room: Room, main: Path, person: Any, layout: str
) -> None:
    (main / "secret.txt").write_text(SECRET, encoding="utf-8")
    commit(main, SECRET)
    FOREIGN[layout](main, room.project)

    for tool, arguments in {**READING, **WRITING}.items():
        answer = room.run(tool, client=person, **arguments)
        assert answer.is_error, tool
        assert SECRET not in answer.text, tool
        assert head(main)[:7] not in answer.text, tool
        assert REFUSED in answer.text, tool
        assert f"--root {room.project}" in answer.text or f"--root {room.project.parent}" in answer.text, tool
    assert person.asked == []


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("clone", ["--shared", "--reference", "work tree", "relative"])
def test_a_repository_with_objects_elsewhere_names_that_directory_and_the_flag(
    room: Room, main: Path, held: bool, clone: str
) -> None:
    room.project.rmdir()
    if clone == "--reference":
        git(main, "clone", "--quiet", "--reference", str(main), f"file://{main}", str(room.project))
    else:
        git(main, "clone", "--quiet", "--shared", str(main), str(room.project))
    flags = f"--root {room.project} --root {main}/.git"
    if clone == "relative":
        line = os.path.relpath(main / ".git" / "objects", room.project / ".git" / "objects")
        room.write(".git/objects/info/alternates", f"{line}\n")
    if clone == "work tree":
        shared = room.outside / "shared"
        room.project.rename(shared)
        room.project.mkdir()
        work_tree(shared, room.project)

    for tool in ("git_status", "git_show"):
        answer = room.call(tool)
        assert answer.is_error
        assert (flags in answer.text) == held, answer.text

    allowed = {"root": (str(room.project), f"{main}/.git")}
    assert ("Go on" in room.call("git_log", options=allowed).text) == held


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("line", ["/etc", "/home/ada/.ssh", "~/objects/..", "a\x1b[2J/objects"])
def test_no_other_path_in_the_list_of_alternates_is_repeated(room: Room, line: str) -> None:
    room.write(".git/objects/info/alternates", f"{line}\n")

    assert "--root" not in room.call("git_status").text


@pytest.mark.usefixtures("mode")
def test_a_pipe_as_the_list_of_alternates_blocks_nothing(room: Room, project: Path) -> None:
    os.mkfifo(project / ".git" / "objects" / "info" / "alternates")

    assert "is not a file" in room.call("git_branch").text


def test_objects_are_not_borrowed_from_outside_by_a_repository_outside(room: Room, main: Path) -> None:
    private = room.outside / "private"
    git(room.outside, "clone", "--quiet", "--no-local", str(main), str(private))
    (private / "secret.txt").write_text(SECRET, encoding="utf-8")
    commit(private, SECRET)
    work_tree(main, room.project)
    alternates = main / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{private / '.git' / 'objects'}\n", encoding="utf-8")

    answer = room.call("git_show", object=head(private))

    assert answer.is_error
    assert SECRET not in answer.text


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("name", ["refs", "logs", "objects", "packed-refs", "info"])
def test_links_of_a_git_directory_outside_lead_nowhere(room: Room, main: Path, name: str) -> None:
    private = room.outside / "private"
    git(room.outside, "clone", "--quiet", "--no-local", str(main), str(private))
    (private / "secret.txt").write_text(SECRET, encoding="utf-8")
    commit(private, SECRET)
    git(private, "pack-refs", "--all")
    work_tree(main, room.project)
    path = main / ".git" / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    path.symlink_to(private / ".git" / name)

    for tool, arguments in READING.items():
        assert SECRET not in room.call(tool, **arguments).text, tool
    assert SECRET not in room.call("git_show", object=head(private)).text


def test_programs_of_a_repository_outside_are_not_run(room: Room, main: Path, canary: Canary, mode: str) -> None:
    shutil.move(room.project / "cage", main / "cage")
    work_tree(main, room.project)
    (room.project / ".gitattributes").write_text("*.py diff=evil filter=evil\n", encoding="utf-8")
    (room.project / "app.py").write_text("TWO\n", encoding="utf-8")
    script = str(main / "cage" / "canary")
    for setting in (
        *("core.pager", "core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv", "pager.log"),
        *("filter.evil.clean", "gpg.program", "core.sshCommand", "core.alternateRefsCommand"),
    ):
        git(main, "config", setting, script)

    for tool, arguments in READING.items():
        answer = room.call(tool, **arguments)
        assert answer.is_error or mode != "off", tool
        assert not canary.has_run, tool


@pytest.mark.usefixtures("mode")
def test_a_repository_of_another_user_is_refused_by_git(
    room: Room, main: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_tree(main, room.project)
    wrapper = tmp_path / "wrapper" / "git"
    wrapper.parent.mkdir()
    script = f'#!/bin/sh\nexport GIT_TEST_ASSUME_DIFFERENT_OWNER=1\nexec {shutil.which("git")} "$@"\n'
    wrapper.write_text(script, encoding="utf-8")
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", str(wrapper.parent), prepend=os.pathsep)

    answer = room.call("git_log")

    assert answer.is_error
    assert "safe.directory" in answer.text
    assert "Go on" not in answer.text


# A folder of a larger repository


@pytest.fixture(scope="module")
def package_to_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in a repository around it, with a sibling; both change in each commit. Return the top."""
    top = tmp_path_factory.mktemp("package")
    room = Room(top / "proj", top / "proj-evil")
    room.outside.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(top / "home"))
        git(top, "init", "--quiet", "--initial-branch=main")
        (top / ".gitignore").write_text("*.log\n/home/\n", encoding="utf-8")
        (top / ".mailmap").write_text("Countess Ada <ada@example.org>\n", encoding="utf-8")
        (room.outside / "secret.txt").write_text(SECRET, encoding="utf-8")
        (room.outside / "moved.py").write_text("one\ntwo\nthree\nfour\n", encoding="utf-8")
        room.write("app.py", "one\n")
        commit(top, "Begin")
        (room.outside / "secret.txt").write_text(f"{SECRET} again", encoding="utf-8")
        git(top, "commit", "--quiet", "--all", "--message=Sibling alone")
        room.write("app.py", "two\n")
        (room.outside / "secret.txt").write_text(f"{SECRET} once more", encoding="utf-8")
        (room.outside / "moved.py").rename(room.project / "moved.py")
        commit(top, "Both")
    (room.outside / "secret.txt").write_text(f"{SECRET} now", encoding="utf-8")
    room.write("app.py", "three\n")
    room.write("a.log", "ignored\n")
    return top


@pytest.fixture
def package(room: Room, package_to_copy: Path) -> Path:
    """The opened folder in a fresh copy of that repository. Return the top."""
    return shutil.copytree(package_to_copy, room.project.parent, symlinks=True, dirs_exist_ok=True)


def hides_the_sibling(text: str) -> bool:
    return SECRET not in text and "secret.txt" not in text and "proj-evil" not in text


@pytest.mark.usefixtures("mode", "package")
@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("git_status", {}, "## main\n M app.py"),
        ("git_status", {"untracked": "all"}, "## main\n M app.py"),
        ("git_log", {"format": "short"}, "Both"),
        ("git_log", {"patch": True, "stat": True}, "+two"),
        ("git_log", {"patch": True, "paths": ["moved.py"]}, "+four"),
        ("git_log", {"patch": True, "revision": "HEAD~2..HEAD"}, "+two"),
        ("git_log", {"changed_text": "two", "patch": True}, "Both"),
        ("git_diff", {}, "+three"),
        ("git_diff", {"revision": "HEAD~2", "summary": True}, "app.py"),
        ("git_diff", {"revision": "HEAD~2..HEAD", "ignore_space": True}, "+two"),
        ("git_show", {}, "+two"),
        ("git_show", {"summary": True}, "app.py"),
        ("git_show", {"object": "HEAD:./app.py"}, "two"),
        ("git_show", {"object": "HEAD~2:proj/app.py"}, "one"),
        ("git_show", {"object": ":./app.py"}, "two"),
        ("git_show", {"object": "HEAD:./"}, "app.py"),
        ("git_blame", {"path": "app.py"}, "three"),
        ("git_blame", {"path": "app.py", "revision": "HEAD"}, "Countess"),
        ("git_branch", {}, "main"),
    ],
)
def test_a_folder_of_a_repository_shows_its_own_history(
    room: Room, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    answer = room.call(tool, **arguments)

    assert not answer.is_error, answer.text
    assert expected in answer.text
    assert hides_the_sibling(answer.text)
    assert "Sibling alone" not in answer.text
    assert "warning" not in answer.text
    assert "a.log" not in answer.text


OUT = (
    *("HEAD:proj-evil/secret.txt", "HEAD:./../proj-evil/secret.txt", "HEAD:../proj-evil/secret.txt", "HEAD:"),
    *("HEAD^{tree}", "HEAD:proj-evil", ":proj-evil/secret.txt", ":0:proj-evil/secret.txt", "{blob}", "{tree}"),
    *("{tree}:secret.txt", "{tree}:./../secret.txt", "HEAD:proj/../proj-evil/secret.txt", "hidden", "hidden^{}"),
    *("HEAD:{x}:proj-evil/secret.txt", "HEAD^{/Begin}:proj-evil/secret.txt", ":../proj-evil/secret.txt"),
    "HEAD:proj..HEAD:proj-evil",
)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("revision", OUT)
def test_no_revision_leads_out_of_the_opened_folder(room: Room, package: Path, revision: str) -> None:
    blob, tree = git(package, "rev-parse", "HEAD:proj-evil/secret.txt"), git(package, "rev-parse", "HEAD:proj-evil")
    git(package, "tag", "--annotate", "--message=Hidden", "hidden", blob)
    revision = revision.replace("{blob}", blob).replace("{tree}", tree)

    for tool, name in (("git_show", "object"), ("git_diff", "revision"), ("git_log", "revision")):
        arguments: dict[str, Any] = {name: revision}
        answer = room.call(tool, **arguments)
        assert answer.is_error, (tool, answer.text)
        assert SECRET not in answer.text
        assert "moved.py" not in answer.text


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("paths", [["../proj-evil"], ["link"], ["/"], [".."], ["../sideways"]])
def test_no_path_leads_out_of_the_opened_folder(room: Room, package: Path, paths: list[str]) -> None:
    (room.project / "link").symlink_to(room.outside)
    (package / "sideways").mkdir()
    (package / "sideways" / "secret.txt").write_text(SECRET, encoding="utf-8")
    commit(package, "Sideways")
    shutil.rmtree(package / "sideways")
    (package / "sideways").symlink_to(room.project)

    for tool in ("git_log", "git_show", "git_diff", "git_status"):
        answer = room.call(tool, paths=paths)
        assert answer.is_error, tool
        assert "outside the allowed directories" in answer.text
        assert SECRET not in answer.text


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("setting", ["log.follow=true", "diff.renames=copies", "status.relativePaths=false"])
def test_settings_show_no_sibling(room: Room, package: Path, setting: str) -> None:
    git(package, "config", *setting.split("="))

    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("git_log", {"patch": True, "paths": ["moved.py"]}),
        ("git_log", {"patch": True}),
        ("git_show", {}),
        ("git_status", {}),
    )
    for tool, arguments in calls:
        answer = room.call(tool, **arguments)
        assert not answer.is_error, answer.text
        assert hides_the_sibling(answer.text)


@pytest.mark.usefixtures("mode")
def test_links_above_the_opened_folder_grant_nothing(room: Room, package: Path) -> None:
    private = package / "home" / "private"
    private.write_text(f"{SECRET}\n", encoding="utf-8")
    (package / ".gitignore").unlink()
    (package / ".gitignore").symlink_to(private)
    git(package, "config", "blame.ignoreRevsFile", str(private))

    for tool, arguments in READING.items():
        assert SECRET not in room.call(tool, **arguments).text, tool


@pytest.mark.usefixtures("mode")
def test_nothing_is_staged_or_committed_in_a_part_of_a_repository(room: Room, package: Path, person: Any) -> None:
    for tool, arguments in WRITING.items():
        answer = room.run(tool, client=person, **arguments)
        assert answer.is_error
        assert f"`--root {package}`" in answer.text
    assert person.asked == []


@pytest.mark.usefixtures("mode")
def test_a_folder_of_a_work_tree_shows_its_own_history(room: Room, main: Path) -> None:
    (main / "part").mkdir()
    (main / "part" / "app.py").write_text("one\n", encoding="utf-8")
    (main / "secret.txt").write_text(SECRET, encoding="utf-8")
    commit(main, "Both")
    tree = room.project.parent / "tree"
    git(main, "worktree", "add", "--quiet", str(tree), "-b", "topic")
    room.project.rmdir()
    room.project.symlink_to(tree / "part")

    log = room.call("git_log", patch=True)

    assert "Both" in log.text
    assert "Go on" not in log.text
    assert hides_the_sibling(log.text)
    assert "one" in room.call("git_blame", path="app.py").text
    assert room.call("git_show", object="HEAD:secret.txt").is_error
