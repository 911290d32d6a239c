"""Completion: the script each shell gets, and what it then asks for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from toolmason.commands import toolmason


def complete(*words: str) -> list[str]:
    """Ask as bash's script does, with the cursor behind the last of `words`."""
    environ = {
        **os.environ,
        "_TOOLMASON_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["toolmason", *words]),
        "COMP_CWORD": str(len(words)),
    }
    command = [sys.executable, "-m", "toolmason"]
    shown = subprocess.run(command, env=environ, capture_output=True, encoding="utf-8", check=True).stdout
    return [line.partition(",")[2] for line in shown.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_printed_for_each_shell(shell: str) -> None:
    result = CliRunner().invoke(toolmason, ["completion", shell])

    assert result.exit_code == 0
    assert f"_TOOLMASON_COMPLETE={shell}_complete" in result.stdout
    assert result.stderr == ""


def test_unknown_shell_is_a_wrong_command_line() -> None:
    assert CliRunner().invoke(toolmason, ["completion", "cmd"]).exit_code == 2


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_takes_the_script() -> None:
    script = CliRunner().invoke(toolmason, ["completion", "bash"]).stdout
    asked = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\ncomplete -p toolmason"], capture_output=True, encoding="utf-8", check=True
    )

    assert "_toolmason_completion" in asked.stdout
    assert asked.stderr == ""


def test_a_program_that_is_asked_answers_without_running_anything() -> None:
    assert complete("temp") == ["templates"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["gen"], ["generate"]),
        (["generate", "--only", "s"], ["schemas"]),
        (["explain", "tm51"], [f"TM{number}" for number in range(510, 520)]),
        (["templates", "eject", "schemas/anth"], ["schemas/anthropic.json.jinja"]),
        (["completion", "f"], ["fish"]),
    ],
    ids=["command", "choice", "code", "template", "shell"],
)
def test_words_are_completed(words: list[str], expected: list[str]) -> None:
    asked = ShellComplete(toolmason, {}, "toolmason", "_TOOLMASON_COMPLETE")

    assert [item.value for item in asked.get_completions(words[:-1], words[-1])] == expected
