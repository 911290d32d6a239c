"""Checks of the program, its account and the model."""

from __future__ import annotations

import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from toolmason_runtime import ToolError

from workbench_research.doctor.backends import answer_check, chooses_api, other_checks, selected_check
from workbench_research.doctor.check import Check
from workbench_research.model_backends.auth import KEY_PAGE, TITLES, Auth, find_auth
from workbench_research.model_backends.selection import (
    COMMAND as COMMAND_VARIABLE,
)
from workbench_research.model_backends.selection import (
    PROGRAM,
    backend_problem,
    configured_command,
    find_executable,
    without_project_paths,
)
from workbench_research.model_backends.user_settings import (
    GIT_IGNORE_SETTING,
    Environ,
    display_path,
    is_git_ignore_respected,
    user_settings,
)

if TYPE_CHECKING:
    from workbench_research.backends.question import Answer
    from workbench_research.model_backends.adapter import Program

COMMAND: Final = "toolmason-workbench doctor"
INSTALL_GEMINI: Final = "npm install -g @google/gemini-cli"
RUN_DOCTOR: Final = f"`{COMMAND}` checks the setup and prints each fix"
TEST_PROMPT: Final = "This is a test of the connection. Use no tools. Answer with the one word: ready"
TEST_TIMEOUT_S: Final = 120.0

_EXPORT: Final = "$env:{}" if sys.platform == "win32" else "export {}"
_INSTALL: Final = f"""\
Install Gemini CLI, for an API key or an enterprise account (https://github.com/google-gemini/gemini-cli):
  {INSTALL_GEMINI}
If the program is not on PATH, set {COMMAND_VARIABLE} to its path."""
_AUTHENTICATE: Final = f"""\
Option 1: an API key (recommended; billed by use), from {KEY_PAGE}
  {_EXPORT.format("GEMINI_API_KEY")}="your-key-here"
Add that line to ~/.bashrc or ~/.zshrc to keep it.
Option 2: sign in with Google (Gemini Code Assist Standard or Enterprise): run `gemini` and choose it. Personal \
accounts, free or paid, have not been served since 2026-06-18.
Option 3: Vertex AI, see https://geminicli.com/docs/get-started/authentication/"""

# Without running anything


def program_on_path(environ: Environ) -> str | None:
    """Return the path of the executable that settings and PATH select, without running it; None if there is none."""
    return None if backend_problem(environ) else find_executable(configured_command(environ) or PROGRAM, environ)


class Setup(NamedTuple):
    """What can be determined without running a program. `problem` is the check that makes research tools fail."""

    program: str | None
    auth: Auth
    problem: Check | None


def inspect_setup(environ: Environ, directory: Path) -> Setup:
    """Find the executable, and how it would authenticate in `directory`.

    Reads a dozen paths: call it in a thread. PATH of `environ` must not have directories that a project chose.
    """
    program = program_on_path(environ)
    auth = find_auth(environ, directory)
    problem = None
    if program is None:
        message = f"research tools cannot answer: {_missing_program(environ)}"
        problem = Check(
            "program",
            "error",
            message,
            f"to install Gemini CLI: {INSTALL_GEMINI}; {RUN_DOCTOR}",
            _missing_code(environ),
        )
    elif auth.configured is False:
        message = f"research tools cannot answer: `{PROGRAM}` is not authenticated"
        problem = Check("authentication", "error", message, f"{auth.hint}; {RUN_DOCTOR}", "AUTH_MISSING")
    return Setup(program, auth, problem)


def setup_problem(environ: Environ, directory: Path) -> Check | None:
    """Return the check that makes research tools fail in `directory`, without running anything; None if none does."""
    if chooses_api(environ):
        return None
    return inspect_setup(without_project_paths(environ, (directory,)), directory).problem


def _missing_program(environ: Environ) -> str:
    """Return why `program_on_path` found no program."""
    if problem := backend_problem(environ):
        return problem
    if configured_command(environ):
        return f"{COMMAND_VARIABLE} names a program that does not exist"
    return f"`{PROGRAM}` is not on PATH"


def _missing_code(environ: Environ) -> str:
    """Return the error code if `program_on_path` found no program."""
    return "GEMINI_CLI_ERROR" if backend_problem(environ) else "GEMINI_CLI_NOT_FOUND"


# All checks


def run_checks(environ: Environ, directory: Path, reason_not_to_ask: Callable[[], str]) -> Iterator[Check]:
    """Run the checks in order, each as the caller asks for it.

    `reason_not_to_ask` is called just before the model would be asked, which costs money; it returns why not, or an
    empty string.
    """
    narrowed = without_project_paths(environ, (directory,))
    from workbench_research.asking import select

    try:
        selected = select(narrowed)
    except ToolError as error:
        yield Check("backend", "error", _printable(error.message, environ), code=error.code)
        yield from other_checks(narrowed)
        return
    if selected is not None:
        yield selected_check(selected)
        yield answer_check(selected, environ, reason_not_to_ask)
    else:
        yield from _program_checks(environ, narrowed, directory, reason_not_to_ask)
    yield from other_checks(narrowed)


def _program_checks(
    environ: Environ, narrowed: Environ, directory: Path, reason_not_to_ask: Callable[[], str]
) -> Iterator[Check]:
    path = program_on_path(narrowed)
    check, program = _check_program(path, narrowed)
    yield check
    auth = find_auth(environ, directory)
    yield _check_auth(auth)
    yield _check_answer(program, auth, environ, directory, reason_not_to_ask)
    if path and (warning := git_ignore_check(environ)):
        yield warning


def _check_program(path: str | None, environ: Environ) -> tuple[Check, Program | None]:
    """Ask the program for its version and options, as research tools do before their first question."""
    if path is None:
        return Check("program", "error", _missing_program(environ), _INSTALL, _missing_code(environ)), None
    import anyio

    from workbench_research.model_backends.detect import find_program

    try:
        program = anyio.run(partial(find_program, environ, use_stored=False))
    except ToolError as error:
        is_slow = error.details.get("reason") == "TIMEOUT"
        solution = f"wait until the machine is less busy; {RUN_DOCTOR}" if is_slow else _INSTALL
        return Check("program", "error", _printable(error.message, environ), solution, error.code), None
    return Check("program", "ok", f"Gemini CLI {_printable(program.version, environ)} at {program.path}"), program


def _check_auth(auth: Auth) -> Check:
    if auth.configured is False:
        fix = f"{_sentence(auth.hint)}\n{_AUTHENTICATE}"
        return Check("authentication", "error", "not authenticated", fix, "AUTH_MISSING")
    message = f"{TITLES[auth.method]}: {auth.detail}"
    if auth.configured:
        return Check("authentication", "ok", message, _sentence(auth.hint))
    return Check(
        "authentication", "warning", f"{message}; only a question shows whether it works", _sentence(auth.hint)
    )


def _check_answer(
    program: Program | None, auth: Auth, environ: Environ, directory: Path, reason_not_to_ask: Callable[[], str]
) -> Check:
    """Ask the model one short question, in the way of research tools."""
    from workbench_research.backends.retry import RetryConfig

    try:
        RetryConfig.from_environ(environ)
    except ToolError as error:
        return Check("answer", "error", error.message, code=error.code)
    if program is None:
        return _not_asked("there is no program to ask")
    if auth.configured is False:
        return _not_asked("the program is not authenticated")
    if reason := reason_not_to_ask():
        return _not_asked(reason)
    import anyio

    start = time.monotonic()
    try:
        answer = anyio.run(_ask, program, environ, directory)
    except ToolError as error:
        fix = _AUTHENTICATE if error.code == "AUTH_MISSING" else ""
        return Check("answer", "error", _printable(error.message, environ), fix, error.code)
    if not answer.text.strip():
        return Check("answer", "error", "the answer was empty", code="GEMINI_CLI_ERROR")
    tokens = f", {answer.tokens:,} tokens" if answer.tokens else ""
    model = _printable(answer.model, environ) or "the model"
    return Check("answer", "ok", f"{model} answered in {time.monotonic() - start:.1f} s{tokens}")


def _not_asked(reason: str) -> Check:
    return Check("answer", "skipped", f"not asked: {reason}")


async def _ask(program: Program, environ: Environ, directory: Path) -> Answer:
    from workbench_research.backends.question import Question
    from workbench_research.backends.retry import RetryConfig, RetryStatistics
    from workbench_research.model_backends.ask import ask_model
    from workbench_research.model_backends.gemini import GeminiAdapter
    from workbench_research.model_backends.selection import models

    async def report(_text: str) -> None:
        """Ignore progress."""

    question = Question(
        prompt=TEST_PROMPT, directory=directory, models=models("flash", environ), timeout_s=TEST_TIMEOUT_S
    )
    return await ask_model(
        question,
        adapter=GeminiAdapter(),
        program=program,
        retry=RetryConfig(max_attempts=1),
        statistics=RetryStatistics(),
        report=report,
    )


def git_ignore_check(environ: Environ) -> Check | None:
    """Return a warning if Gemini CLI leaves out the files that `.gitignore` names."""
    if not is_git_ignore_respected(environ):
        return None
    message = "Gemini CLI is configured to respect .gitignore patterns. This may prevent analysis of git-ignored files."
    path = display_path(user_settings(environ), environ)
    return Check(
        "gitignore",
        "warning",
        f"{message} To analyze all files, consider setting '{GIT_IGNORE_SETTING}: false' in {path} or using "
        ".geminiignore for selective exclusions.",
        "Ignored files are often node_modules/ (dependencies), dist/ or build/ (compiled output) and .env files "
        f"(configuration). To change the setting, run `gemini`, type /settings and set {GIT_IGNORE_SETTING} = false. "
        "See https://geminicli.com/docs/cli/gemini-ignore/",
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _printable(text: str, environ: Environ) -> str:
    """Return a program's text without secrets, control characters and line breaks."""
    from workbench_research.redaction import redact

    characters = (" " if character in "\r\n\t" else character for character in redact(text, environ))
    # Control characters act on the terminal; format characters can reverse the text that follows.
    return "".join(
        character for character in characters if unicodedata.category(character) not in {"Cc", "Cf", "Cs"}
    ).strip()
