"""The `notes` tools: what a project writes down about itself."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from toolmason_runtime import ToolCall, ToolError

from workbench_handlers.notes.work_log import MAX_LOG_BYTES, Log, analyse, bounded, table
from workbench_handlers.state import roots_for
from workbench_handlers.workspace.decode import decode
from workbench_handlers.workspace.open import existing, open_file
from workbench_handlers.workspace.roots import Located
from workbench_handlers.workspace.scan import Scan, in_thread
from workbench_server.notes.models import AnalyzeWorkLogParams, WorkLog


async def analyze_work_log(params: AnalyzeWorkLogParams, call: ToolCall) -> WorkLog:
    """Say what a work log holds: where its sections and entries are, of which types and tasks."""
    located = await asyncio.to_thread(existing, params.file_path, await roots_for(call))
    log = await in_thread(lambda scan: _analysed(located, scan), call)
    found = asdict(log) | {"path": located.shown}
    if params.output_format == "table":
        shown = ("path", "lines", "types", "tasks", "problems", "omitted")
        found = {name: found[name] for name in shown} | {"table": table(log)}
    return WorkLog.model_validate(found)


def _analysed(located: Located, scan: Scan) -> Log:
    with open_file(located) as stream:
        data = stream.read(MAX_LOG_BYTES + 1)
    if len(data) > MAX_LOG_BYTES:
        raise ToolError(f"`{located.shown}` is larger than {MAX_LOG_BYTES:,} bytes", code="TOO_LARGE")
    text = decode(data)
    if text is None:
        raise ToolError(f"`{located.shown}` is a binary file", code="BINARY_FILE")

    def step() -> None:
        scan.step()
        if scan.is_over:
            raise ToolError(f"`{located.shown}` takes too long to analyse: read parts of it", code="TIMEOUT")

    return bounded(analyse(text, step))
