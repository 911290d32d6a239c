"""Handlers of the `notes` tools: a project's work log."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.notes.log import Log
from workbench_handlers.notes.result import limit_log, render_table
from workbench_handlers.notes.work_log import MAX_LOG_BYTES, parse_work_log
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.decode import decode
from workbench_handlers.workspace.open import existing, open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan, in_thread
from workbench_server.notes.models import AnalyzeWorkLogParams, WorkLog


async def analyze_work_log(params: AnalyzeWorkLogParams, call: ToolCall) -> WorkLog:
    """Return the outline of a work log: sections and entries with lines, types and tasks."""
    located = await asyncio.to_thread(existing, params.file_path, await roots_for(call))
    log = await in_thread(lambda scan: _load_log(located, scan), call)
    result = asdict(log) | {"path": located.shown}
    if params.output_format == "table":
        summary_keys = ("path", "lines", "tokens", "types", "tasks", "statuses", "problems", "omitted")
        result = {name: result[name] for name in summary_keys} | {"table": render_table(log)}
    return WorkLog.model_validate(result)


def _load_log(located: Located, scan: Scan) -> Log:
    with open_file(located) as stream:
        data = stream.read(MAX_LOG_BYTES + 1)
    if len(data) > MAX_LOG_BYTES:
        raise ToolError(f"`{located.shown}` exceeds the limit of {MAX_LOG_BYTES:,} bytes", code="TOO_LARGE")
    text = decode(data)
    if text is None:
        raise ToolError(f"`{located.shown}` is a binary file", code="BINARY_FILE")

    def step() -> None:
        scan.step()
        if scan.is_over:
            raise ToolError(f"`{located.shown}` is too large to analyse in time: read parts of it", code="TIMEOUT")

    return limit_log(parse_work_log(text, step))
