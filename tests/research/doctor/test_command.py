"""`toolmason-workbench doctor`, run over a pipe and at a terminal."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from fake_cli import Fake, answered, failed, quota, silent, unauthenticated
from gemini_api import GeminiApi, Say
from gemini_homes import KEY, Home
from provider_apis import OpenAIApi

from workbench_handlers.doctor.client_files import client_names
from workbench_research.doctor.checks import TEST_PROMPT
from workbench_research.model_backends.attempt import run_attempt
from workbench_research.model_backends.auth import find_auth
from workbench_research.model_backends.detect import find_program
from workbench_research.model_backends.failure_kinds import AttemptError
from workbench_research.model_backends.gemini import GeminiAdapter
from workbench_research.model_backends.question import Question

SECRET = "AIzaSyPlantedSecretThatMustNotLeak012345"
TIMEOUT_S = 60.0
DOCTOR = (sys.executable, "-m", "workbench_server", "doctor")
Report = dict[str, Any]
MakeFake = Callable[..., Fake]


class Person:
    """A user in a project directory, with a home directory and an environment."""

    def __init__(self, directory: Path) -> None:
        self.home, self.project = directory / "home", directory / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.environ = {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "PATH": "/usr/bin:/bin",
            "PYTHONUTF8": "1",
            "TMPDIR": str(directory),
            "WORKBENCH_RESEARCH": "gemini-cli",
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(directory / "none" / "settings.json"),
        }

    def has(self, program: Fake) -> Fake:
        """Put a program on PATH."""
        self.environ["PATH"] = f"{program.directory}:{self.environ['PATH']}"
        return program

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the command without a terminal."""
        run = subprocess.run(
            [*DOCTOR, *arguments],
            cwd=self.project,
            env={**self.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            check=False,
        )
        assert SECRET not in run.stdout + run.stderr
        assert "Traceback" not in run.stderr
        return run

    def report(self, *arguments: str, **variables: str) -> tuple[int, Report, dict[str, Report]]:
        """Run it with `--json`; return the exit code, the report, and its checks by name."""
        run = self.run("--json", *arguments, **variables)
        assert not run.stderr
        report: Report = json.loads(run.stdout)
        assert report.keys() == {"ready", "checks", "clients"}
        for check in report["checks"]:
            assert check.keys() == {"name", "status", "message", "fix", "code"}
            assert check["status"] in {"ok", "warning", "error", "skipped"}
            assert check["message"].isprintable()
        assert (run.returncode == 0) is report["ready"]
        return run.returncode, report, {check["name"]: check for check in report["checks"]}


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


# Something is missing


def test_an_empty_machine_gets_the_commands_to_install_and_authenticate(person: Person) -> None:
    run = person.run()

    assert run.returncode == 1
    for text in (
        "✗ `gemini` is not on PATH",
        "\n      npm install -g @google/gemini-cli\n",
        "https://github.com/google-gemini/gemini-cli",
        "✗ not authenticated",
        "Option 1: an API key",
        '\n      export GEMINI_API_KEY="your-key-here"\n',
        "Option 2: sign in with Google",
        "2026-06-18",
        "Option 3: Vertex AI",
        "- not asked: there is no program to ask",
        "Fix the errors above and run `toolmason-workbench doctor` again.",
    ):
        assert text in run.stdout
    assert not run.stderr
    assert "\x1b" not in run.stdout
    assert max(map(len, run.stdout.splitlines())) <= 80


OLD_HELP = "Usage: gemini [options]\n  -m, --model  Model\n"
BROKEN: dict[str, tuple[dict[str, Any] | None, dict[str, str], str, str, str]] = {
    "nothing": (None, {"GEMINI_API_KEY": SECRET}, "program", "GEMINI_CLI_NOT_FOUND", "`gemini` is not on PATH"),
    "too old": (
        {"version": "0.1.9", "help": OLD_HELP},
        {"GEMINI_API_KEY": SECRET},
        "program",
        "GEMINI_CLI_ERROR",
        "stream-json",
    ),
    "an unknown backend": (
        {},
        {"WORKBENCH_BACKEND": "claude", "GEMINI_API_KEY": SECRET},
        "program",
        "GEMINI_CLI_ERROR",
        "WORKBENCH_BACKEND",
    ),
    "no account": ({}, {}, "authentication", "AUTH_MISSING", "not authenticated"),
    "no attempt allowed": (
        {},
        {"GEMINI_API_KEY": SECRET, "GEMINI_RETRY_MAX_ATTEMPTS": "0"},
        "answer",
        "INTERNAL",
        "GEMINI_RETRY_MAX_ATTEMPTS",
    ),
}


@pytest.mark.parametrize(("program", "variables", "name", "code", "text"), BROKEN.values(), ids=BROKEN.keys())
def test_the_check_that_fails_has_the_code_of_the_error_and_nothing_is_asked(
    person: Person,
    fake: MakeFake,
    *,
    program: dict[str, Any] | None,
    variables: dict[str, str],
    name: str,
    code: str,
    text: str,
) -> None:
    cli = None if program is None else person.has(fake("gemini", answered("ready"), **program))

    exit_code, report, checks = person.report("--yes", **variables)

    assert exit_code == 1
    assert (checks[name]["status"], checks[name]["code"]) == ("error", code)
    assert text in checks[name]["message"]
    assert name == "answer" or checks["answer"]["status"] == "skipped"
    assert set(report["clients"]) == set(client_names())
    assert cli is None or cli.runs == []


def test_a_program_that_fails_is_named_without_the_secret_it_prints(person: Person, fake: MakeFake) -> None:
    program = person.has(fake("gemini"))
    program.path.write_text(f"#!/bin/sh\necho {SECRET} >&2\nexit 3\n", encoding="utf-8")

    exit_code, _, checks = person.report(GEMINI_API_KEY=SECRET)

    assert exit_code == 1
    assert str(program.path) in checks["program"]["message"]


# Nothing is missing


def test_yes_asks_the_model_and_shows_how_to_register_the_server(person: Person, fake: MakeFake) -> None:
    program = person.has(fake("gemini", answered("ready", model="gemini-9-flash", tokens=1234)))

    run = person.run("--yes", GEMINI_API_KEY=SECRET)

    assert run.returncode == 0, run.stdout
    assert f"✓ Gemini CLI 0.61.0 at {program.path}" in run.stdout.replace("\n   ", "")
    assert "✓ Gemini API key: GEMINI_API_KEY is set in the environment" in run.stdout
    assert "✓ gemini-9-flash answered in" in run.stdout
    assert "1,234 tokens" in run.stdout
    assert "! Gemini CLI is configured to respect .gitignore patterns" in run.stdout
    assert "Setup complete." in run.stdout
    for text in ("claude-code: .mcp.json", ".vscode/mcp.json", ".gemini/settings.json", '"mcpServers": {', "codex"):
        assert text in run.stdout
    (asked,) = program.runs
    assert asked.stdin == TEST_PROMPT


NOT_ASKED = {
    "nobody at a terminal": ((), "--yes"),
    "the option": (("--yes", "--no-test"), "not asked: --no-test"),
}


@pytest.mark.parametrize(("options", "reason"), NOT_ASKED.values(), ids=NOT_ASKED.keys())
def test_the_model_is_asked_only_with_consent(
    person: Person, fake: MakeFake, options: tuple[str, ...], reason: str
) -> None:
    program = person.has(fake("gemini", answered("ready")))

    exit_code, _, checks = person.report(*options, GEMINI_API_KEY=SECRET)
    page = person.run(*options, GEMINI_API_KEY=SECRET)

    assert (exit_code, page.returncode) == (0, 0)
    assert checks["answer"]["status"] == "skipped"
    assert reason in checks["answer"]["message"]
    assert "Setup complete." in page.stdout
    assert program.runs == []


def test_ignored_files_that_are_read_give_no_warning(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini"))
    settings = person.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"context": {"fileFiltering": {"respectGitIgnore": false}}}', encoding="utf-8")

    _, _, checks = person.report(GEMINI_API_KEY=SECRET)

    assert "gitignore" not in checks


def test_the_configuration_of_named_clients_is_shown_whatever_is_missing(person: Person) -> None:
    run = person.run("--client", "codex")
    _, report, _ = person.report("--client", "codex", "--client", "cursor")

    assert "[mcp_servers.workbench]" in run.stdout
    assert "claude-code: " not in run.stdout
    assert set(report["clients"]) == {"codex", "cursor"}
    assert report["clients"]["cursor"]["path"] == ".cursor/mcp.json"


def test_init_is_another_name_of_doctor(person: Person) -> None:
    reports = [
        subprocess.run(
            [*DOCTOR[:-1], command, "--json", "--yes", "--client", "codex"],
            cwd=person.project,
            env=person.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        for command in ("doctor", "init")
    ]

    assert reports[0].stdout == reports[1].stdout != ""
    assert [run.returncode for run in reports] == [1, 1]


# The question fails


@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        (unauthenticated(), "AUTH_MISSING", "auth"),
        (quota(), "QUOTA_EXCEEDED", "quota"),
        (failed(1, f"it broke: {SECRET} \x1b[31mred\x1b[0m\n"), "GEMINI_CLI_ERROR", ""),
        (silent(), "GEMINI_CLI_ERROR", ""),
    ],
    ids=["no account", "no quota", "an error that shows a key", "no answer"],
)
def test_a_question_that_fails_has_the_code_of_the_error(
    person: Person, fake: MakeFake, script: list[dict[str, Any]], code: str, text: str
) -> None:
    person.has(fake("gemini", script))
    # A secret is not shown either if only a file has it.
    (person.home / ".env").write_text(f"GEMINI_API_KEY={SECRET}\n", encoding="utf-8")

    exit_code, _, checks = person.report("--yes", WORKBENCH_FLASH_MODELS="auto")

    assert exit_code == 1
    assert (checks["answer"]["status"], checks["answer"]["code"]) == ("error", code)
    assert text in checks["answer"]["message"].lower()
    assert ("Option 1: an API key" in checks["answer"]["fix"]) is (code == "AUTH_MISSING")


# The real CLI


def test_the_real_cli_is_found_and_answers(person: Person, gemini: str, gemini_home: Home, api: GeminiApi) -> None:
    api.will(Say("ready"))
    person.environ = {**gemini_home.environ, "PYTHONUTF8": "1", "WORKBENCH_GEMINI_COMMAND": gemini}

    exit_code, report, checks = person.report("--yes")

    assert exit_code == 0, report
    assert [checks[name]["status"] for name in ("program", "authentication", "answer")] == ["ok"] * 3
    assert KEY not in json.dumps(report)


@pytest.mark.parametrize(
    ("settings", "variables"),
    [
        ({}, {"GEMINI_API_KEY": ""}),
        ({}, {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "some-key"}),
        ({}, {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}),
        ({"selectedType": "vertex-ai"}, {}),
        ({"selectedType": "oauth-personal"}, {}),
        ({"selectedType": "telepathy"}, {}),
    ],
    ids=["nothing", "a Google key alone", "another address", "Vertex AI", "Google", "no method"],
)
def test_the_real_cli_refuses_where_the_check_fails(
    gemini: str, gemini_home: Home, project: Path, settings: dict[str, Any], variables: dict[str, str]
) -> None:
    gemini_home.set(security={"auth": settings})
    environ = {**gemini_home.without("GOOGLE_GEMINI_BASE_URL"), **variables}
    environ = {name: value for name, value in environ.items() if value}

    async def report(_text: str) -> None:
        """Ignore progress."""

    async def ask() -> None:
        program = await find_program({**environ, "WORKBENCH_GEMINI_COMMAND": gemini})
        question = Question(prompt="hi", directory=project, timeout_s=TIMEOUT_S)
        await run_attempt(GeminiAdapter(), program, question, "", report=report, environ=environ)

    assert find_auth(environ, project).configured is False
    with pytest.raises(AttemptError) as caught:
        anyio.run(ask)
    assert caught.value.exit_code == 41


# Output


def test_ascii_is_printed_where_the_encoding_has_nothing_else(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini"))
    person.project = person.project / "ünï"
    person.project.mkdir()

    run = person.run("--client", "claude-desktop", GEMINI_API_KEY=SECRET, PYTHONUTF8="0", PYTHONIOENCODING="ascii")

    assert run.stdout.isascii()
    assert "[ok] Gemini CLI 0.61.0" in run.stdout


def test_wrong_usage_ends_with_2(person: Person) -> None:
    run = person.run("--client", "emacs")

    assert run.returncode == 2
    assert "toolmason-workbench doctor" in run.stderr


def test_a_reader_that_leaves_early_is_not_an_error(person: Person) -> None:
    with subprocess.Popen(
        DOCTOR,
        cwd=person.project,
        env=person.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(TIMEOUT_S)

    assert errors == b""


# At a terminal


class Terminal:
    """The command at a terminal of its own."""

    def __init__(self, person: Person, **variables: str) -> None:
        import pty

        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            DOCTOR,
            cwd=person.project,
            env={**person.environ, "TERM": "xterm-256color", "COLUMNS": "90", **variables},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.output = ""

    def until(self, text: str) -> None:
        """Read until `text` is printed."""
        while text not in self.output:
            more = self._read()
            assert more, self.output
            self.output += more

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> int:
        """Read the rest and return the exit code."""
        while more := self._read():
            self.output += more
        os.close(self._master)
        assert SECRET not in self.output
        return self.process.wait(TIMEOUT_S)

    def _read(self) -> str:
        readable, _, _ = select.select([self._master], [], [], TIMEOUT_S)
        assert readable, f"nothing follows {self.output!r}"
        try:
            return os.read(self._master, 65536).decode("utf-8", "replace")
        except OSError:
            return ""  # the other end is closed


needs_terminals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")


@needs_terminals
@pytest.mark.parametrize(
    ("typed", "is_asked"),
    [("\n", True), ("y\n", True), ("what?\nYES\n", True), ("n\n", False), ("\x04", False)],
    ids=["enter", "y", "yes at the second try", "no", "the end of input"],
)
def test_the_model_is_asked_if_the_user_agrees(person: Person, fake: MakeFake, typed: str, is_asked: bool) -> None:
    program = person.has(fake("gemini", answered("ready", model="gemini-9-flash")))

    terminal = Terminal(person, GEMINI_API_KEY=SECRET)
    terminal.until("[Y/n] ")
    assert program.runs == []
    terminal.type(typed)

    assert terminal.end() == 0
    assert ("gemini-9-flash answered in" if is_asked else "not asked: you declined") in terminal.output
    assert "\x1b[32m✓\x1b[0m" in terminal.output
    assert len(program.runs) == is_asked


@needs_terminals
def test_an_interrupt_ends_it_with_130(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini", answered("ready")))

    terminal = Terminal(person, GEMINI_API_KEY=SECRET)
    terminal.until("[Y/n] ")
    terminal.process.send_signal(2)

    assert terminal.end() == 130
    assert "Traceback" not in terminal.output


@needs_terminals
def test_colour_can_be_turned_off(person: Person) -> None:
    terminal = Terminal(person, NO_COLOR="1")

    assert terminal.end() == 1
    assert "\x1b[" not in terminal.output


def test_the_api_of_a_key_is_asked_and_each_other_provider_has_its_next_step(person: Person) -> None:
    with OpenAIApi() as api:
        settings = {"WORKBENCH_RESEARCH": "openai", "WORKBENCH_RESEARCH_URL": api.url, "WORKBENCH_RESEARCH_KEY": SECRET}
        exit_code, report, checks = person.report("--yes", **settings)

    assert exit_code == 0
    assert report["ready"] is True
    assert checks["backend"]["message"] == "OpenAI API is asked: key in WORKBENCH_RESEARCH_KEY"
    assert re.search(r"answered in .* tokens", checks["answer"]["message"])
    assert "set ANTHROPIC_API_KEY" in checks["anthropic"]["fix"]
    assert (checks["anthropic"]["status"], checks["ollama"]["status"]) == ("skipped", "skipped")
    assert len(api.asked) == 1


def test_without_anything_to_ask_the_next_step_is_a_key(person: Person) -> None:
    exit_code, _, checks = person.report(WORKBENCH_RESEARCH="")

    assert exit_code == 1
    assert "set a key, such as GEMINI_API_KEY" in checks["backend"]["message"]
    assert checks["backend"]["code"] == "AUTH_MISSING"
