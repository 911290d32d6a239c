"""One attempt: start the program, follow its output, and end it with all its child processes."""

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
from toolmason_runtime.programs import Command, Process, follow, run_to_cleanup

from workbench_research.backends.question import Answer, Question, Report
from workbench_research.backends.run_directory import run_directory
from workbench_research.logs import record
from workbench_research.model_backends.adapter import Adapter, Program
from workbench_research.model_backends.run_monitor import RunMonitor

REPORT_INTERVAL_S: Final = 0.4
"""Minimum seconds between two progress reports."""

PREPARE_TIMEOUT_S: Final = 30.0
"""Maximum seconds before the program is started."""

MAX_OUTPUT_BYTES: Final = 512 * 1024 * 1024
"""A program that writes more is ended."""

_UMASK: Final = 0o077
"""The program's files are private."""

_log = logging.getLogger(__name__)


async def run_attempt(
    adapter: Adapter,
    program: Program,
    question: Question,
    model: str,
    *,
    report: Report,
    environ: Mapping[str, str] | None = None,
) -> Answer:
    """Ask a model once. `environ` is the server's environment (None: that of this process).

    When it returns or is cancelled, no process and no file of the program is left.

    Raises:
        AttemptError: there was no complete answer.
        ToolError: the program could not be started, or must not be used.
    """
    environ = dict(os.environ if environ is None else environ)
    return await run_to_cleanup(
        lambda scope: _run(adapter, program, question, model, report=report, environ=environ, scope=scope)
    )


async def _run(
    adapter: Adapter,
    program: Program,
    question: Question,
    model: str,
    *,
    report: Report,
    environ: dict[str, str],
    scope: anyio.CancelScope,
) -> Answer:
    directory = run_directory()
    path = await anyio.to_thread.run_sync(directory.__enter__)
    try:
        command = await _build_command(
            lambda: adapter.command(program, question, model, environ={**environ, "TMPDIR": path})
        )
        command = replace(command, timeout_s=question.timeout_s, umask=_UMASK)
        real = await anyio.to_thread.run_sync(os.path.realpath, question.directory)
        run = RunMonitor(adapter.reader(searches_web=question.searches_web), question.directory, Path(real), environ)
        process = Process(
            run.feed_stdout, run.feed_stderr, stdout_file=Path(path, "output"), max_bytes=MAX_OUTPUT_BYTES
        )
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
            run.warn(f"it was ended because it wrote more than {MAX_OUTPUT_BYTES:,} bytes")
        return run.result(code, model, round((time.monotonic() - started) * 1000))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(directory.__exit__, None, None, None)


async def _build_command(command: Callable[[], Command]) -> Command:
    """Return the command; stop waiting for a file system that does not respond."""
    try:
        with anyio.fail_after(PREPARE_TIMEOUT_S):
            return await anyio.to_thread.run_sync(command, abandon_on_cancel=True)
    except TimeoutError as error:
        message = f"the CLI's configuration files could not be read within {PREPARE_TIMEOUT_S:.0f} s"
        raise ToolError(message, code="GEMINI_CLI_ERROR") from error


async def _report_progress(run: RunMonitor, report: Report) -> None:
    """Report changes, at most one per `REPORT_INTERVAL_S` seconds."""
    while True:
        await run.changed.wait()
        run.changed.clear()
        try:
            await report(run.activity)
        except Exception:  # noqa: BLE001  a disconnected client does not stop the run: others may wait for it
            return
        await asyncio.sleep(REPORT_INTERVAL_S)
