"""`workbench init`, run as a person and as a program would run it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from fake_cli import Fake, answered, failed, quota, silent, unauthenticated
from gemini_api import GeminiApi, Say
from gemini_homes import KEY, Home

from workbench_handlers.model_backends.failure_kinds import AttemptError
from workbench_handlers.model_backends.gemini import Gemini
from workbench_handlers.model_backends.probing import find
from workbench_handlers.model_backends.question import Question
from workbench_handlers.model_backends.running import attempt
from workbench_handlers.setup.auth import find_auth
from workbench_handlers.setup.survey import TEST_PROMPT

SECRET = "AIzaSyPlantedSecretThatMustNotLeak012345"
PATIENCE_S = 60.0
"""How long a test waits for what must happen; the machine may be slow."""
CODE = "import sys; from workbench_handlers.setup.wizard import main; sys.exit(main())"

TEXT = {"type": ["string", "null"]}
REPORT_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["ready", "installation", "authentication", "test", "warnings", "clients"],
    "properties": {
        "ready": {"type": "boolean"},
        "installation": {
            "type": "object",
            "additionalProperties": False,
            "required": ["ok", "name", "path", "version", "problem"],
            "properties": {"ok": {"type": "boolean"}, "name": TEXT, "path": TEXT, "version": TEXT, "problem": TEXT},
        },
        "authentication": {
            "type": "object",
            "additionalProperties": False,
            "required": ["configured", "method", "found", "hint"],
            "properties": {
                "configured": {"type": ["boolean", "null"]},
                "method": {"type": "string"},
                "found": TEXT,
                "hint": TEXT,
            },
        },
        "test": {
            "type": "object",
            "additionalProperties": False,
            "required": ["outcome", "reason", "code", "model", "seconds", "tokens"],
            "properties": {
                "outcome": {"enum": ["passed", "failed", "skipped"]},
                "reason": TEXT,
                "code": TEXT,
                "model": TEXT,
                "seconds": {"type": ["number", "null"]},
                "tokens": {"type": ["integer", "null"]},
            },
        },
        "warnings": {"type": "array", "items": {"type": "string"}},
        "clients": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "required": ["title", "file", "content", "command", "note"],
                "properties": {
                    "title": {"type": "string"},
                    "file": {"type": "string"},
                    "content": {"type": "string"},
                    "command": TEXT,
                    "note": TEXT,
                },
            },
        },
    },
}


class Person:
    """Somebody in a project folder, with a home of their own."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.environ = {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "PATH": "/usr/bin:/bin",
            "PYTHONUTF8": "1",
            "TMPDIR": str(folder),
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(folder / "none" / "settings.json"),
        }

    def has(self, program: Fake) -> None:
        """Put a program on PATH."""
        self.environ["PATH"] = f"{program.folder}:{self.environ['PATH']}"

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the command without a terminal."""
        run = subprocess.run(
            [sys.executable, "-c", CODE, *arguments],
            cwd=self.project,
            env={**self.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE_S,
            check=False,
        )
        assert SECRET not in run.stdout + run.stderr
        assert "Traceback" not in run.stderr
        return run

    def report(self, *arguments: str, **variables: str) -> tuple[int, dict[str, Any]]:
        """Run it with `--json`."""
        run = self.run("--json", *arguments, **variables)
        assert not run.stderr
        data: dict[str, Any] = json.loads(run.stdout)
        jsonschema.validate(data, REPORT_SCHEMA)
        return run.returncode, data


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


MakeFake = Callable[..., Fake]


# Nothing there


def test_empty_machine_is_told_what_to_install_and_how_to_sign_in(person: Person) -> None:
    run = person.run()

    assert run.returncode == 1
    for text in (
        "[1/3]",
        "✗ `gemini` is not on PATH",
        "npm install -g @google/gemini-cli",
        "[2/3]",
        "✗ not authenticated",
        "Option 1: an API key",
        'export GEMINI_API_KEY="your-key-here"',
        "2026-06-18",
        "[3/3]",
        "- not asked: there is no program to ask",
        "Not ready yet",
        "run `workbench init` again",
    ):
        assert text in run.stdout
    assert not run.stderr


def test_report_of_an_empty_machine(person: Person) -> None:
    code, data = person.report()

    assert code == 1
    assert data["ready"] is False
    assert data["installation"] == {
        "ok": False,
        "name": None,
        "path": None,
        "version": None,
        "problem": "`gemini` is not on PATH",
    }
    assert data["authentication"]["configured"] is False
    assert data["test"]["outcome"] == "skipped"
    assert len(data["clients"]) == 7


def test_program_that_is_too_old_is_named_with_what_it_lacks(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini", version="0.1.9", help="Usage: gemini [options]\n  -m, --model  Model\n"))

    code, data = person.report(GEMINI_API_KEY=SECRET)

    assert code == 1
    assert "0.1.9" in data["installation"]["problem"]
    assert "stream-json" in data["installation"]["problem"]
    assert data["test"]["reason"] == "there is no program to ask"


def test_program_that_cannot_say_what_it_is_is_told_of(person: Person, fake: MakeFake) -> None:
    program = fake("gemini")
    program.path.write_text(f"#!/bin/sh\necho {SECRET} >&2\nexit 3\n", encoding="utf-8")
    person.has(program)

    run = person.run(GEMINI_API_KEY=SECRET)

    assert run.returncode == 1
    assert "✗" in run.stdout
    assert str(program.path) in run.stdout.replace("\n    ", "")


def test_unknown_backend_is_told_of(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini"))

    code, data = person.report(WORKBENCH_BACKEND="claude", GEMINI_API_KEY=SECRET)

    assert code == 1
    assert "WORKBENCH_BACKEND" in data["installation"]["problem"]


def test_program_without_authentication_is_not_asked(person: Person, fake: MakeFake) -> None:
    program = fake("gemini", answered("ready"))
    person.has(program)

    run = person.run("--yes")

    assert run.returncode == 1
    assert "✓ Gemini CLI 0.61.0" in run.stdout
    assert "- not asked: it is not authenticated" in run.stdout
    assert program.runs == []


# All there


def test_nobody_at_the_terminal_means_no_question_to_the_model(person: Person, fake: MakeFake) -> None:
    program = fake("gemini", answered("ready"))
    person.has(program)

    run = person.run(GEMINI_API_KEY=SECRET)

    assert run.returncode == 0
    assert "- not asked: nobody is there to agree to it" in run.stdout
    assert "Nothing to fix" in run.stdout
    assert program.runs == []


def test_yes_asks_the_model_and_shows_the_next_steps(person: Person, fake: MakeFake) -> None:
    program = fake("gemini", answered("ready", model="gemini-9-flash", tokens=1234))
    person.has(program)

    run = person.run("--yes", GEMINI_API_KEY=SECRET)

    assert run.returncode == 0, run.stdout
    assert "✓ Gemini API key: GEMINI_API_KEY is set in the environment" in run.stdout
    assert "✓ gemini-9-flash answered in" in run.stdout
    assert "1,234 tokens" in run.stdout
    assert "Setup complete" in run.stdout
    assert "! Gemini CLI leaves out what .gitignore names" in run.stdout
    for text in ("claude mcp add workbench -- ", ".vscode/mcp.json", ".gemini/settings.json", '"mcpServers": {'):
        assert text in run.stdout
    assert "codex" in run.stdout
    (asked,) = program.runs
    assert asked.stdin == TEST_PROMPT


def test_report_of_a_machine_that_is_ready(person: Person, fake: MakeFake) -> None:
    program = fake("gemini", answered("ready", model="m", tokens=5))
    person.has(program)

    code, data = person.report("--yes", GEMINI_API_KEY=SECRET)

    assert code == 0
    assert data["ready"] is True
    assert data["installation"] == {
        "ok": True,
        "name": "gemini",
        "path": str(program.path),
        "version": "0.61.0",
        "problem": None,
    }
    assert data["authentication"] == {
        "configured": True,
        "method": "api_key",
        "found": "GEMINI_API_KEY is set in the environment",
        "hint": None,
    }
    assert (data["test"]["outcome"], data["test"]["model"], data["test"]["tokens"]) == ("passed", "m", 5)
    assert len(data["warnings"]) == 1


def test_report_asks_nothing_without_yes(person: Person, fake: MakeFake) -> None:
    program = fake("gemini", answered("ready"))
    person.has(program)

    code, data = person.report(GEMINI_API_KEY=SECRET)

    assert code == 0
    assert data["test"]["outcome"] == "skipped"
    assert "--yes" in data["test"]["reason"]
    assert program.runs == []


def test_no_test_goes_before_yes(person: Person, fake: MakeFake) -> None:
    program = fake("gemini", answered("ready"))
    person.has(program)

    code, data = person.report("--yes", "--no-test", GEMINI_API_KEY=SECRET)

    assert (code, data["test"]["reason"]) == (0, "--no-test was given")
    assert program.runs == []


def test_there_is_no_warning_if_all_files_are_read(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini"))
    settings = person.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"context": {"fileFiltering": {"respectGitIgnore": false}}}', encoding="utf-8")

    _code, data = person.report(GEMINI_API_KEY=SECRET)

    assert data["warnings"] == []


def test_agy_is_used_where_it_is_the_one(person: Person, fake: MakeFake) -> None:
    person.has(fake("agy", answered("ready")))

    run = person.run(WORKBENCH_BACKEND="agy")

    assert run.returncode == 0, run.stdout
    assert "✓ agy 1.1.22 at" in run.stdout
    assert "! Google sign-in: a sign-in would be kept in the system's keyring" in run.stdout
    assert "Run `agy` once" in run.stdout
    assert ".gitignore" not in run.stdout


def test_configuration_of_one_client_can_be_asked_for(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini"))

    run = person.run("--client", "codex", GEMINI_API_KEY=SECRET)
    _code, data = person.report("--client", "codex", "--client", "cursor", GEMINI_API_KEY=SECRET)

    assert "[mcp_servers.workbench]" in run.stdout
    assert "claude mcp add" not in run.stdout
    assert set(data["clients"]) == {"codex", "cursor"}


# The question fails


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        (unauthenticated(), "AUTH_MISSING", "auth"),
        (quota(), "QUOTA_EXCEEDED", "quota"),
        (failed(1, f"it broke: {SECRET} \x1b[31mred\x1b[0m\n"), "GEMINI_CLI_ERROR", ""),
        (silent(), "GEMINI_CLI_ERROR", ""),
    ],
    ids=["no account", "no quota", "a fault that shows a key", "no answer"],
)
def test_question_that_fails_is_told_with_its_reason(
    person: Person, fake: MakeFake, script: list[dict[str, Any]], code: str, words: str
) -> None:
    person.has(fake("gemini", script))

    status, data = person.report("--yes", GEMINI_API_KEY=SECRET, WORKBENCH_FLASH_MODELS="auto")

    assert status == 1
    assert data["ready"] is False
    assert (data["test"]["outcome"], data["test"]["code"]) == ("failed", code)
    assert words in data["test"]["reason"].lower()
    assert data["test"]["reason"].isprintable()


@pytest.mark.parametrize("option", ["--yes", "--no-test"])
def test_settings_that_allow_no_question_are_not_ready(person: Person, fake: MakeFake, option: str) -> None:
    cli = fake("gemini", answered())
    person.has(cli)

    status, data = person.report(option, GEMINI_API_KEY=SECRET, GEMINI_RETRY_MAX_ATTEMPTS="0")

    assert (status, data["ready"], data["test"]["outcome"]) == (1, False, "failed")
    assert "GEMINI_RETRY_MAX_ATTEMPTS" in data["test"]["reason"]
    assert cli.runs == []


def test_account_that_is_refused_is_shown_the_ways_to_authenticate(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini", unauthenticated()))

    run = person.run("--yes", GEMINI_API_KEY=SECRET)

    assert run.returncode == 1
    assert "Option 1: an API key" in run.stdout
    assert "Not ready yet" in run.stdout


def test_secret_of_an_env_file_is_not_shown_either(person: Person, fake: MakeFake) -> None:
    (person.home / ".env").write_text(f"GEMINI_API_KEY={SECRET}\n", encoding="utf-8")
    person.has(fake("gemini", failed(1, f"the key {SECRET} is not good\n")))

    run = person.run("--yes")

    assert run.returncode == 1
    assert "✗" in run.stdout


# The real CLI


def test_real_cli_is_found_and_answers(person: Person, gemini: str, gemini_home: Home, api: GeminiApi) -> None:
    api.will(Say("ready"))
    person.environ = {**gemini_home.environ, "PYTHONUTF8": "1", "WORKBENCH_GEMINI_COMMAND": gemini}

    code, data = person.report("--yes")

    assert (code, data["test"]["outcome"]) == (0, "passed"), data
    assert data["installation"]["name"] == "gemini"
    assert data["authentication"]["configured"] is True
    assert KEY not in json.dumps(data)


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
def test_real_cli_refuses_what_is_said_to_be_missing(
    gemini: str, gemini_home: Home, project: Path, settings: dict[str, Any], variables: dict[str, str]
) -> None:
    gemini_home.set(security={"auth": settings})
    environ = {**gemini_home.without("GOOGLE_GEMINI_BASE_URL"), **variables}
    environ = {name: value for name, value in environ.items() if value}

    async def ask() -> None:
        program = await find({**environ, "WORKBENCH_GEMINI_COMMAND": gemini})
        question = Question(prompt="hi", folder=project, timeout_s=PATIENCE_S)
        await attempt(Gemini(), program, question, "", report=_nobody, environ=environ)

    assert find_auth(environ, project).configured is False
    with pytest.raises(AttemptError) as caught:
        anyio.run(ask)
    assert caught.value.exit_code == 41


async def _nobody(_text: str) -> None:
    """Hear nothing."""


# How it prints


def test_plain_ascii_is_printed_where_there_is_nothing_else(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini"))
    person.project = person.project / "ünï"
    person.project.mkdir()

    run = person.run("--client", "claude-desktop", GEMINI_API_KEY=SECRET, PYTHONUTF8="0", PYTHONIOENCODING="ascii")

    assert run.stdout.isascii()
    assert "[ok] Gemini CLI 0.61.0" in run.stdout


def test_nothing_is_coloured_in_a_file(person: Person) -> None:
    assert "\x1b" not in person.run().stdout


def test_wrong_usage_ends_with_2(person: Person) -> None:
    run = person.run("--client", "emacs")

    assert run.returncode == 2
    assert "workbench init" in run.stderr


def test_reader_that_leaves_early_is_no_failure_to_complain_of(person: Person) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CODE],
        cwd=person.project,
        env=person.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
        process.wait(PATIENCE_S)

    assert said == b""


# At a terminal


class Terminal:
    """The command on a terminal of its own, and a person who reads and types."""

    def __init__(self, person: Person, **variables: str) -> None:
        import pty

        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", CODE],
            cwd=person.project,
            env={**person.environ, "TERM": "xterm-256color", "COLUMNS": "90", **variables},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.seen = ""

    def until(self, text: str) -> None:
        """Read until a text is there."""
        while text not in self.seen:
            more = self._read()
            assert more, self.seen
            self.seen += more

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def end(self) -> int:
        """Read all there is; give the exit status."""
        while more := self._read():
            self.seen += more
        os.close(self._master)
        assert SECRET not in self.seen
        return self.process.wait(PATIENCE_S)

    def _read(self) -> str:
        readable, _, _ = select.select([self._master], [], [], PATIENCE_S)
        assert readable, f"nothing more is said after {self.seen!r}"
        try:
            return os.read(self._master, 65536).decode("utf-8", "replace")
        except OSError:
            return ""  # the other end is closed


needs_terminals = pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")


@needs_terminals
@pytest.mark.parametrize("typed", ["\n", "y\n", "what?\nYES\n"], ids=["enter", "y", "at the second try"])
def test_person_who_agrees_has_the_model_asked(person: Person, fake: MakeFake, typed: str) -> None:
    program = fake("gemini", answered("ready", model="gemini-9-flash"))
    person.has(program)

    terminal = Terminal(person, GEMINI_API_KEY=SECRET)
    terminal.until("[Y/n] ")
    assert program.runs == []
    terminal.type(typed)

    assert terminal.end() == 0
    assert "gemini-9-flash answered in" in terminal.seen
    assert "\x1b[32m✓\x1b[0m" in terminal.seen
    assert "Setup complete" in terminal.seen
    assert len(program.runs) == 1


@needs_terminals
@pytest.mark.parametrize("typed", ["n\n", "\x04"], ids=["no", "the end of input"])
def test_person_who_does_not_agree_is_not_charged(person: Person, fake: MakeFake, typed: str) -> None:
    program = fake("gemini", answered("ready"))
    person.has(program)

    terminal = Terminal(person, GEMINI_API_KEY=SECRET)
    terminal.until("[Y/n] ")
    terminal.type(typed)

    assert terminal.end() == 0
    assert "not asked: you said no" in terminal.seen
    assert program.runs == []


@needs_terminals
def test_person_who_interrupts_ends_it(person: Person, fake: MakeFake) -> None:
    person.has(fake("gemini", answered("ready")))

    terminal = Terminal(person, GEMINI_API_KEY=SECRET)
    terminal.until("[Y/n] ")
    terminal.process.send_signal(2)

    assert terminal.end() == 130
    assert "Traceback" not in terminal.seen


@needs_terminals
def test_colour_can_be_turned_off(person: Person) -> None:
    terminal = Terminal(person, NO_COLOR="1")

    assert terminal.end() == 1
    assert "\x1b[3" not in terminal.seen
