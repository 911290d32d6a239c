"""The `notes` tools: what a project writes down about itself."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from toolwright_runtime import ToolCall, ToolError

from workbench.decoding import decode
from workbench.opening import existing, open_file
from workbench.roots import Located
from workbench.state import roots_for
from workbench.work_log import MOST_ENTRIES, MOST_LOG_BYTES, Log, analyse, table
from workbench_server.notes.models import AnalyzeWorkLogParams, WorkLog


async def analyze_work_log(params: AnalyzeWorkLogParams, call: ToolCall) -> WorkLog:
    """Say what a work log holds: where its sections and entries are, of which types and tasks."""
    located = existing(params.file_path, await roots_for(call))
    log = await asyncio.to_thread(_analysed, located)
    if params.output_format == "table":
        summary = {"path": located.shown, "lines": log.lines, "types": log.types, "tasks": log.tasks}
        return WorkLog.model_validate({**summary, "problems": log.problems, "table": table(log)} | _omitted(log))
    found = asdict(log) | {"path": located.shown, "entries": [asdict(each) for each in log.entries[-MOST_ENTRIES:]]}
    return WorkLog.model_validate(found | _omitted(log))


def _omitted(log: Log) -> dict[str, int]:
    omitted = len(log.entries) - MOST_ENTRIES
    return {"omitted_entries": omitted} if omitted > 0 else {}


def _analysed(located: Located) -> Log:
    with open_file(located) as stream:
        data = stream.read(MOST_LOG_BYTES + 1)
    if len(data) > MOST_LOG_BYTES:
        raise ToolError(f"`{located.shown}` is larger than {MOST_LOG_BYTES:,} bytes", code="TOO_LARGE")
    text = decode(data)
    if text is None:
        raise ToolError(f"`{located.shown}` is a binary file", code="BINARY_FILE")
    return analyse(text)
