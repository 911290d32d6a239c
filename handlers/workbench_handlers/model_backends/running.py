"""One attempt: a program is started with a question, followed while it works, and ended with all it has started."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from toolmason_runtime import ToolError
from toolmason_runtime.programs import Command, Process, ended_whole, follow

from workbench_handlers.model_backends.adapter import Adapter, Program
from workbench_handlers.model_backends.logs import record
from workbench_handlers.model_backends.private_directories import private_folder
from workbench_handlers.model_backends.question import Answer, Question, Report
from workbench_handlers.model_backends.run_state import Observed

BREATH_S: Final = 0.4
"""Seconds between two reports at least."""

PREPARED_S: Final = 30.0
"""Seconds that all may take before the program is started."""

MAX_OUTPUT_BYTES: Final = 512 * 1024 * 1024
"""A program that writes more is ended: it would go on forever."""

_UMASK: Final = 0o077
"""Files of the program are private."""

_log = logging.getLogger(__name__)


async def attempt(
    adapter: Adapter,
    program: Program,
    question: Question,
    model: str,
    *,
    report: Report,
    environ: Mapping[str, str] | None = None,
) -> Answer:
    """Ask a model once. `environ` is the server's environment (None: that of this process).

    When it returns or is cancelled, nothing of the program runs any more, and no file of it is left.

    Raises:
        AttemptError: there was no whole answer.
        ToolError: it could not be started, or must not be asked.
    """
    given = dict(os.environ if environ is None else environ)
    return await ended_whole(
        lambda scope: _carried_out(adapter, program, question, model, report=report, environ=given, scope=scope)
    )


async def _carried_out(
    adapter: Adapter,
    program: Program,
    question: Question,
    model: str,
    *,
    report: Report,
    environ: dict[str, str],
    scope: anyio.CancelScope,
) -> Answer:
    directory = private_folder()
    path = await anyio.to_thread.run_sync(directory.__enter__)
    try:
        command = await _prepared(
            lambda: adapter.command(program, question, model, environ={**environ, "TMPDIR": path})
        )
        command = replace(command, timeout_s=question.timeout_s, umask=_UMASK)
        real = await anyio.to_thread.run_sync(os.path.realpath, question.folder)
        run = Observed(adapter.reader(), question.folder, Path(real), environ)
        process = Process(run.heard, run.complained, stdout_file=Path(path, "output"), max_bytes=MAX_OUTPUT_BYTES)
        run.stop_waiting = process.stop_waiting
        record(_log, logging.DEBUG, "starting", program=program.path, argv=command.argv)
        started = time.monotonic()
        code = None
        progress = asyncio.create_task(_report_progress(run, report))
        try:
            with scope:
                code = await follow(process, command)
        finally:
            progress.cancel()
            await asyncio.wait([progress])
        run.close()
        run.timed_out = code is None and not run.is_decided and not process.has_written_too_much
        if process.has_written_too_much:
            run.warn(f"it wrote more than {MAX_OUTPUT_BYTES:,} bytes, and was ended")
        return run.outcome(code, model, round((time.monotonic() - started) * 1000))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(directory.__exit__, None, None, None)


async def _prepared(command: Callable[[], Command]) -> Command:
    """Give what to start; a file system that does not answer is not waited for without end."""
    try:
        with anyio.fail_after(PREPARED_S):
            return await anyio.to_thread.run_sync(command, abandon_on_cancel=True)
    except TimeoutError as error:
        message = f"the files that the CLI would read could not be looked at within {PREPARED_S:.0f} s"
        raise ToolError(message, code="GEMINI_CLI_ERROR") from error


async def _report_progress(run: Observed, report: Report) -> None:
    """Report changes, at most one per `BREATH_S` seconds."""
    while True:
        await run.changed.wait()
        run.changed.clear()
        try:
            await report(run.doing)
        except Exception:  # noqa: BLE001  the client is gone, and others may wait for the same answer
            return
        await asyncio.sleep(BREATH_S)
