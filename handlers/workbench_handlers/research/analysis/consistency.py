"""`check_consistency`: new code, or a plan for it, held against what the project does now."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_handlers.model_backends.question import Ask
from workbench_handlers.research.analysis import prompts
from workbench_handlers.research.analysis.budgets import RESULT_TOKENS
from workbench_handlers.research.analysis.issues import counted, note_gaps, read_issues
from workbench_handlers.research.analysis.parsing import items_of, object_of, text_of
from workbench_handlers.research.analysis.result import Review, given
from workbench_handlers.research.analysis.scope import Scope, scope_of

if TYPE_CHECKING:
    from workbench_server.validation.models import CheckConsistencyParams

MAX_CONVENTIONS: Final = 10
"""Conventions of one aspect."""


async def run(params: CheckConsistencyParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Say where a text departs from the project's conventions.

    Raises:
        ToolError: the text is blank, the scope is not allowed, or as `ask`.
    """
    given(params.new_code_or_spec, "new_code_or_spec")
    scope = await asyncio.to_thread(scope_of, root, places=(params.scope,))
    aspects = tuple(prompts.ASPECTS) if params.focus == "all" else (str(params.focus),)
    answer = await ask(consistency_prompt(params.new_code_or_spec, aspects, scope))
    review = Review("check_consistency", answer, root, scope)
    return await asyncio.to_thread(_checked, review, aspects, params.focus)


def consistency_prompt(text: str, aspects: Sequence[str], scope: Scope) -> str:
    """Give the prompt."""
    return prompts.prompt(
        prompts.CONSISTENCY.format(aspects=prompts.listed(prompts.ASPECTS, aspects)),
        prompts.scope_text(scope),
        prompts.RULES,
        prompts.quoted("code or specification", text),
        f"{prompts.JSON_ONLY}\n{prompts.CONSISTENCY_FORM}",
    )


def _checked(review: Review, aspects: Sequence[str], focus: str) -> dict[str, Any]:
    parsed = review.read("aspects")
    data = parsed.data if parsed else {}
    said = {aspect: object_of(object_of(data.get("aspects")).get(aspect)) for aspect in aspects}
    reported = {aspect: read_issues(each.get("issues"), review.evidence) for aspect, each in said.items()}
    note_gaps(reported, review.warnings)
    issues = [{"aspect": aspect, **issue} for aspect, each in reported.items() for issue in each.issues]
    silent = [aspect for aspect, each in reported.items() if not each.is_answered]
    counts = counted(issues)
    conventions = [each for aspect in aspects for each in _conventions(aspect, said[aspect].get("conventions"), review)]
    content = {
        "focus": focus,
        "verdict": _verdict(counts, is_whole=not (parsed is None or parsed.is_cut or silent)),
        "summary": text_of(data.get("summary"), most=2000),
        "notAnswered": silent,
        "counts": counts,
        "issues": review.fit(issues, "issues", budget=RESULT_TOKENS * 2 // 3),
        "conventions": review.fit(conventions, "conventions", budget=RESULT_TOKENS // 4),
    }
    return review.result(content, is_raw=parsed is None)


def _verdict(counts: dict[str, int], *, is_whole: bool) -> str:
    if counts["error"] or counts["warning"]:
        return "inconsistent"
    return "consistent" if is_whole else "undetermined"


def _conventions(aspect: str, value: Any, review: Review) -> list[dict[str, Any]]:
    return [
        {
            "aspect": aspect,
            "convention": convention,
            "mixed": entry.get("mixed") is True,
            "references": review.evidence.references(entry.get("places")),
        }
        for entry in items_of(value)[:MAX_CONVENTIONS]
        if (convention := text_of(entry.get("convention"), most=1000))
    ]
