"""`analyze_codebase`: analyze a project with one focus; the answer is Markdown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench_research.analysis import prompts
from workbench_research.analysis.result import ResultBuilder, require_text
from workbench_research.analysis.scope import Scope, parse_scope, split_list
from workbench_research.backends.question import Ask

if TYPE_CHECKING:
    from workbench_server.research.models import AnalyzeCodebaseParams


async def run(params: AnalyzeCodebaseParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Analyze a project with one focus.

    Raises:
        ToolError: the focus is blank, a directory or glob is not allowed, or as `ask`.
    """
    require_text(params.focus_description, "focus_description")
    scope = await asyncio.to_thread(
        parse_scope,
        root,
        directories=split_list(params.directories),
        include=split_list(params.file_patterns),
        exclude=split_list(params.exclude_patterns),
    )
    answer = await ask(analysis_prompt(params.focus_description, scope))
    return await prose_result(ResultBuilder("analyze_codebase", answer, root, scope), "analysis", {})


def analysis_prompt(focus: str, scope: Scope) -> str:
    """Return the prompt."""
    return prompts.prompt(prompts.ANALYZE, prompts.scope_text(scope), prompts.RULES, prompts.quoted("focus", focus))


async def prose_result(builder: ResultBuilder, name: str, echo: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result whose member `name` is the whole answer, after checking the files in it."""
    return await asyncio.to_thread(_prose_result, builder, name, echo)


def _prose_result(builder: ResultBuilder, name: str, echo: Mapping[str, Any]) -> dict[str, Any]:
    text = builder.answer.text
    if builder.reads_files:
        builder.citations.check_text(text)
    if not text.strip():
        builder.warnings.append("the model's answer is empty")
    return builder.build({**echo, name: text})
