"""What `workbench init` finds out: which program there is, how it authenticates, and whether it answers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from toolmason_runtime import ToolError
from toolmason_runtime.programs.access import isolation_warnings

from workbench_handlers.setup.auth import Auth
from workbench_handlers.setup.checks import Place, auth_on, missing, program_on_path
from workbench_handlers.setup.clients import Snippet
from workbench_handlers.setup.configuration import Environ, variables
from workbench_handlers.setup.ignore_warnings import for_setup
from workbench_handlers.setup.terminal import Page, visible

if TYPE_CHECKING:
    from workbench_handlers.model_backends.adapter import Program
    from workbench_handlers.model_backends.question import Answer

TEST_PROMPT: Final = "This is a test of the connection. Use no tools. Answer with the one word: ready"
TEST_S: Final = 120.0
"""Seconds that the test question may take."""
_TICK_S: Final = 0.1
_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_SPINNER: Final = "|/-\\"

Outcome = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Which program there is. `problem` says why it cannot be used, or is empty."""

    name: str = ""
    path: str = ""
    version: str = ""
    problem: str = ""
    program: Program | None = None

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "ok": not self.problem,
            "name": self.name or None,
            "path": self.path or None,
            "version": self.version or None,
            "problem": self.problem or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of the test question. `reason` says why it failed or was not asked, `code` is that of the error."""

    outcome: Outcome
    reason: str = ""
    code: str = ""
    model: str = ""
    seconds: float = 0.0
    tokens: int = 0

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "outcome": self.outcome,
            "reason": self.reason or None,
            "code": self.code or None,
            "model": self.model or None,
            "seconds": round(self.seconds, 3) if self.outcome == "passed" else None,
            "tokens": self.tokens if self.outcome == "passed" else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """All that was found."""

    installation: Installation
    auth: Auth
    trial: Trial
    warnings: tuple[str, ...] = ()
    clients: Mapping[str, Snippet] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Whether there is nothing to fix."""
        return not self.installation.problem and self.auth.configured is not False and self.trial.outcome != "failed"

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON."""
        return {
            "ready": self.is_ready,
            "installation": self.installation.as_data(),
            "authentication": {
                "configured": self.auth.configured,
                "method": self.auth.method,
                "found": self.auth.found or None,
                "hint": self.auth.hint or None,
            },
            "test": self.trial.as_data(),
            "warnings": list(self.warnings),
            "clients": {
                name: {
                    "title": each.title,
                    "file": each.file,
                    "content": each.content,
                    "command": each.command or None,
                    "note": each.note or None,
                }
                for name, each in self.clients.items()
            },
        }


def find_installation(environ: Environ) -> Installation:
    """Find the program and ask it what it is; a research tool does the same when it is first used."""
    place = program_on_path(environ)
    if place is None:
        return Installation(problem=missing(environ))
    import anyio

    from workbench_handlers.model_backends.probing import find

    try:
        program = anyio.run(find, environ)
    except ToolError as error:
        return Installation(name=place.name, path=place.path, problem=_safe(error.message, environ))
    version = _safe(program.version, environ)
    return Installation(name=program.name, path=program.path, version=version, program=program)


def find_auth_of(environ: Environ, folder: Path, installation: Installation) -> Auth:
    """Say how that program would authenticate in `folder`; without one, how Gemini CLI would."""
    place = Place(installation.name, installation.path) if installation.name else None
    return auth_on(environ, folder, place)


def warnings_of(installation: Installation, environ: Environ) -> tuple[str, ...]:
    """Give the warnings about `.gitignore`, which is about Gemini CLI alone, and about a missing sandbox."""
    lines = tuple(for_setup(environ)) if installation.name == "gemini" else ()
    return (*(("\n".join(lines),) if lines else ()), *isolation_warnings(()))


def refused(environ: Environ) -> Trial | None:
    """Say that the settings let nothing be asked; None if they do not."""
    from workbench_handlers.model_backends.retrying import RetryConfig

    try:
        RetryConfig.from_environ(environ)
    except ToolError as error:
        return Trial(outcome="failed", reason=error.message, code=error.code)
    return None


def try_out(program: Program, environ: Environ, folder: Path, page: Page | None = None) -> Trial:
    """Ask the model one short question, in the way that research tools do. `page` shows that time goes by."""
    import anyio

    start = time.monotonic()
    try:
        answer = anyio.run(_ask, program, environ, folder, page)
    except ToolError as error:
        return Trial(outcome="failed", reason=_safe(error.message, environ), code=error.code)
    seconds = time.monotonic() - start
    if not answer.text.strip():
        return Trial(outcome="failed", reason="the answer was empty", code="GEMINI_CLI_ERROR")
    model = _safe(answer.model, environ)
    return Trial(outcome="passed", model=model, seconds=seconds, tokens=answer.tokens)


async def _ask(program: Program, environ: Environ, folder: Path, page: Page | None) -> Answer:
    import anyio

    if page is None or not page.is_terminal:
        return await _answer(program, environ, folder)
    async with anyio.create_task_group() as group:
        group.start_soon(_spin, page)
        outcome: Answer | ToolError
        try:
            outcome = await _answer(program, environ, folder)
        except ToolError as error:
            # The group would hand it on in an exception group.
            outcome = error
        group.cancel_scope.cancel()
    if isinstance(outcome, ToolError):
        raise outcome
    return outcome


async def _answer(program: Program, environ: Environ, folder: Path) -> Answer:
    from workbench_handlers.model_backends.adapters import adapter_for
    from workbench_handlers.model_backends.asking import ask
    from workbench_handlers.model_backends.question import Question
    from workbench_handlers.model_backends.retrying import RetryConfig, RetryStatistics
    from workbench_handlers.research.state import models

    async def report(_text: str) -> None:
        """Say nothing: the line on the terminal shows the time."""

    question = Question(prompt=TEST_PROMPT, folder=folder, models=models("flash", environ), timeout_s=TEST_S)
    return await ask(
        question,
        adapter=adapter_for(program),
        program=program,
        retry=RetryConfig(max_attempts=1),
        statistics=RetryStatistics(),
        report=report,
    )


async def _spin(page: Page) -> None:
    """Show that time goes by, until it is cancelled."""
    import anyio

    start = anyio.current_time()
    wheel = _SPINNER if page.has_marks else _PLAIN_SPINNER
    turn = 0
    with page.status() as status:
        while True:
            status.show(f"  {wheel[turn % len(wheel)]} asking ... {anyio.current_time() - start:.0f} s")
            turn += 1
            await anyio.sleep(_TICK_S)


def _safe(text: str, environ: Environ) -> str:
    """Give what a program said without secrets, also those of its `.env` file, and fit to be printed."""
    from workbench_handlers.model_backends.redaction import redact

    return visible(redact(redact(text, environ), variables(environ).held)).strip()
