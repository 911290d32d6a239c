"""`toolmason run`, `call` and `inspect`, from any directory of a project."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from toolmason.project import Project

ASKING = """
from notes_server.text.models import CountWordsParams, TextSize
from toolmason_runtime import ToolCall


async def count_words(params: CountWordsParams, call: ToolCall) -> TextSize:
    answer = await call.elicit("Which language?", {"type": "object", "properties": {"language": {"type": "string"}}})
    language = answer["content"]["language"] if answer["action"] == "accept" else "no"
    return TextSize(words=len(language), lines=1, characters=1)
"""


def toolmason(project: Project, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "toolmason", *arguments],
        cwd=project.root / "handlers",
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_call_prints_the_text_of_the_result(project: Project) -> None:
    result = toolmason(project, "call", "count_words", '{"text": "to be"}')

    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"words": 2, "lines": 1, "characters": 5}


def test_call_reads_the_arguments_from_stdin_and_prints_the_whole_result(project: Project) -> None:
    result = toolmason(project, "call", "count_words", "-", "--json", stdin='{"text": "to be"}')

    assert json.loads(result.stdout)["structuredContent"]["words"] == 2


@pytest.mark.uncovered
@pytest.mark.parametrize(
    ("arguments", "code", "output"),
    [
        (["count_words"], 1, "Argument 'text' is required: a string"),
        (["count_wods"], 2, "Unknown tool `count_wods`. Nearest names: `count_words`."),
        (["count_words", "text"], 2, "the arguments are not JSON"),
        (["count_words", "[1]"], 2, "the arguments are a JSON object"),
        (["count_words", r'{"text": "\ud800"}'], 2, "Argument 'text' contains the unpaired surrogate `\\ud800`"),
        (["count_words", '{"text": NaN}'], 2, "Argument 'text' must be a finite number; got nan"),
        (["count_words", '{"text": ' + "[" * 100_000], 2, "the arguments are nested too deeply"),
    ],
)
def test_a_failed_call_reports_the_reason(project: Project, arguments: list[str], code: int, output: str) -> None:
    result = toolmason(project, "call", *arguments)

    assert result.returncode == code
    assert output in result.stdout + result.stderr


def test_a_question_of_a_tool_is_asked_on_the_terminal(project: Project) -> None:
    handler = project.root / "handlers" / "notes" / "text.py"
    handler.write_text(ASKING, encoding="utf-8")
    master, terminal = pty.openpty()
    with os.fdopen(master, "wb", buffering=0) as keyboard:
        keyboard.write(b"German\n")
        command = [sys.executable, "-m", "toolmason", "call", "count_words", '{"text": "a"}']
        result = subprocess.run(
            command, cwd=project.root, stdin=terminal, capture_output=True, encoding="utf-8", check=False
        )
        os.close(terminal)

    assert "Which language?" in result.stderr
    assert json.loads(result.stdout)["words"] == len("German")


def test_a_question_without_a_terminal_is_declined(project: Project) -> None:
    (project.root / "handlers" / "notes" / "text.py").write_text(ASKING, encoding="utf-8")

    result = toolmason(project, "call", "count_words", '{"text": "a"}')

    assert "declined: stdin is not a terminal" in result.stderr
    assert json.loads(result.stdout)["words"] == len("no")


def test_inspect_lists_the_tools_that_a_client_sees(project: Project) -> None:
    shown = toolmason(project, "inspect", "--classic").stdout
    listed = json.loads(toolmason(project, "inspect", "--json", project.manifest.as_posix()).stdout)

    assert "Tools (1)\n  count_words  Measures a text." in shown
    assert [tool["name"] for tool in listed["tools"]] == ["search", "call", "count_words"]


def test_inspect_shows_why_a_server_does_not_start(project: Project) -> None:
    (project.generated / "notes_server" / "__main__.py").write_text("raise SystemExit('no key')\n", encoding="utf-8")

    result = toolmason(project, "inspect")

    assert result.returncode == 2
    assert "no key" in result.stderr


def test_run_finds_the_manifest(project: Project) -> None:
    assert (
        toolmason(project, "run", "--list-tools").stdout
        == "count_words: Count the words, lines and characters of a text\n"
    )


def test_run_and_inspect_choose_one_of_several_manifests(project: Project) -> None:
    other = shutil.copy(project.manifest, project.manifest.with_name("other.toml"))

    refused = toolmason(project, "run", "--list-tools")
    chosen = toolmason(project, "run", "--manifest", str(other), "--list-tools")

    assert "choose one with --manifest FILE" in refused.stderr
    assert chosen.stdout == "count_words: Count the words, lines and characters of a text\n"
    assert toolmason(project, "inspect", "--manifest", str(other)).returncode == 0


def test_the_log_is_text_or_json(project: Project) -> None:
    path = project.root / "handlers" / "notes" / "text.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("words=", "words=1 // 0 + "), encoding="utf-8")

    shown = toolmason(project, "call", "count_words", '{"text": "a"}').stderr
    line = toolmason(project, "call", "count_words", '{"text": "a"}', "--log-format", "json").stderr

    assert "error tool count_words failed\nTraceback (most recent call last):\n" in shown
    assert "ZeroDivisionError" in json.loads(line.splitlines()[-1])["exception"]


def test_projects_may_be_anywhere(project: Project, tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-m", "toolmason", "call", "count_words", '{"text": "a"}', "--manifest", project.manifest],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert json.loads(result.stdout)["words"] == 1


@pytest.mark.parametrize("command", [["call", "count_words"], ["inspect"], ["run"]])
def test_commands_without_generated_files_suggest_generate(project: Project, command: list[str]) -> None:
    shutil.rmtree(project.generated)

    result = toolmason(project, *command)

    assert result.returncode == 2
    fix = "create it with: toolmason generate --manifest manifest/notes.toml"
    assert result.stderr == f"Error: no generated/notes_server/__main__.py; {fix}\n"


def test_a_server_that_ends_is_reported_after_its_own_error(project: Project) -> None:
    (project.generated / "notes_server" / "server.py").write_text("raise SystemExit('no database')\n", "utf-8")

    result = toolmason(project, "call", "count_words", '{"text": "a"}')

    assert result.returncode == 2
    assert result.stderr.endswith("no database\nError: count_words: the server ended before it answered\n")


def test_the_traceback_of_a_failed_import_has_no_frames_of_the_import_system(project: Project) -> None:
    handler = project.root / "handlers" / "notes" / "text.py"
    handler.write_text(f"{handler.read_text('utf-8')}\nimport missing_module\n", encoding="utf-8")

    result = toolmason(project, "call", "count_words", '{"text": "a"}')

    assert result.returncode == 1
    assert "ModuleNotFoundError: No module named 'missing_module'" in result.stderr
    assert "handlers/notes/text.py" in result.stderr
    assert "importlib" not in result.stderr
