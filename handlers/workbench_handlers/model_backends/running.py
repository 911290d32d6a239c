"""One attempt: a program is started with a question, followed while it works, and ended with all it has started."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread
from toolmason_runtime import ToolError
from toolmason_runtime.programs.executable import check_folder, located, unstarted
from toolmason_runtime.programs.execute import Command, ended_whole

from workbench_handlers.model_backends.adapter import Adapter, Program
from workbench_handlers.model_backends.logs import record
from workbench_handlers.model_backends.output import MAX_WRITTEN, Filed
from workbench_handlers.model_backends.private_directories import private_folder
from workbench_handlers.model_backends.question import Answer, Question, Report
from workbench_handlers.model_backends.run_state import Observed

BREATH_S: Final = 0.4
"""Seconds between two reports at least."""

PREPARED_S: Final = 30.0
"""Seconds that all may take before the program is started."""

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
    kept = private_folder()
    folder = await anyio.to_thread.run_sync(kept.__enter__)
    try:
        given = {**environ, "TMPDIR": folder}
        command = await _prepared(lambda: adapter.command(program, question, model, environ=given))
        real = await anyio.to_thread.run_sync(os.path.realpath, question.folder)
        run = Observed(adapter.reader(), question.folder, Path(real), environ)
        record(_log, logging.DEBUG, "starting", program=program.path, argv=command.argv)
        started = time.monotonic()
        code = await _followed(run, command, report, scope=scope, timeout_s=question.timeout_s, folder=folder)
        return run.outcome(code, model, round((time.monotonic() - started) * 1000))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(kept.__exit__, None, None, None)


async def _prepared(command: Callable[[], Command]) -> Command:
    """Give what to start; a file system that does not answer is not waited for without end."""
    try:
        with anyio.fail_after(PREPARED_S):
            return await anyio.to_thread.run_sync(command, abandon_on_cancel=True)
    except TimeoutError as error:
        message = f"the files that the CLI would read could not be looked at within {PREPARED_S:.0f} s"
        raise ToolError(message, code="GEMINI_CLI_ERROR") from error


async def _followed(
    run: Observed, command: Command, report: Report, *, scope: anyio.CancelScope, timeout_s: float, folder: str
) -> int | None:
    """Run it to its end, or until there is a reason to end it. Gives its exit code; None if it was ended."""
    process = await anyio.to_thread.run_sync(Filed, Path(folder, "output"), run.stderr)
    try:
        await _started(process, command)
        scope.deadline = anyio.current_time() + timeout_s
        telling = asyncio.create_task(_told(run, report))
        reading = asyncio.create_task(process.read(run.heard))
        try:
            with scope:
                await _finished(process, run, reading)
            # The caller's own cancellation looks the same, but then nobody reads what comes of it.
            run.timed_out = scope.cancelled_caught
        finally:
            code = process.exit_code
            await process.end()
            process.is_over = True
            telling.cancel()
            await asyncio.wait([telling, reading])
        if not reading.result():
            run.warn(f"it wrote more than {MAX_WRITTEN:,} bytes, and was ended")
        return code
    finally:
        run.close()
        process.close()


async def _started(process: Filed, command: Command) -> None:
    await anyio.to_thread.run_sync(check_folder, command.cwd)
    executable = await anyio.to_thread.run_sync(located, command.argv[0], command.env)
    stdin = (command.stdin or "").encode("utf-8", "replace")
    try:
        await process.start(command.execution(executable, command.env), stdin)
    except BaseException as error:
        await process.end()
        if isinstance(error, OSError):
            raise unstarted(command.argv, error) from error
        raise


async def _finished(process: Filed, run: Observed, reading: asyncio.Task[bool]) -> None:
    """Wait until the program has ended, has said all, is about to try again by itself, or says too much."""
    ending = asyncio.ensure_future(process.finished())
    deciding = asyncio.ensure_future(run.decided.wait())
    try:
        await asyncio.wait([ending, deciding, reading], return_when=asyncio.FIRST_COMPLETED)
        if deciding.done() and not ending.done():
            await asyncio.wait([ending], timeout=run.grace_s)
    finally:
        ending.cancel()
        deciding.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([ending, deciding])


async def _told(run: Observed, report: Report) -> None:
    """Report what is new, and not too often."""
    while True:
        await run.changed.wait()
        run.changed.clear()
        try:
            await report(run.doing)
        except Exception:  # noqa: BLE001  who listened is gone, and others may wait for the same answer
            return
        await asyncio.sleep(BREATH_S)
