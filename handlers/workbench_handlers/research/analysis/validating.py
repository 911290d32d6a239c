"""`validate_against_codebase`: a specification held against the project it is for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolmason_runtime import ToolError, did_you_mean

from workbench_handlers.model_backends.question import Ask
from workbench_handlers.research.analysis import prompts
from workbench_handlers.research.analysis.issues import Reported, counted, note_gaps, read_issues
from workbench_handlers.research.analysis.parsing import object_of, text_of
from workbench_handlers.research.analysis.result import Review, given

if TYPE_CHECKING:
    from workbench_server.validation.models import ValidateAgainstCodebaseParams


async def run(params: ValidateAgainstCodebaseParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Check a specification.

    Raises:
        ToolError: the specification is blank, a check is not known, or as `ask`.
    """
    given(params.spec_content, "spec_content")
    checks = checks_of(params.validation_checks or ())
    answer = await ask(validation_prompt(params.spec_content, checks, params.codebase_context or ""))
    return await asyncio.to_thread(_validated, Review("validate_against_codebase", answer, root), checks)


def checks_of(names: Sequence[str]) -> tuple[str, ...]:
    """Give the checks that are asked for, all if none is named.

    Raises:
        ToolError: one of them is none.
    """
    for name in names:
        if name not in prompts.CHECKS:
            guess = did_you_mean(name, prompts.CHECKS) or f"there are: {', '.join(prompts.CHECKS)}"
            message = f"`{name[:100]}` is no check; {guess}"
            raise ToolError(message, code="INVALID_ARGUMENT", details={"known": list(prompts.CHECKS)})
    return tuple(dict.fromkeys(names)) or tuple(prompts.CHECKS)


def validation_prompt(spec: str, checks: Sequence[str], context: str) -> str:
    """Give the prompt."""
    return prompts.prompt(
        prompts.VALIDATE.format(checks=prompts.listed(prompts.CHECKS, checks)),
        prompts.RULES,
        prompts.quoted("specification", spec),
        prompts.quoted("what the caller knows of the project", context) if context.strip() else "",
        f"{prompts.JSON_ONLY}\n{prompts.VALIDATE_FORM}",
    )


def _validated(review: Review, checks: Sequence[str]) -> dict[str, Any]:
    parsed = review.read("checks")
    data = parsed.data if parsed else {}
    said = object_of(data.get("checks"))
    reported = {name: read_issues(object_of(said.get(name)).get("issues"), review.evidence) for name in checks}
    if "missing_files" in reported:
        _refute(reported["missing_files"].issues, review)
    note_gaps(reported, review.warnings)
    issues = [{"check": name, **issue} for name, each in reported.items() for issue in each.issues]
    counts = counted(issues)
    is_whole = not (parsed is None or parsed.is_cut) and all(each.is_answered for each in reported.values())
    content = {
        "verdict": _verdict(counts, is_whole=is_whole),
        "summary": text_of(data.get("summary"), most=2000),
        "checks": [
            {"check": name, "status": _status(each), "issues": sum(counted(each.issues).values())}
            for name, each in reported.items()
        ],
        "counts": counts,
        "issues": review.fit(issues, "issues"),
    }
    return review.result(content, is_raw=parsed is None)


def _refute(issues: list[dict[str, Any]], review: Review) -> None:
    """Mark the files that are said to be missing and are there."""
    for issue in issues:
        if "subject" in issue and review.evidence.exists(issue["subject"]):
            issue["refuted"] = True
            review.warnings.append(f"the model says that `{issue['subject']}` is missing, but it is there")


def _status(reported: Reported) -> str:
    if not reported.is_answered:
        return "not_answered"
    counts = counted(reported.issues)
    return "failed" if counts["error"] or counts["warning"] else "passed"


def _verdict(counts: dict[str, int], *, is_whole: bool) -> str:
    if counts["error"]:
        return "invalid"
    if not is_whole:
        return "undetermined"
    return "valid_with_warnings" if counts["warning"] else "valid"
