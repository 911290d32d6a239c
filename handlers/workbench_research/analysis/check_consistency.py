"""`check_consistency`: compare new code, or a plan, with the project's conventions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_research.analysis import prompts
from workbench_research.analysis.answer_json import parse_object, parse_objects, parse_text
from workbench_research.analysis.issues import count_by_severity, note_gaps, parse_issues
from workbench_research.analysis.result import ResultBuilder, require_text
from workbench_research.analysis.scope import Scope, parse_scope
from workbench_research.analysis.token_budget import RESULT_TOKENS
from workbench_research.backends.question import Ask

if TYPE_CHECKING:
    from workbench_server.validation.models import CheckConsistencyParams

MAX_CONVENTIONS: Final = 10
"""Maximum conventions of one aspect."""


async def run(params: CheckConsistencyParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Return where a text deviates from the project's conventions.

    Raises:
        ToolError: the text is blank, the scope is not allowed, or as `ask`.
    """
    require_text(params.new_code_or_spec, "new_code_or_spec")
    scope = await asyncio.to_thread(parse_scope, root, directories=(params.scope,))
    aspects = tuple(prompts.ASPECTS) if params.focus == "all" else (str(params.focus),)
    answer = await ask(consistency_prompt(params.new_code_or_spec, aspects, scope))
    builder = ResultBuilder("check_consistency", answer, root, scope)
    return await asyncio.to_thread(_build_result, builder, aspects, params.focus)


def consistency_prompt(text: str, aspects: Sequence[str], scope: Scope) -> str:
    """Return the prompt."""
    return prompts.prompt(
        prompts.CONSISTENCY.format(aspects=prompts.bullet_list(prompts.ASPECTS, aspects)),
        prompts.scope_text(scope),
        prompts.RULES,
        prompts.quoted("code or specification", text),
        f"{prompts.JSON_ONLY}\n{prompts.CONSISTENCY_FORM}",
    )


def _build_result(builder: ResultBuilder, aspects: Sequence[str], focus: str) -> dict[str, Any]:
    parsed = builder.read("aspects")
    data = parsed.data if parsed else {}
    answers = {aspect: parse_object(parse_object(data.get("aspects")).get(aspect)) for aspect in aspects}
    reported = {aspect: parse_issues(answer.get("issues"), builder.citations) for aspect, answer in answers.items()}
    note_gaps(reported, builder.warnings)
    issues = [{"aspect": aspect, **issue} for aspect, entry in reported.items() for issue in entry.issues]
    unanswered = [aspect for aspect, entry in reported.items() if not entry.is_answered]
    counts = count_by_severity(issues)
    conventions = [
        convention
        for aspect, answer in answers.items()
        for convention in _conventions(aspect, answer.get("conventions"), builder)
    ]
    content = {
        "focus": focus,
        "verdict": _verdict(counts, is_whole=not (parsed is None or parsed.is_cut or unanswered)),
        "summary": parse_text(data.get("summary"), max_chars=2000),
        "notAnswered": unanswered,
        "counts": counts,
        "issues": builder.fit_to_budget(issues, "issues", budget=RESULT_TOKENS * 2 // 3),
        "conventions": builder.fit_to_budget(conventions, "conventions", budget=RESULT_TOKENS // 4),
    }
    return builder.build(content, is_raw=parsed is None)


def _verdict(counts: dict[str, int], *, is_whole: bool) -> str:
    if counts["error"] or counts["warning"]:
        return "inconsistent"
    return "consistent" if is_whole else "undetermined"


def _conventions(aspect: str, value: Any, builder: ResultBuilder) -> list[dict[str, Any]]:
    return [
        {
            "aspect": aspect,
            "convention": convention,
            "mixed": entry.get("mixed") is True,
            "references": builder.citations.check_all(entry.get("places")),
        }
        for entry in parse_objects(value)[:MAX_CONVENTIONS]
        if (convention := parse_text(entry.get("convention"), max_chars=1000))
    ]
