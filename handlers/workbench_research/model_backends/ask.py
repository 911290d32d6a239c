"""Ask a question to the program, with retries and fallback to other models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext

from workbench_research.backends.ask import Slot, ask_with_retries
from workbench_research.backends.question import Answer, Question, Report
from workbench_research.backends.retry import RetryConfig, RetryStatistics
from workbench_research.model_backends.adapter import Adapter, Program
from workbench_research.model_backends.auth import NONE, find_auth
from workbench_research.packages import require_for_questions


async def ask_model(
    question: Question,
    *,
    adapter: Adapter,
    program: Program,
    retry: RetryConfig,
    statistics: RetryStatistics,
    report: Report,
    environ: Mapping[str, str] | None = None,
    slot: Slot = nullcontext,
) -> Answer:
    """Return the answer of the first model that has one; see `ask_with_retries`.

    Each attempt takes a `slot`, which is released during waits.
    """
    from workbench_research.model_backends.attempt import run_attempt

    require_for_questions()

    async def once(model: str) -> Answer:
        async with slot():
            return await run_attempt(adapter, program, question, model, report=report, environ=environ)

    def missing_setup() -> str:
        """Return the setting that is missing, according to settings files and variables; empty if none is."""
        auth = find_auth(os.environ if environ is None else environ, question.directory)
        return auth.hint if auth.configured is False and auth.method != NONE else ""

    return await ask_with_retries(
        question,
        once,
        program=program.name,
        retry=retry,
        statistics=statistics,
        report=report,
        environ=environ,
        missing_setup=missing_setup,
    )
