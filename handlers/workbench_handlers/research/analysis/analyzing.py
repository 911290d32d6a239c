"""`analyze_codebase`: one focus on a whole project, answered in the model's own words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench_handlers.model_backends.question import Ask
from workbench_handlers.research.analysis import prompts
from workbench_handlers.research.analysis.result import Review, given
from workbench_handlers.research.analysis.scope import Scope, scope_of, split

if TYPE_CHECKING:
    from workbench_server.research.models import AnalyzeCodebaseParams


async def run(params: AnalyzeCodebaseParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Analyze a project with one focus.

    Raises:
        ToolError: the focus is blank, a folder or glob is not allowed, or as `ask`.
    """
    given(params.focus_description, "focus_description")
    scope = await asyncio.to_thread(
        scope_of,
        root,
        places=split(params.directories),
        include=split(params.file_patterns),
        exclude=split(params.exclude_patterns),
    )
    answer = await ask(analysis_prompt(params.focus_description, scope))
    return await in_prose(Review("analyze_codebase", answer, root, scope), "analysis", {})


def analysis_prompt(focus: str, scope: Scope) -> str:
    """Give the prompt."""
    return prompts.prompt(prompts.ANALYZE, prompts.scope_text(scope), prompts.RULES, prompts.quoted("focus", focus))


async def in_prose(review: Review, name: str, echo: Mapping[str, Any]) -> dict[str, Any]:
    """Give a result whose member `name` is the whole answer, after a look at the files it names."""
    return await asyncio.to_thread(_in_prose, review, name, echo)


def _in_prose(review: Review, name: str, echo: Mapping[str, Any]) -> dict[str, Any]:
    text = review.answer.text
    if review.reads_files:
        review.evidence.check_text(text)
    if not text.strip():
        review.warnings.append("the model's answer is empty")
    return review.result({**echo, name: text})
