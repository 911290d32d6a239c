"""The command tools of Workbench: what is run for each, with which environment, and who is asked before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime.programs.access import SANDBOX
from toolmason_runtime.programs.argv import build_invocation, placements_of
from toolmason_runtime.programs.risk import risk_of
from toolmason_runtime.programs.sandbox import supported
from toolmason_runtime.programs.settings import POLICY, command_tools
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.specs.program import PlacementKind

from workbench_handlers.git import PATHS
from workbench_server.catalogue import CATALOGUE

TOOLS = {tool.name: tool for tool in command_tools(CATALOGUE)}
CORE = {"git_status", "git_log", "git_diff", "git_show", "git_blame", "git_branch"}
NO_FILES = {
    *("object", "patterns", "endpoint", "number"),  # names of revisions, branches, resources
    *("container", "names", "repository"),  # names that Docker gives; `repository` of git is its folder
}
"""Positional parameters, and those that could be taken for files, that name none."""

GIT = "git --no-pager"
STATUS = f"{GIT} -c color.status=false status --short --branch --ignore-submodules=dirty"
HISTORY = (
    "--no-color --decorate=short --date=iso-strict --no-ext-diff --no-textconv --no-show-signature --submodule=short"
)
LOG = f"{GIT} log --fixed-strings {HISTORY}"
DIFF = f"{GIT} diff --no-color --no-ext-diff --no-textconv --submodule=short --ignore-submodules=dirty"
SHOW = f"{GIT} show {HISTORY} --pretty=medium"
BLAME = f"{GIT} blame --no-textconv --date=short"
BRANCH = f"{GIT} branch --list --no-color --no-column -vv"
LISTED = "--state=open --limit=30"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("git_status", {}, f"{STATUS} --untracked-files=normal --"),
        ("git_status", {"untracked": "no", "paths": ["a", "-b"]}, f"{STATUS} --untracked-files=no -- a -b"),
        ("git_log", {}, f"{LOG} --max-count 20 --pretty=medium --"),
        (
            "git_log",
            {"max_count": 3, "skip": 6, "format": "oneline", "author": "-A", "since": "2.weeks", "until": "now"},
            f"{LOG} --max-count 3 --skip 6 --pretty=oneline --author=-A --since=2.weeks --until=now --",
        ),
        (
            "git_log",
            {"message": "fix", "changed_text": "x", "stat": True, "patch": True, "revision": "a..b", "paths": ["-p"]},
            f"{LOG} --max-count 20 --pretty=medium --grep=fix -S x --stat --patch --end-of-options a..b -- -p",
        ),
        ("git_diff", {}, f"{DIFF} --"),
        (
            "git_diff",
            {"staged": True, "summary": True, "context_lines": 0, "ignore_space": True, "revision": "v1"},
            f"{DIFF} --cached --stat --unified=0 --ignore-all-space --end-of-options v1 --",
        ),
        ("git_diff", {"paths": ["a", "b"]}, f"{DIFF} -- a b"),
        ("git_show", {}, f"{SHOW} --end-of-options HEAD --"),
        (
            "git_show",
            {"object": "v1:a.py", "summary": True, "paths": ["a"]},
            f"{SHOW} --stat --end-of-options v1:a.py -- a",
        ),
        ("git_blame", {"path": "a.py"}, f"{BLAME} -- a.py"),
        (
            "git_blame",
            {"path": "a.py", "lines": "1,+5", "ignore_space": True, "revision": "v1"},
            f"{BLAME} -L 1,+5 -w --root v1 -- a.py",
        ),
        ("git_branch", {}, f"{BRANCH} --"),
        (
            "git_branch",
            {"all": True, "contains": "v1", "merged": "main", "patterns": ["f/*"]},
            f"{BRANCH} --all --contains=v1 --merged=main -- f/*",
        ),
        ("git_add", {"paths": ["a", "-f"]}, f"{GIT} add --verbose -- a -f"),
        ("git_commit", {"message": "-m"}, f"{GIT} commit --file=- --cleanup=whitespace --no-gpg-sign"),
        ("gh_pr_list", {}, f"gh pr list {LISTED}"),
        (
            "gh_pr_list",
            {"repo": "o/r", "state": "all", "limit": 5, "author": "@me", "labels": ["a", "b"], "search": "x"},
            "gh pr list --repo=o/r --state=all --limit=5 --author=@me --label=a --label=b --search=x",
        ),
        ("gh_pr_view", {"number": 7, "comments": True, "repo": "o/r"}, "gh pr view 7 --repo=o/r --comments"),
        ("gh_issue_list", {}, f"gh issue list {LISTED}"),
        (
            "gh_issue_list",
            {"assignee": "@me", "author": "-x", "labels": ["bug"], "search": "-label:a"},
            f"gh issue list {LISTED} --assignee=@me --author=-x --label=bug --search=-label:a",
        ),
        ("gh_issue_view", {"number": 42}, "gh issue view 42"),
        ("gh_api", {"endpoint": "user"}, "gh api user --method=GET"),
        (
            "gh_api",
            {"endpoint": "user", "method": "POST", "fields": ["a=@/etc/passwd", "-b=c"], "paginate": True},
            "gh api user --method=POST --raw-field=a=@/etc/passwd --raw-field=-b=c --paginate",
        ),
        ("docker_ps", {}, "docker ps"),
        (
            "docker_ps",
            {"all": True, "filters": ["status=exited", "-x"]},
            "docker ps --all --filter=status=exited --filter=-x",
        ),
        ("docker_images", {}, "docker images"),
        (
            "docker_images",
            {"all": True, "filters": ["dangling=true"], "repository": "alpine:3"},
            "docker images alpine:3 --all --filter=dangling=true",
        ),
        ("docker_logs", {"container": "web"}, "docker logs web --tail=200"),
        (
            "docker_logs",
            {"container": "web", "tail": 5, "since": "10m", "timestamps": True},
            "docker logs web --tail=5 --since=10m --timestamps",
        ),
        ("docker_inspect", {"names": ["a", "b"]}, "docker inspect a b"),
        ("docker_inspect", {"names": ["-f"], "type": "image"}, "docker inspect --type=image -- -f"),
        ("word_count", {"paths": ["a", "-l"]}, "wc -- a -l"),
        ("word_count", {"lines": True, "words": True, "bytes": True, "paths": ["a"]}, "wc -l -w -c -- a"),
        ("disk_usage", {"paths": ["a"]}, "du -k -d 1 -- a"),
        ("disk_usage", {"max_depth": 0, "paths": ["a", "-a"]}, "du -k -d 0 -- a -a"),
        ("disk_free", {"paths": ["a"]}, "df -k -P -- a"),
    ],
)
def test_a_call_becomes_this_command_line(tool: str, arguments: dict[str, Any], expected: str) -> None:
    assert " ".join(build_invocation(TOOLS[tool], arguments, environ={}).argv) == expected


def test_a_message_goes_to_the_program_and_not_onto_its_command_line() -> None:
    found = build_invocation(TOOLS["git_commit"], {"message": "One\n\nTwo"}, environ={})

    assert found.stdin == "One\n\nTwo"
    assert "One" not in " ".join(found.argv)


def test_every_parameter_that_names_files_is_guarded() -> None:
    unknown = {
        (tool.name, each.name)
        for tool in TOOLS.values()
        for each in placements_of(tool)
        if each.place is PlacementKind.POSITIONAL and each.name not in PATHS | NO_FILES
    }
    assert unknown == set()


def test_reading_tools_of_git_are_served_by_default_and_the_others_with_all() -> None:
    tiers = {name: CATALOGUE["tools"][name]["tier"] for name in TOOLS}

    assert {name for name, tier in tiers.items() if tier == "core"} == CORE
    assert tiers.keys() > CORE


@pytest.mark.parametrize(("runner", "is_read_only"), [("call", False), ("call_read", True)])
def test_call_read_is_read_only_call_may_change_files_and_both_may_ask_a_model_far_away(
    room: Any, runner: str, is_read_only: bool
) -> None:
    listed = room.request("tools/list", {}, Selection("search-call"))["tools"]
    (hints,) = [tool["annotations"] for tool in listed if tool["name"] == runner]

    # The defaults of MCP: a tool that is listed without a hint changes files, destroys and acts in an open world.
    told = {"readOnlyHint": False, "destructiveHint": not is_read_only, "openWorldHint": True, **hints}
    assert (told["readOnlyHint"], told["destructiveHint"], told["openWorldHint"]) == (
        is_read_only,
        not is_read_only,
        True,
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "risk"),
    [
        *((name, {}, "write" if name in {"git_add", "git_commit"} else "read") for name in TOOLS if name != "gh_api"),
        ("gh_api", {}, "read"),
        ("gh_api", {"method": "HEAD"}, "read"),
        ("gh_api", {"method": "POST"}, "write"),
        ("gh_api", {"method": "PUT"}, "write"),
        ("gh_api", {"method": "PATCH"}, "write"),
        ("gh_api", {"method": "DELETE"}, "destructive"),
    ],
)
def test_a_call_has_this_risk(tool: str, arguments: dict[str, Any], risk: str) -> None:
    assert risk_of(TOOLS[tool], arguments, environ={}) == risk


# Run with programs that note what they are given


Recorded = Callable[..., dict[str, Any]]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """Put programs of these names onto PATH; give how the one that ran was called, and how often."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gh", "docker", "wc", "du", "df"):
        script = folder / name
        script.write_text(
            f"#!{sys.executable} -IS\nimport json, os, sys\n"
            f"with open({str(folder / 'calls')!r}, 'a') as file:\n"
            "    print(json.dumps({'argv': sys.argv[1:], 'cwd': os.getcwd(), 'env': dict(os.environ)}), file=file)\n"
            "print('done')\n",
            encoding="utf-8",
        )
        script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.delenv(POLICY, raising=False)
    monkeypatch.setenv(SANDBOX, "off")  # they write down how they were called, which none of the real ones may

    def calls() -> dict[str, Any]:
        lines = (folder / "calls").read_text(encoding="utf-8").splitlines() if (folder / "calls").exists() else []
        return {"count": len(lines), **(json.loads(lines[-1]) if lines else {})}

    return calls


def test_gh_runs_in_the_clone_without_asking_or_paging(
    room: Any, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "for gh alone")
    monkeypatch.setenv("SECRET", "for nobody")
    (room.project / "clone").mkdir()

    assert room.run("gh_pr_list", directory="clone").text == "done"

    call = recorded()
    assert call["argv"] == ["pr", "list", *LISTED.split()]
    assert call["cwd"] == str(room.project / "clone")
    assert (call["env"]["GH_PROMPT_DISABLED"], call["env"]["GH_PAGER"]) == ("1", "cat")
    assert call["env"]["GH_TOKEN"] == "for gh alone"
    assert "SECRET" not in call["env"]


@pytest.mark.skipif(not supported(), reason="nothing confines programs here")
def test_gh_may_run_git_and_read_the_clone_alone(room: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "programs" / "gh"
    script.parent.mkdir()
    script.write_text(f"#!/bin/sh\ngit init -q x; git --version; cat .git/HEAD; cat {room.outside}/secret.txt\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    monkeypatch.delenv(SANDBOX, raising=False)
    subprocess.run(["git", "init", "--quiet", str(room.project)], check=True)

    said = room.run("gh_pr_list").text

    assert "git version" in said
    assert "secret outside" not in said
    assert not (room.project / "x").exists()


@pytest.mark.parametrize("tool", ["gh_pr_list", "gh_issue_list"])
def test_gh_runs_in_no_folder_outside_of_the_roots(room: Any, recorded: Recorded, tool: str) -> None:
    answer = room.run(tool, directory=str(room.outside))

    assert "outside the allowed directories" in answer.text
    assert recorded()["count"] == 0


@pytest.mark.parametrize("tool", ["gh_pr_list", "gh_issue_list", "gh_pr_view", "gh_issue_view"])
@pytest.mark.parametrize(
    "repo",
    [
        "evil.example/o/n",
        "https://evil.example/o/n",
        "git@evil.example:o/n",
        "o",
        "o/n/x",
        "o/",
        "o/..",
        "-o/n",
        "o/n\n",
    ],
)
def test_gh_goes_to_no_host_that_a_call_names(room: Any, recorded: Recorded, tool: str, repo: str) -> None:
    number = {"number": 1} if tool.endswith("_view") else {}

    assert room.run(tool, repo=repo, **number).is_error
    assert recorded()["count"] == 0


@pytest.mark.parametrize("tool", ["gh_pr_list", "gh_api"])
def test_gh_looks_at_no_repository_outside_of_the_roots(room: Any, recorded: Recorded, tool: str) -> None:
    subprocess.run(["git", "init", "--quiet", str(room.outside)], check=True)
    room.write("clone/.git", f"gitdir: {room.outside / '.git'}\n")
    endpoint = {"endpoint": "user"} if tool == "gh_api" else {}

    answer = room.run(tool, directory="clone", **endpoint)

    assert "belongs to a repository outside the allowed directories" in answer.text
    assert recorded()["count"] == 0


def test_gh_refuses_a_host_from_the_git_configuration(room: Any, recorded: Recorded) -> None:
    subprocess.run(["git", "init", "--quiet", str(room.project)], check=True)
    setting = ["git", "-C", str(room.project), "config", "remote.origin.gh-resolved"]
    for resolved, is_error in (("base", False), ("cli/cli", False), ("evil.example/o/n", True)):
        subprocess.run([*setting, resolved], check=True)
        assert room.run("gh_pr_list").is_error is is_error

    assert recorded()["count"] == 2


@pytest.mark.parametrize(
    "endpoint",
    [
        *("user", "/user", "repos/{owner}/{repo}/releases?per_page=5", "repos/o/r/compare/main...ada:topic"),
        *("search/issues?q=repo:cli/cli+crash", "repos/o/r/contents/a%20b.md"),
    ],
)
def test_gh_api_takes_paths(room: Any, recorded: Recorded, endpoint: str) -> None:
    assert room.run("gh_api", endpoint=endpoint).text == "done"
    assert recorded()["argv"] == ["api", endpoint, "--method=GET"]


@pytest.mark.parametrize(
    "endpoint", ["https://example.org/", "HTTP://example.org", "--hostname=example.org", "//x", ""]
)
def test_gh_api_takes_no_other_address(room: Any, recorded: Recorded, endpoint: str) -> None:
    assert room.run("gh_api", endpoint=endpoint).is_error
    assert recorded()["count"] == 0


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_gh_api_asks_before_it_changes_something(room: Any, recorded: Recorded, person: Any, method: str) -> None:
    unasked = room.run("gh_api", endpoint="user/keys", method=method)
    assert "needs user approval" in unasked.text
    assert recorded()["count"] == 0

    assert room.run("gh_api", endpoint="user/keys", method=method, client=person).text == "done"
    assert recorded()["count"] == 1
    assert f"$ gh api user/keys --method={method}" in person.asked[0]


def test_docker_gets_docker_host(room: Any, recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/user/1000/docker.sock")

    assert room.run("docker_logs", container="web", tail=5).text == "done"

    call = recorded()
    assert call["argv"] == ["logs", "web", "--tail=5"]
    assert call["env"]["DOCKER_HOST"] == "unix:///run/user/1000/docker.sock"


@pytest.mark.parametrize("container", ["--follow", "a b", "", "a\nb"])
def test_docker_takes_no_option_for_a_container(room: Any, recorded: Recorded, container: str) -> None:
    assert room.run("docker_logs", container=container).is_error
    assert recorded()["count"] == 0


@pytest.mark.parametrize("tool", ["word_count", "disk_usage", "disk_free"])
def test_files_are_named_by_where_they_really_are(room: Any, recorded: Recorded, tool: str) -> None:
    room.write("docs/a.txt", "a\n")
    (room.project / "link").symlink_to(room.project / "docs")

    assert room.run(tool, paths=["link/a.txt", "."]).text == "done"
    assert recorded()["argv"][-3:] == ["--", str(room.project / "docs" / "a.txt"), str(room.project)]


@pytest.mark.parametrize("tool", ["word_count", "disk_usage", "disk_free"])
@pytest.mark.parametrize("path", ["../proj-evil/secret.txt", "/etc/passwd", "link/secret.txt", "~", ""])
def test_files_outside_of_the_roots_are_refused(room: Any, recorded: Recorded, tool: str, path: str) -> None:
    (room.project / "link").symlink_to(room.outside)
    room.write("a.txt", "a\n")

    answer = room.run(tool, paths=["a.txt", path])

    assert answer.is_error
    assert recorded()["count"] == 0


def test_files_are_counted_and_measured(room: Any) -> None:
    room.write("a.txt", "one two\nthree\n")

    assert room.run("word_count", paths=["a.txt"]).text.split() == ["2", "3", "14", str(room.project / "a.txt")]
    assert room.run("word_count", words=True, paths=["a.txt"]).text.split()[0] == "3"
    assert room.run("disk_usage", paths=["."]).text.endswith(str(room.project))
    assert "1024" in room.run("disk_free", paths=["."]).text.splitlines()[0]


def test_a_missing_program_is_reported(room: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(room.project))

    assert 'the program "gh" is not installed' in room.run("gh_pr_view", number=1).text


def test_paths_in_a_container_are_passed_unchanged(
    room: Any, recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'default = "enabled"\nexecutor = "docker"\n[docker]\nimage = "alpine/git"\nvolumes = ["/srv/code:/code:ro"]\n',
        encoding="utf-8",
    )
    monkeypatch.setenv(POLICY, str(policy))

    assert room.run("git_log", repository="/code", paths=["a.py"]).text == "done"

    argv = recorded()["argv"]
    assert argv[argv.index("-w") + 1] == "/code"
    assert argv[-3:] == ["--pretty=medium", "--", "a.py"]


def test_a_policy_is_held_against_the_paths_that_a_program_is_given(
    room: Any, recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(
        f"default = 'enabled'\n[tools.word_count.args]\npaths = {{ pattern = '{room.project}/docs/.*' }}\n",
        encoding="utf-8",
    )
    monkeypatch.setenv(POLICY, str(policy))
    room.write("docs/a.txt", "a\n")
    (room.project / "a.txt").symlink_to(room.project / "docs" / "a.txt")

    assert room.run("word_count", paths=["a.txt"]).text == "done"
    assert "Not allowed by the policy" in room.run("word_count", paths=["docs/../b.txt"]).text
    assert recorded()["count"] == 1
