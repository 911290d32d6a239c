"""The names with which other rooms of Workbench ask the model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from toolmason_runtime import ToolCall

from workbench_handlers.workspace.roots import Root
from workbench_research.analysis.answer_json import find_object, parse_int, parse_text, parse_texts
from workbench_research.analysis.prompts import CALLERS_TEXT, JSON_ONLY, prompt, quoted
from workbench_research.backends.question import Answer, Report
from workbench_research.context.material import Files
from workbench_research.redaction import redact_known_in_json
from workbench_research.state import AskAbout, Research

__all__ = [
    "CALLERS_TEXT",
    "JSON_ONLY",
    "Answer",
    "ask_shared",
    "find_object",
    "parse_int",
    "parse_text",
    "parse_texts",
    "prompt",
    "quoted",
]


async def ask_shared(
    call: ToolCall,
    params: Any,
    directory: Path,
    question: str,
    parse: Callable[[Answer], dict[str, Any]],
    *,
    kind: str,
    projects: Iterable[Path],
) -> dict[str, Any]:
    """Ask once for all identical simultaneous calls, and return the result of `parse` without secrets.

    The text of `question` cannot refer to files. `parse` may block. For the other arguments, see `Research.run_shared`.

    Raises:
        ToolError: as `Research.run_shared` and `parse`.
    """

    async def do(ask: AskAbout, _report: Report) -> dict[str, Any]:
        files = Files(root=Root(directory, "the project"), about=question.replace("@", " "))
        return await asyncio.to_thread(parse, await ask(question, files))

    result, _ = await call.state(Research).run_shared(call, params, directory, do, kind=kind, projects=projects)
    redacted: dict[str, Any] = redact_known_in_json(result, os.environ)
    return redacted
