"""Checks of the model: what is asked, whether it answers, and the next step for each provider."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from toolmason_runtime import ToolError
from toolmason_runtime.programs import SearchPath

from workbench_research.backends.gemini_cli_home import COMMAND as COMMAND_VARIABLE
from workbench_research.backends.gemini_cli_home import find_program
from workbench_research.backends.keys import RESEARCH, Environ, named
from workbench_research.backends.models import providers
from workbench_research.backends.selection import GEMINI_CLI, INSTALL, names_program, select
from workbench_research.doctor.backends import answer_check, chooses_api, other_checks, selected_check
from workbench_research.doctor.check import Check, printable
from workbench_research.doctor.program import GIT_IGNORE, program_version

COMMAND: Final = "toolmason-workbench doctor"
RUN_DOCTOR: Final = f"`{COMMAND}` checks the setup and prints each fix"

_EXPORT: Final = "$env:{}" if sys.platform == "win32" else "export {}"
_INSTALL: Final = f"""\
Install Gemini CLI, for an API key or an enterprise account (https://github.com/google-gemini/gemini-cli):
  {INSTALL}
If the program is not on PATH, set {COMMAND_VARIABLE} to its path."""
_AUTHENTICATE: Final = f"""\
Option 1: an API key (recommended; billed by use), from {providers()[GEMINI_CLI].key_page}
  {_EXPORT.format("GEMINI_API_KEY")}="your-key-here"
Add that line to ~/.bashrc or ~/.zshrc to keep it.
Option 2: sign in with Google (Gemini Code Assist Standard or Enterprise): run `gemini` and choose it. Personal \
accounts, free or paid, have not been served since 2026-06-18.
Option 3: Vertex AI, see https://geminicli.com/docs/get-started/authentication/"""
_FIXES: Final = {"GEMINI_CLI_NOT_FOUND": f"{_INSTALL}\n{_AUTHENTICATE}", "AUTH_MISSING": _AUTHENTICATE}
"""What to do about an error of the Gemini CLI, by its code."""


def setup_problem(environ: Environ, directory: Path) -> Check | None:
    """Return the check that makes research tools fail in `directory`; None if none does.

    No program is run, and no server and no key store is asked.
    """
    if chooses_api(environ):
        return None
    narrowed = SearchPath.of(environ, (directory,)).narrow(environ)
    is_named = names_program(environ)
    if not is_named and find_program(narrowed):
        return None  # the key store, which takes time, may have a key for it
    if not is_named:
        message = "set a key, such as GEMINI_API_KEY, ANTHROPIC_API_KEY or OPENAI_API_KEY"
        return Check("backend", "error", f"no model can be asked: {message}", RUN_DOCTOR, "AUTH_MISSING")
    try:
        select({**narrowed, RESEARCH: named(environ)[0] or GEMINI_CLI})
    except ToolError as error:
        message = f"research tools cannot answer: {printable(error.message, environ)}"
        return Check("backend", "error", message, RUN_DOCTOR, error.code)
    return None


def run_checks(environ: Environ, directory: Path, reason_not_to_ask: Callable[[], str]) -> Iterator[Check]:
    """Run the checks in order, each as the caller asks for it.

    `reason_not_to_ask` is called just before the model would be asked, which costs money; it returns why not, or an
    empty string.
    """
    narrowed = SearchPath.of(environ, (directory,)).narrow(environ)
    is_program = names_program(environ)
    try:
        selected = select(narrowed)
    except ToolError as error:
        fix = _FIXES.get(error.code, "") if is_program else ""
        yield Check("backend", "error", printable(error.message, environ), fix, error.code)
        yield Check("answer", "skipped", "not asked: there is nothing to ask")
        yield from other_checks(narrowed)
        return
    is_program = selected.provider.name == GEMINI_CLI
    yield selected_check(selected)
    is_usable = True
    if is_program:
        check = _program_check(narrowed)
        is_usable = check.status == "ok"
        yield check
        yield Check("gitignore", "warning", GIT_IGNORE)
    if is_usable:
        yield answer_check(selected, narrowed, reason_not_to_ask, _FIXES if is_program else {})
    else:
        yield Check("answer", "skipped", "not asked: the program cannot be used")
    yield from other_checks(narrowed)


def _program_check(environ: Environ) -> Check:
    import anyio

    program = find_program(environ)
    try:
        version = anyio.run(partial(program_version, program, environ))
    except ToolError as error:
        return Check("program", "error", printable(error.message, environ), _INSTALL, error.code)
    return Check("program", "ok", f"Gemini CLI {version} at {program}")
