"""Checks of the APIs: which one is asked, whether it answers, and the next step for each that is not ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime import ToolError

from workbench_research.backends.keys import named
from workbench_research.backends.models import providers
from workbench_research.backends.selection import GEMINI_CLI, names_program, readiness
from workbench_research.doctor.check import Check, printable

if TYPE_CHECKING:
    from workbench_research.backends.question import Answer
    from workbench_research.backends.selection import Selected

TEST_PROMPT: Final = "This is a test of the connection. Answer with the one word: ready"
_TEST_TIMEOUT_S: Final = 120.0


def chooses_api(environ: Mapping[str, str]) -> bool:
    """Return whether the environment names an API or has a key of one. Nothing is read or asked."""
    name, _ = named(environ)
    if name:
        return name != GEMINI_CLI
    if names_program(environ):
        return False
    return any(environ.get(key, "").strip() for provider in providers().values() for key in provider.keys)


def backend_rows(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the state of each provider as JSON, the ready ones first. It asks local servers: call it in a thread."""
    states = sorted(readiness(environ), key=lambda state: not state.is_ready)
    rows = (
        {"name": state.name, "ready": state.is_ready, "detail": state.detail, "step": state.step} for state in states
    )
    return [{name: value for name, value in row.items() if value != ""} for row in rows]


def selected_check(selected: Selected) -> Check:
    """Return the check of the API that is asked."""
    model = f", model {selected.model}" if selected.model else ""
    key = f"key in {selected.endpoint.key}" if selected.endpoint.key.variable else "without a key"
    if not selected.endpoint.url and not selected.endpoint.key.variable:
        key = "with the account that is signed in"
    return Check("backend", "ok", f"{selected.provider.title} is asked: {key}{model}")


def other_checks(environ: Mapping[str, str]) -> Iterator[Check]:
    """Yield the state of each provider: it can be asked, or the next step for it."""
    for state in readiness(environ):
        detail = f": {state.detail}" if state.detail else ""
        if state.is_ready:
            yield Check(state.name, "ok", f"{state.title} can be asked{detail}", state.step)
        else:
            yield Check(state.name, "skipped", f"{state.title} is not ready{detail}", state.step)


def answer_check(
    selected: Selected, environ: Mapping[str, str], reason_not_to_ask: Callable[[], str], fixes: Mapping[str, str]
) -> Check:
    """Ask the provider one short question, in the way of research tools. `fixes` are instructions by error code."""
    from workbench_research.backends.retry import RetryConfig

    try:
        RetryConfig.from_environ(environ)
    except ToolError as error:
        return Check("answer", "error", error.message, code=error.code)
    if reason := reason_not_to_ask():
        return Check("answer", "skipped", f"not asked: {reason}")
    import anyio

    start = time.monotonic()
    try:
        answer = anyio.run(_ask, selected, environ)
    except ToolError as error:
        return Check("answer", "error", printable(error.message, environ), fixes.get(error.code, ""), error.code)
    seconds = time.monotonic() - start
    return Check(
        "answer", "ok", f"{printable(answer.model, environ)} answered in {seconds:.1f} s, {answer.tokens:,} tokens"
    )


async def _ask(selected: Selected, environ: Mapping[str, str]) -> Answer:
    from pathlib import Path

    from workbench_research.backends.ask import ask_with_retries
    from workbench_research.backends.attempt import ask_once
    from workbench_research.backends.protocol import Options
    from workbench_research.backends.question import Question
    from workbench_research.backends.retry import RetryConfig, RetryStatistics

    backend, title = selected.backend(environ), selected.provider.title

    async def report(_text: str) -> None:
        """Ignore progress."""

    async def attempt(model: str) -> Answer:
        options = Options(model=model, timeout_s=_TEST_TIMEOUT_S)
        return await ask_once(backend, TEST_PROMPT, (), options, title=title, report=report)

    question = Question(prompt=TEST_PROMPT, directory=Path.cwd(), models=selected.models("flash", environ))
    return await ask_with_retries(
        question,
        attempt,
        program=title,
        retry=RetryConfig(max_attempts=1),
        statistics=RetryStatistics(),
        report=report,
        environ=environ,
    )
