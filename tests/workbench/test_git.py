"""The git tools over a real repository: what they say, and what neither a path nor a repository can make them do."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from git_repository import MODES, Canary, git, head

SECRET = "the secret outside"
pytestmark = pytest.mark.usefixtures("calm")


# What they say


@pytest.mark.usefixtures("project")
def test_status_shows_branch_and_changes(room: Any) -> None:
    room.write("app.py", "changed\n")
    room.write("new/a.txt", "new\n")

    assert room.call("git_status").text == "## main\n M app.py\n?? new/"
    assert room.call("git_status", untracked="all").text == "## main\n M app.py\n?? new/a.txt"
    assert room.call("git_status", paths=["docs"]).text == "## main"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("arguments", "subjects"),
    [
        pytest.param({}, ["Shout two", "Begin"], id="all"),
        pytest.param({"max_count": 1}, ["Shout two"], id="at most one"),
        pytest.param({"skip": 1}, ["Begin"], id="from the second on"),
        pytest.param({"revision": "topic"}, ["Begin"], id="of a branch"),
        pytest.param({"revision": "topic..main"}, ["Shout two"], id="of a range"),
        pytest.param({"paths": ["docs"]}, ["Begin"], id="of a folder"),
        pytest.param({"revision": "main", "paths": ["docs", "app.py"]}, ["Shout two", "Begin"], id="of a branch there"),
        pytest.param({"message": "Shout"}, ["Shout two"], id="by message"),
        pytest.param({"message": "S[a-z]*t"}, [], id="by message as it is"),
        pytest.param({"message": "^S[a-z]+t", "regexp": True}, ["Shout two"], id="by a pattern of the message"),
        pytest.param({"author": "da <ada@"}, ["Shout two", "Begin"], id="by author as it is"),
        pytest.param({"changed_text": "TWO"}, ["Shout two"], id="by text"),
        pytest.param({"author": "Nobody"}, [], id="by author"),
        pytest.param({"since": "1990-01-01", "until": "1991-01-01"}, [], id="by time"),
    ],
)
def test_log_finds_commits(room: Any, arguments: dict[str, Any], subjects: list[str]) -> None:
    lines = room.call("git_log", format="short", **arguments).text.splitlines()

    assert [line.strip() for line in lines if line.startswith("    ")] == subjects


def test_a_name_of_a_file_is_written_as_other_tools_take_it(room: Any, project: Path, person: Any) -> None:
    git(project, "config", "core.quotePath", "true")
    room.write("na\u00efve.txt", "new\n")

    written = room.call("git_status", untracked="all").text.partition("?? ")[2]
    added = room.run("git_add", paths=[written], client=person)

    assert (written, added.text) == ("na\u00efve.txt", "add 'na\u00efve.txt'")


@pytest.mark.parametrize("setting", ["diff.noprefix", "diff.mnemonicPrefix"])
def test_changes_name_a_file_alike_whatever_a_repository_sets(room: Any, project: Path, setting: str) -> None:
    git(project, "config", setting, "true")
    room.write("app.py", "three\n")

    assert room.call("git_diff").text.startswith("diff --git a/app.py b/app.py\n")
    assert "diff --git a/app.py b/app.py\n" in room.call("git_show").text


@pytest.mark.usefixtures("project")
def test_log_shows_changes_if_asked(room: Any) -> None:
    assert "+TWO" in room.call("git_log", patch=True, max_count=1).text
    assert "app.py | 2 +-" in room.call("git_log", stat=True, max_count=1).text
    assert "TWO" not in room.call("git_log", max_count=1).text


def test_log_of_a_deleted_file_shows_its_commits(room: Any, project: Path) -> None:
    git(project, "rm", "--quiet", "docs/guide.md")
    git(project, "commit", "--quiet", "--message=Drop the guide")

    assert "Drop the guide" in room.call("git_log", paths=["docs/guide.md"], max_count=1).text


def test_diff_separates_staged_and_unstaged_changes(room: Any, project: Path) -> None:
    room.write("app.py", "staged\n")
    git(project, "add", "app.py")
    room.write("docs/guide.md", "not staged\n")

    assert "+not staged" in room.call("git_diff").text
    assert "+staged" not in room.call("git_diff").text
    assert "+staged" in room.call("git_diff", staged=True).text
    assert room.call("git_diff", staged=True, paths=["docs"]).text == "(no output)"
    assert room.call("git_diff", revision="topic..v1", summary=True).text.startswith(" app.py | 2 +-")


@pytest.mark.usefixtures("project")
def test_show_gives_a_commit_or_a_file_of_it(room: Any) -> None:
    assert "Shout two" in room.call("git_show").text
    assert "+TWO" in room.call("git_show", object="v1").text
    assert "@@" not in room.call("git_show", summary=True).text
    assert room.call("git_show", object="topic:app.py").text == "one\ntwo"
    assert room.call("git_show", repository="docs", object="v1:./guide.md").text == "guide"


@pytest.mark.usefixtures("project")
def test_blame_shows_the_commit_of_each_line(room: Any) -> None:
    lines = room.call("git_blame", path="app.py").text.splitlines()
    assert [line.split()[0] == lines[0].split()[0] for line in lines] == [True, False]
    assert len(room.call("git_blame", path="app.py", lines="2,+1").text.splitlines()) == 1
    assert "two" in room.call("git_blame", path="app.py", revision="topic").text
    assert room.call("git_blame", path="app.py", lines="1").is_error


@pytest.mark.usefixtures("project")
def test_branch_lists_branches_and_makes_none(room: Any) -> None:
    assert [line[:8].strip() for line in room.call("git_branch").text.splitlines()] == ["* main", "topic"]
    assert "topic" not in room.call("git_branch", contains="v1").text
    assert "topic" in room.call("git_branch", merged="main").text
    assert "main" not in room.call("git_branch", patterns=["to*"]).text
    assert room.call("git_branch", patterns=["new"]).text == "(no output)"
    assert "new" not in room.call("git_branch", all=True).text


# What they change, and who is asked before


def test_add_and_commit_record_the_approved_changes(room: Any, project: Path, person: Any) -> None:
    room.write("app.py", "three\n")
    room.write("-odd name.txt", "odd\n")

    added = room.run("git_add", paths=["app.py", "-odd name.txt"], client=person)
    assert added.text == "add 'app.py'\nadd '-odd name.txt'"
    message = "Count on\n\n# not a comment\nà la carte"
    committed = room.run("git_commit", message=message, client=person)

    assert not committed.is_error
    assert git(project, "log", "-1", "--format=%B") == message
    assert git(project, "status", "--porcelain") == ""
    stage, commit = person.asked
    assert stage.startswith("Stage these files?\n\n$ git --no-pager ")
    assert "add --verbose -- app.py '-odd name.txt'" in stage
    assert f"in {project}" in stage
    assert commit.startswith("Commit what is staged, with this message?")
    assert "Count on" in commit


@pytest.mark.parametrize(
    ("tool", "arguments"), [("git_add", {"paths": ["."]}), ("git_commit", {"message": "Sneak in"})]
)
def test_nothing_is_changed_unasked(room: Any, project: Path, tool: str, arguments: dict[str, Any]) -> None:
    room.write("app.py", "three\n")
    before = head(project)

    answer = room.run(tool, **arguments)

    assert answer.is_error
    assert "needs user approval" in answer.text
    assert (head(project), git(project, "status", "--porcelain")) == (before, "M app.py")


def test_nothing_is_changed_when_a_person_declines(room: Any, project: Path, person: Any) -> None:
    person.action = "decline"
    before = head(project)

    assert "the user declined" in room.run("git_commit", message="No", client=person).text
    assert head(project) == before


@pytest.mark.usefixtures("project")
def test_a_refusal_by_git_is_an_error(room: Any, person: Any) -> None:
    answer = room.run("git_commit", message="Nothing", client=person)

    assert answer.is_error
    assert "nothing to commit" in answer.text
    assert answer.text.endswith("[exit code: 1]")


# What a path cannot do


READING = ("git_status", "git_log", "git_diff", "git_show", "git_branch")


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("tool", READING)
@pytest.mark.parametrize("folder", ["..", "../proj-evil", "/", "~", "link"])
def test_a_folder_outside_of_the_roots_is_refused(room: Any, tool: str, folder: str) -> None:
    git(room.outside, "init", "--quiet")
    (room.project / "link").symlink_to(room.outside)

    answer = room.call(tool, repository=folder)

    assert answer.is_error
    assert "outside the allowed directories" in answer.text


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("git_diff", {"paths": ["../proj-evil/secret.txt", "app.py"]}),
        ("git_diff", {"paths": ["link/secret.txt", "app.py"]}),
        ("git_diff", {"paths": ["/etc/passwd", "/etc/hosts"]}),
        ("git_log", {"paths": ["docs/../../proj-evil"]}),
        ("git_status", {"paths": ["/etc"]}),
        ("git_show", {"paths": [".."]}),
        ("git_blame", {"path": "../proj-evil/secret.txt"}),
        ("git_add", {"paths": ["../proj-evil/secret.txt"]}),
        ("git_add", {"paths": [" "]}),
    ],
)
def test_a_path_outside_of_the_roots_is_refused(room: Any, tool: str, arguments: dict[str, Any]) -> None:
    (room.project / "link").symlink_to(room.outside)

    answer = room.run(tool, **arguments)

    assert answer.is_error
    assert SECRET not in answer.text
    assert "outside the allowed directories" in answer.text or "path is empty" in answer.text


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("git_log", {"revision": "--output=stolen"}),
        ("git_diff", {"revision": "--output=stolen"}),
        ("git_show", {"object": "--output=stolen"}),
        ("git_blame", {"path": "app.py", "revision": "--contents=stolen"}),
        ("git_log", {"changed_text": "--output=stolen"}),
    ],
)
def test_a_value_never_becomes_an_option(room: Any, tool: str, arguments: dict[str, Any]) -> None:
    answer = room.call(tool, **arguments)

    assert answer.is_error
    assert "starts with `-`" in answer.text
    assert not (room.project / "stolen").exists()


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("tool", ["git_log", "git_diff", "git_show", "git_status"])
def test_a_path_never_becomes_an_option_or_a_pattern(room: Any, tool: str) -> None:
    answer = room.call(tool, paths=["--output=stolen", ":(glob)**", "*"])

    assert not answer.is_error
    assert "app.py" not in answer.text
    assert not (room.project / "stolen").exists()


@pytest.mark.usefixtures("mode")
def test_a_repository_that_points_outside_of_the_roots_is_refused(room: Any, project: Path) -> None:
    git(room.outside, "init", "--quiet")
    room.write("sub/.git", f"gitdir: {room.outside / '.git'}\n")
    assert "outside the allowed directories" in room.call("git_log", repository="sub").text

    git(project, "config", "core.worktree", str(room.outside))
    assert "outside the allowed directories" in room.call("git_status").text


def test_a_missing_repository_is_reported(room: Any) -> None:
    answer = room.call("git_status")

    assert answer.is_error
    assert "not a git repository" in answer.text


def test_files_in_no_repository_are_not_compared(room: Any) -> None:
    room.write("a", "a\n")
    room.write("d/a", "b\n")

    assert "not a git repository" in room.call("git_diff", paths=["a", "d/a"]).text
    assert "outside the allowed directories" in room.call("git_diff", paths=["a", str(room.outside / "x")]).text


@pytest.mark.usefixtures("project")
def test_a_missing_directory_is_reported(room: Any) -> None:
    assert "does not exist" in room.call("git_status", repository="nowhere").text


# What the settings of a repository cannot do


def test_settings_of_a_repository_start_no_program(
    room: Any, project: Path, person: Any, canary: Canary, mode: str
) -> None:
    hooks = project / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-index-change"):
        shutil.copy(canary.script, hooks / hook)
    room.write(".gitattributes", "*.py diff=evil\n")
    for setting in (
        *("core.pager", "core.editor", "core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv"),
        *("gpg.program", "pager.log", "pager.diff", "pager.branch", "sequence.editor", "core.askPass"),
    ):
        git(project, "config", setting, str(canary.script))
    for setting in ("commit.gpgSign", "log.showSignature"):
        git(project, "config", setting, "true")
    room.write("app.py", "three\n")

    for tool, arguments in (
        ("git_status", {}),
        ("git_log", {"patch": True}),
        ("git_diff", {}),
        ("git_show", {"object": "v1"}),
        ("git_blame", {"path": "app.py"}),
        ("git_branch", {}),
        ("git_add", {"paths": ["."]}),
        ("git_commit", {"message": "Safe"}),
    ):
        answer = room.run(tool, client=person, **arguments)
        assert answer.is_error == (mode == "off"), (tool, answer.text)
        assert not canary.has_run, tool

    assert git(project, "log", "-1", "--format=%s") == ("Shout two" if mode == "off" else "Safe")


FILTERED: dict[str, dict[str, Any]] = {
    "git_status": {},
    "git_diff": {},
    "git_blame": {"path": "app.py"},
    "git_add": {"paths": ["."]},
    "git_commit": {"message": "Safe"},
}
"""Calls of the tools that look at files."""


@pytest.fixture
def filtered(room: Any, project: Path) -> None:
    """A file that goes through the filter `trap` has changed, but not its size."""
    room.write(".gitattributes", "*.py filter=trap\n")
    room.write("app.py", (project / "app.py").read_text(encoding="utf-8").swapcase())


@pytest.mark.usefixtures("filtered")
@pytest.mark.parametrize("tool", FILTERED)
@pytest.mark.parametrize("kind", ["clean", "process"])
def test_a_filter_that_a_repository_names_is_not_run(
    room: Any, person: Any, canary: Canary, *, mode: str, tool: str, kind: str
) -> None:
    git(room.project, "config", f"filter.trap.{kind}", str(canary.script))

    answer = room.run(tool, client=person, **FILTERED[tool])

    assert not canary.has_run
    if mode != "landlock":
        assert "makes git run a program" in answer.text
        assert person.asked == []


@pytest.mark.usefixtures("filtered")
@pytest.mark.skipif(MODES[0] != "landlock", reason="without Landlock git is looked at first and runs later")
def test_settings_that_change_while_git_runs_start_no_program(room: Any, project: Path, canary: Canary) -> None:
    config = project / ".git" / "config"
    good = config.read_bytes()
    evil = good + f'[filter "trap"]\nclean = {canary.script}\n'.encode()
    is_over = threading.Event()

    def swap() -> None:
        new = config.with_name("config.new")
        while not is_over.is_set():
            for content in (evil, good):
                new.write_bytes(content)
                new.replace(config)

    swapping = threading.Thread(target=swap)
    swapping.start()
    try:
        for _ in range(60):
            assert not room.call("git_diff").is_error
    finally:
        is_over.set()
        swapping.join()

    assert not canary.has_run
    config.write_bytes(evil)
    git(project, "diff")
    assert canary.has_run  # so it would have been found out


@pytest.mark.usefixtures("filtered")
@pytest.mark.parametrize("tool", FILTERED)
def test_a_filter_in_place_of_one_of_the_user_is_refused(
    room: Any, person: Any, canary: Canary, mode: str, tool: str
) -> None:
    git(room.project, "config", "filter.trap.clean", str(canary.script))
    git(room.project, "config", "--global", "filter.trap.clean", "another")

    answer = room.run(tool, client=person, **FILTERED[tool])

    assert "makes git run a program" in answer.text, mode
    assert not canary.has_run
    assert person.asked == []


@pytest.mark.usefixtures("filtered", "mode")
@pytest.mark.parametrize("tool", ["git_status", "git_diff", "git_blame", "git_add"])
@pytest.mark.parametrize("is_local", [True, False])
def test_a_filter_that_the_user_names_is_run(room: Any, person: Any, canary: Canary, tool: str, is_local: bool) -> None:
    for scope in ("--local", "--global") if is_local else ("--global",):
        git(room.project, "config", scope, "filter.trap.clean", f"{canary.script} %f")

    assert not room.run(tool, client=person, **FILTERED[tool]).is_error
    assert canary.has_run


@pytest.mark.usefixtures("filtered")
def test_a_filter_of_the_user_can_store_its_input(room: Any, project: Path, tmp_path: Path, mode: str) -> None:
    storing = tmp_path / "storing"
    storing.write_text(f"#!/bin/sh\nmkdir -p '{project}/.git/store'\ntee '{project}/.git/store/1'\n", encoding="utf-8")
    storing.chmod(0o755)
    git(project, "config", "--global", "filter.trap.clean", str(storing))
    git(project, "config", "--global", "filter.trap.required", "true")

    assert not room.call("git_status").is_error, mode
    assert (project / ".git" / "store" / "1").read_text(encoding="utf-8") == (project / "app.py").read_text("utf-8")


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("tool", ["git_log", "git_show", "git_branch"])
def test_history_can_be_read_whatever_filters_there_are(room: Any, project: Path, tool: str) -> None:
    git(project, "config", "filter.evil.clean", "evil")

    assert not room.call(tool).is_error


@pytest.fixture
def inner(room: Any, project: Path) -> Path:
    """A submodule that is checked out, a file of which has changed, but not its size."""
    git(project, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(project), "inner")
    git(project, "commit", "--quiet", "--message=Hold another")
    room.write("inner/app.py", "ONE\ntwo\n")
    folder: Path = project / "inner"
    return folder


@pytest.mark.parametrize("tool", FILTERED)
def test_the_settings_of_a_submodule_start_no_program(
    room: Any, inner: Path, person: Any, canary: Canary, *, tool: str, held: bool
) -> None:
    git(inner, "config", "filter.evil.clean", str(canary.script))
    (inner / ".gitattributes").write_text("*.py filter=evil\n", encoding="utf-8")

    answer = room.run(tool, client=person, **FILTERED[tool])

    assert not canary.has_run
    assert held or "is a submodule" in answer.text


@pytest.mark.usefixtures("inner")
def test_a_submodule_is_added_and_committed_like_any_file(room: Any, project: Path, person: Any, held: bool) -> None:
    git(project / "inner", "commit", "--quiet", "--all", "--message=On")

    if not held:
        assert "ask the user" in room.run("git_add", paths=["."], client=person).text
        return
    assert room.run("git_add", paths=["."], client=person).text == "add 'inner'"
    assert not room.run("git_commit", message="Take it on", client=person).is_error
    assert git(project, "status", "--porcelain") == ""


@pytest.mark.parametrize(("tool", "arguments"), [("git_show", {}), ("git_log", {"patch": True})])
def test_changes_inside_of_a_submodule_are_shown_by_no_program_of_its(
    room: Any, project: Path, inner: Path, canary: Canary, *, tool: str, arguments: dict[str, Any]
) -> None:
    git(inner, "commit", "--quiet", "--all", "--message=On")
    git(project, "commit", "--quiet", "--all", "--message=Take it on")
    git(project, "config", "diff.submodule", "diff")
    git(inner, "config", "diff.external", str(canary.script))

    assert not room.call(tool, **arguments).is_error
    assert not canary.has_run


@pytest.mark.parametrize(("tool", "arguments"), [("git_show", {}), ("git_log", {}), ("git_show", {"object": "signed"})])
@pytest.mark.parametrize("setting", ["gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.x509.program"])
def test_a_signature_is_checked_by_no_program(
    room: Any, project: Path, canary: Canary, *, held: bool, tool: str, arguments: dict[str, Any], setting: str
) -> None:
    for kind in ("PGP SIGNATURE", "SSH SIGNATURE", "SIGNED MESSAGE"):
        text = git(project, "cat-file", "commit", "HEAD")
        about, _, message = text.partition("\n\n")
        signature = f"gpgsig -----BEGIN {kind}-----\n \n iQ\n -----END {kind}-----"
        made = subprocess.run(
            ["git", "-C", str(project), "hash-object", "-t", "commit", "-w", "--stdin"],
            input=f"{about}\n{signature}\n\n{message}\n",
            encoding="utf-8",
            capture_output=True,
            check=True,
        ).stdout.strip()
        git(project, "reset", "--quiet", "--hard", made)
        git(project, "tag", "--force", "signed", made)
        for name, value in (
            *((setting, str(canary.script)), ("format.pretty", "format:%G? %GS %s"), ("log.showSignature", "true")),
            *(("gpg.format", "openpgp"), ("gpg.ssh.allowedSignersFile", "/dev/null")),
        ):
            git(project, "config", name, value)

        answer = room.call(tool, **arguments)

        assert answer.is_error == (not held), answer.text
        assert ("Author: Ada" in answer.text) == held
        assert not canary.has_run, kind


def test_a_commit_shows_no_file_to_a_program(room: Any, project: Path, person: Any, canary: Canary, held: bool) -> None:
    converter = str(canary.script)
    for name, value in (("commit.verbose", "2"), ("diff.evil.textconv", converter), ("status.submoduleSummary", "1")):
        git(project, "config", name, value)
    room.write(".git/info/attributes", "*.py diff=evil\n")
    room.write("app.py", "three\n")

    expected = "no changes added" if held else "not known to be harmless"
    assert expected in room.run("git_commit", message="Nothing", client=person).text
    assert not canary.has_run


@pytest.mark.usefixtures("mode")
def test_a_commit_ends_no_merge_that_would_run_a_program(room: Any, project: Path, person: Any, canary: Canary) -> None:
    room.write("app.py", "stashed\n")
    stash = git(project, "stash", "create")
    room.write("app.py", "other\n")
    git(project, "commit", "--quiet", "--all", "--message=Other")
    git(project, "config", "merge.evil.driver", str(canary.script))
    room.write(".gitattributes", "*.py merge=evil\n")
    git(project, "add", ".")
    room.write(".git/MERGE_AUTOSTASH", f"{stash}\n")

    assert "ask the user" in room.run("git_commit", message="End", client=person).text
    assert not canary.has_run


@pytest.fixture
def lacking(
    room: Any, project: Path, canary: Canary, *, held: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """A repository that lacks an object and has a remote to fetch it from; whether a sandbox holds git.

    Where none does, git is one that tries to: from before `GIT_NO_LAZY_FETCH`.
    """
    assert canary.script.exists()
    blob = git(project, "rev-parse", "HEAD:app.py")
    (room.project / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    git(project, "config", "remote.a.promisor", "true")
    if not held:
        older = tmp_path / "older" / "git"
        older.parent.mkdir()
        older.write_text(f'#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec {shutil.which("git")} "$@"\n', encoding="utf-8")
        older.chmod(0o755)
        monkeypatch.setenv("PATH", str(older.parent), prepend=os.pathsep)
    return held


@pytest.mark.parametrize("protocol", ["none", "no protocol", "file", "ext", "no"])
def test_missing_objects_do_not_start_a_program(room: Any, lacking: bool, canary: Canary, protocol: str) -> None:
    script = canary.script
    with (room.project / ".git" / "config").open("a", encoding="utf-8") as file:
        file.write(
            f'[remote "a"]\nurl = {protocol}::{script}\n'
            f'[remote "b"]\nurl = /x\npromisor = true\nuploadpack = {script}\n'
            f"[core]\nalternateRefsCommand = {script}\nsshCommand = {script}\ngitProxy = {script}\n"
            f'[alias]\nremote-none = "!{script}"\nremote-no = "!{script}"\n[protocol]\nallow = always\n'
        )

    answer = room.call("git_show")

    # Which of its processes has the last word is not always the same.
    assert re.search("unable to read|not allowed" if lacking else "not known to be harmless", answer.text)
    assert not canary.has_run


@pytest.mark.parametrize("tool", READING)
def test_no_program_takes_the_place_of_a_protocol(room: Any, lacking: bool, canary: Canary, tool: str) -> None:
    for name, value in (("url", "x"), ("vcs", "none")):
        git(room.project, "config", f"remote.a.{name}", value)
    git(room.project, "config", "alias.remote-none", f"!{canary.script}")

    assert lacking or "no sandbox for git" in room.call(tool).text or "run a program" in room.call(tool).text
    assert not canary.has_run


@pytest.mark.parametrize("setting", ["lfs.extension.a.clean", "filter.a.smudge", "remote.a.vcs", "hook.a.command"])
def test_a_program_is_not_run_wherever_a_repository_names_it(
    room: Any, project: Path, canary: Canary, mode: str, setting: str
) -> None:
    git(project, "config", setting, str(canary.script))

    answer = room.call("git_status")

    assert answer.is_error == (mode != "landlock")
    assert mode == "landlock" or setting in answer.text
    assert not canary.has_run


# Where the folder of a repository cannot lead


LINKED = {
    **dict.fromkeys(("HEAD", "index", "packed-refs", "config", "config.worktree", "shallow", "ORIG_HEAD"), "file"),
    **dict.fromkeys(("COMMIT_EDITMSG", "MERGE_MSG", "logs/HEAD", "logs/refs/heads/main", "refs/heads/main"), "file"),
    **dict.fromkeys(("info/exclude", "info/attributes", "info/grafts", "info/sparse-checkout"), "file"),
    **dict.fromkeys(("objects/info/alternates", "objects/pack/x.pack", "rebase-merge/head-name"), "file"),
    **dict.fromkeys(("worktrees/w/gitdir", "MERGE_AUTOSTASH", "rr-cache/x/preimage"), "file"),
    **dict.fromkeys(("refs", "refs/heads", "logs", "objects", "objects/pack", "objects/info", "objects/ab"), "folder"),
    **dict.fromkeys(("info", "worktrees", "rebase-merge", "sequencer", "new"), "folder"),
}
"""What git reads and writes, and what the next git may."""


@pytest.fixture(scope="module")
def private_clone(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with a secret in its last commit."""
    directory = tmp_path_factory.mktemp("clone") / "private"
    git(repository, "clone", "--quiet", "--no-local", str(repository), str(directory))
    (directory / "app.py").write_text(SECRET, encoding="utf-8")
    git(directory, "commit", "--quiet", "--all", f"--message={SECRET}")
    return directory


@pytest.mark.parametrize("name", LINKED)
@pytest.mark.parametrize("is_there", [True, False], ids=["there", "not there"])
def test_no_link_of_a_repository_leads_outside(
    room: Any, project: Path, person: Any, private_clone: Path, *, held: bool, name: str, is_there: bool
) -> None:
    private = room.outside / "private"
    shutil.copytree(private_clone, private, symlinks=True)
    if is_there:
        target = private / ".git" if LINKED[name] == "folder" else room.outside / "secret.txt"
        if LINKED[name] == "folder" and (private / ".git" / name).is_dir():
            target = private / ".git" / name
        if name in {"HEAD", "config", "index"}:
            target = private / ".git" / name
    else:
        target = room.outside / "nothing"
    before = {path: path.read_bytes() for path in room.outside.rglob("*") if path.is_file()}
    replace_by_link(project / ".git" / name, target)

    for tool, arguments in CALLS.items() if held else (UNHELD,):
        answer = room.run(tool, client=person, **arguments)
        assert held or answer.is_error, tool
        assert SECRET not in answer.text

    assert {path: path.read_bytes() for path in room.outside.rglob("*") if path.is_file()} == before
    assert held or person.asked == []


CALLS: dict[str, dict[str, Any]] = {
    **{tool: {} for tool in READING},
    "git_blame": {"path": "app.py"},
    "git_add": {"paths": ["."]},
    "git_commit": {"message": "Written outside"},
}
"""A call of each tool."""
UNHELD = ("git_status", CALLS["git_status"])
"""One that is refused before git runs, as all of them are."""


def replace_by_link(path: Path, target: Path) -> None:
    """Put a link where a file or folder may be."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def test_links_that_stay_inside_are_followed_in_a_sandbox_alone(room: Any, project: Path, held: bool) -> None:
    git(project, "pack-refs", "--all")
    (project / ".git" / "logs").rename(project / "logs")
    (project / ".git" / "logs").symlink_to(project / "logs")
    replace_by_link(project / ".git" / "hooks", room.outside)

    for tool in READING:
        assert room.call(tool).is_error == (not held), tool


@pytest.mark.parametrize("form", ["{}\n", "# more\n\n{}", '"{}"\n', "../../inside/.git/objects\n"])
def test_objects_are_borrowed_from_no_repository_outside(room: Any, project: Path, held: bool, form: str) -> None:
    private = room.outside / "private"
    git(room.outside, "init", "--quiet", str(private))
    (private / "secret.txt").write_text(SECRET, encoding="utf-8")
    git(private, "add", ".")
    git(private, "commit", "--quiet", "--message=Private")
    if "inside" in form:
        git(project, "init", "--quiet", "inside")
        room.write("inside/.git/objects/info/alternates", f"{private}/.git/objects\n")
    room.write(".git/objects/info/alternates", form.format(private / ".git" / "objects"))

    answer = room.call("git_show", object=head(private))

    assert answer.is_error
    assert SECRET not in answer.text
    assert held or "alternates" in answer.text


def test_objects_are_borrowed_inside_of_the_roots_in_a_sandbox_alone(room: Any, project: Path, held: bool) -> None:
    git(project, "clone", "--quiet", "--shared", ".", "clone")

    assert ("Shout two" in room.call("git_log", repository="clone").text) == held


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("tool", CALLS)
def test_a_git_folder_outside_that_borrows_from_inside_is_refused(
    room: Any, project: Path, person: Any, tool: str
) -> None:
    away = room.outside / "away"
    away.mkdir()
    (away / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    (away / "commondir").write_text(f"{project / '.git'}\n", encoding="utf-8")
    room.write("sub/.git", f"gitdir: {away}\n")
    room.write("sub/app.py", "three\n")

    answer = room.run(tool, client=person, repository="sub", **CALLS[tool])

    assert "belongs to a repository outside the allowed directories" in answer.text
    assert not (away / "index").exists()


@pytest.mark.usefixtures("mode")
def test_a_repository_without_files_can_be_read(room: Any, project: Path) -> None:
    git(project, "clone", "--quiet", "--bare", ".", "bare.git")

    for tool in ("git_log", "git_show", "git_branch"):
        assert not room.call(tool, repository="bare.git").is_error, tool


@pytest.mark.usefixtures("mode")
def test_a_linked_working_tree_inside_of_the_roots_can_be_used(room: Any, project: Path, person: Any) -> None:
    git(project, "worktree", "add", "--quiet", "linked", "topic")
    room.write("linked/app.py", "three\n")

    assert room.run("git_add", repository="linked", paths=["app.py"], client=person).text == "add 'app.py'"
    assert not room.run("git_commit", repository="linked", message="There", client=person).is_error
    assert "There" in room.call("git_log", revision="topic").text


def test_a_submodule_outside_the_roots_is_not_disclosed(room: Any, inner: Path, person: Any, held: bool) -> None:
    git(room.outside, "init", "--quiet")
    git(room.outside, "add", ".")
    git(room.outside, "commit", "--quiet", f"--message={SECRET}")
    (inner / ".git").write_text(f"gitdir: {room.outside / '.git'}\n", encoding="utf-8")

    for tool, arguments in FILTERED.items():
        answer = room.run(tool, client=person, **arguments)
        assert held or "is a submodule" in answer.text, tool
        assert head(room.outside)[:7] not in answer.text
        assert SECRET not in answer.text


@pytest.mark.parametrize("tool", FILTERED)
def test_an_index_names_no_file_outside(room: Any, project: Path, person: Any, held: bool, tool: str) -> None:
    room.write("!!/proj-evil/secret.txt", "guess\n")
    git(project, "add", "!!")
    index = project / ".git" / "index"
    body = index.read_bytes()[:-20].replace(b"!!/proj-evil", b"../proj-evil")
    index.write_bytes(body + hashlib.sha1(body, usedforsecurity=False).digest())

    answer = room.run(tool, client=person, **FILTERED[tool])

    assert SECRET not in answer.text
    assert held or "outside of it" in answer.text


# What the settings of a repository cannot lead to


NAMED = (
    *("blame.ignoreRevsFile", "mailmap.file", "core.attributesFile", "core.excludesFile", "diff.orderFile"),
    *("include.path", "includeIf.gitdir:/.path", "what.isNew"),
)


@pytest.mark.parametrize("setting", NAMED)
@pytest.mark.parametrize(
    "form", ["{}", "../../proj-evil/secret.txt", "../link", "~/secret", "%(prefix)/x", "file://{}"]
)
def test_settings_of_a_repository_name_no_file_outside(
    room: Any, project: Path, held: bool, setting: str, form: str
) -> None:
    (project / "link").symlink_to(room.outside / "secret.txt")
    config = project / ".git" / "config"
    section, _, name = setting.rpartition(".")
    section, _, middle = section.partition(".")
    heading = f'[{section} "{middle}"]' if middle else f"[{section}]"
    value = form.format(room.outside / "secret.txt")
    with config.open("a", encoding="utf-8") as file:
        file.write(f"{heading}\n{name} = {value}\n")

    for tool, arguments in CALLS.items() if held else (UNHELD,):
        answer = room.run(tool, **arguments)
        assert held or answer.is_error, tool
        assert SECRET not in answer.text


def test_settings_of_the_user_and_files_inside_may_be_named(
    room: Any, project: Path, tmp_path: Path, held: bool
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("*.log\n", encoding="utf-8")
    for scope in ("--local", "--global"):
        git(project, "config", scope, "core.excludesFile", str(mine))
    room.write("ignored-revisions", f"{head(project)}\n")
    git(project, "config", "blame.ignoreRevsFile", "ignored-revisions")
    room.write("more", "[core]\nabbrev = 12\n")
    git(project, "config", "include.path", "../more")
    git(project, "config", "core.sshCommand", "/usr/bin/ssh -i ~/.ssh/other")
    git(project, "config", "remote.origin.url", "/srv/git/project.git")
    room.write("a.log", "a\n")

    for tool in READING:
        assert room.call(tool).is_error == (not held), tool
    if not held:
        return
    assert "a.log" not in room.call("git_status").text
    assert room.call("git_blame", path="app.py").text.count("Ada") == 2


@pytest.mark.usefixtures("mode")
def test_settings_of_the_user_in_other_files_count(room: Any, project: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "ignored").write_text("*.log\n", encoding="utf-8")
    (mine / "more").write_text(f"[core]\nexcludesFile = {mine / 'ignored'}\n", encoding="utf-8")
    git(project, "config", "--global", "include.path", "../mine/more")
    room.write("a.log", "a\n")

    assert room.call("git_status").text == "## main"


@pytest.mark.usefixtures("mode")
def test_an_unreadable_git_configuration_is_reported(room: Any, project: Path) -> None:
    (project / ".git" / "config").write_text("[core\n", encoding="utf-8")

    assert "bad config line" in room.call("git_log").text


def test_colours_and_columns_of_a_repository_do_not_show(room: Any, project: Path) -> None:
    for setting in ("color.ui", "color.diff", "color.branch", "color.status", "column.ui"):
        git(project, "config", setting, "always")
    room.write("app.py", "three\n")

    for tool in READING:
        assert "\x1b" not in room.call(tool).text, tool


def test_reading_leaves_the_index_as_it_is(room: Any, project: Path) -> None:
    index = project / ".git" / "index"
    room.write("app.py", "one\nTWO\n")  # as it was, but newer: git would note that
    before = index.read_bytes()

    for tool in READING:
        assert not room.call(tool).is_error

    assert index.read_bytes() == before
    assert not (project / ".git" / "index.lock").exists()
