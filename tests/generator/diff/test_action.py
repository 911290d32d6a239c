"""The step of the action that compares contracts: annotations, the summary of the job, and a comment."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

REPOSITORY: Final = Path(__file__).parents[3]
ACTION: Final = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
STEP: Final[dict[str, Any]] = next(step for step in ACTION["runs"]["steps"] if step["name"] == "Compare contracts")
OLD: Final = '[{"name": "find", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]'
MANIFEST: Final = """\
edition = 1

[server]
name = "notes"
package = "notes_server"
handlers = "notes_tools"

[categories.notes]
summary = "Find and change notes"

[tools.find]
summary = "Find notes by words in their text"
category = "notes"
handler = "notes:find"
hints = { read_only = true }
params.text = { type = "string", description = "Words to look for" }
"""


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A directory with a manifest, an older list of its tools, and programs that a runner has."""
    (tmp_path / "manifest").mkdir()
    (tmp_path / "manifest" / "notes.toml").write_text(MANIFEST, encoding="utf-8")
    (tmp_path / "old.json").write_text(OLD, encoding="utf-8")
    program(
        tmp_path / "toolmason-schema" / "bin" / "toolmason", f'exec {shlex.quote(sys.executable)} -m toolmason "$@"'
    )
    program(tmp_path / "bin" / "gh", 'echo "$GH_TOKEN $GH_REPO $*" >> gh.log; cat "$5" >> gh.log')
    return tmp_path


def program(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def acted(runner: Path, *, number: str = "7", **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the step as a runner would: bash, with the inputs as its environment."""
    given = {name: each["default"] for name, each in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    values = {f"inputs.{name}": value for name, value in given.items()}
    values |= {"github.repository": "owner/notes", "github.event.number": number}
    env = {name: values[value.removeprefix("${{ ").removesuffix(" }}")] for name, value in STEP["env"].items()}
    env |= {"RUNNER_TEMP": str(runner), "GITHUB_STEP_SUMMARY": str(runner / "summary.md")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEP["run"]],
        cwd=runner,
        env={**os.environ, "PATH": f"{runner / 'bin'}{os.pathsep}{os.environ['PATH']}", **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_changes_are_annotations_a_summary_and_a_comment(runner: Path) -> None:
    ran = acted(runner, diff="old.json", comment_token="t")
    assert ran.returncode == 1, ran.stderr
    assert re.search(
        r"^::error file=manifest/notes.toml,line=\d+,col=\d+,.*argument-now-required", ran.stdout, re.MULTILINE
    )
    summary = (runner / "summary.md").read_text(encoding="utf-8")
    logged = (runner / "gh.log").read_text(encoding="utf-8")
    assert "breaking" in summary
    first, _, body = logged.partition("\n")
    assert first.startswith("t owner/notes pr comment 7 --body-file ")
    assert first.endswith(" --edit-last --create-if-none")
    assert body == summary


@pytest.mark.parametrize(("token", "number"), [("", "7"), ("t", "")])
def test_without_a_token_or_a_pull_request_there_is_no_comment(runner: Path, token: str, number: str) -> None:
    ran = acted(runner, diff="old.json", comment_token=token, number=number, diff_fail_on="never")
    assert ran.returncode == 0, ran.stderr
    assert not (runner / "gh.log").exists()
    assert (runner / "summary.md").exists()


@pytest.mark.parametrize("text", ["$(touch made)", "`touch made`", "x; touch made", "x' \" ; touch made #", "--help"])
def test_inputs_are_never_run(runner: Path, text: str) -> None:
    """Each reaches the program as a whole: beside `=`, or after `--`."""
    write = ': > "$RUNNER_TEMP/toolmason-diff.md"; printf "%s\\n" "$@" >> arguments'
    (runner / "toolmason-schema" / "bin" / "toolmason").write_text(f"#!/bin/sh\n{write}\n", encoding="utf-8")

    for inputs in ({"diff": text}, {"diff": "old.json", "diff_fail_on": text}):
        assert acted(runner, **inputs).returncode == 0

    arguments = (runner / "arguments").read_text(encoding="utf-8")
    assert arguments.count(f"\n--\n{text}\n") == 2
    assert f"\n--fail-on={text}\n--\nold.json\n" in arguments
    assert not (runner / "made").exists()


def test_the_step_runs_although_a_schema_was_refused_and_only_if_asked() -> None:
    assert STEP["if"] == "${{ !cancelled() && inputs.diff != '' }}"
