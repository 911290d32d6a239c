"""`validate_against_codebase`: check a specification against the project."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolmason_runtime import ToolError, did_you_mean

from workbench_research.analysis import prompts
from workbench_research.analysis.answer_json import parse_object, parse_text
from workbench_research.analysis.issues import ReportedIssues, count_by_severity, note_gaps, parse_issues
from workbench_research.analysis.result import ResultBuilder, require_text
from workbench_research.backends.question import Ask

if TYPE_CHECKING:
    from workbench_server.validation.models import ValidateAgainstCodebaseParams


async def run(params: ValidateAgainstCodebaseParams, ask: Ask, root: Path) -> dict[str, Any]:
    """Check a specification.

    Raises:
        ToolError: the specification is blank, a check is unknown, or as `ask`.
    """
    require_text(params.spec_content, "spec_content")
    checks = parse_checks(params.validation_checks or ())
    answer = await ask(validation_prompt(params.spec_content, checks, params.codebase_context or ""))
    return await asyncio.to_thread(_build_result, ResultBuilder("validate_against_codebase", answer, root), checks)


def parse_checks(names: Sequence[str]) -> tuple[str, ...]:
    """Return the requested checks; all of them if `names` is empty.

    Raises:
        ToolError: a check is unknown.
    """
    for name in names:
        if name not in prompts.CHECKS:
            guess = did_you_mean(name, prompts.CHECKS) or f"use one of {', '.join(prompts.CHECKS)}"
            message = f"unknown check `{name[:100]}`; {guess}"
            raise ToolError(message, code="INVALID_ARGUMENT", details={"known": list(prompts.CHECKS)})
    return tuple(dict.fromkeys(names)) or tuple(prompts.CHECKS)


def validation_prompt(spec: str, checks: Sequence[str], context: str) -> str:
    """Return the prompt."""
    return prompts.prompt(
        prompts.VALIDATE.format(checks=prompts.bullet_list(prompts.CHECKS, checks)),
        prompts.RULES,
        prompts.quoted("specification", spec),
        prompts.quoted("what the caller knows of the project", context) if context.strip() else "",
        f"{prompts.JSON_ONLY}\n{prompts.VALIDATE_FORM}",
    )


def _build_result(builder: ResultBuilder, checks: Sequence[str]) -> dict[str, Any]:
    parsed = builder.read("checks")
    data = parsed.data if parsed else {}
    answers = parse_object(data.get("checks"))
    reported = {name: parse_issues(parse_object(answers.get(name)).get("issues"), builder.citations) for name in checks}
    if "missing_files" in reported:
        _refute(reported["missing_files"].issues, builder)
    note_gaps(reported, builder.warnings)
    issues = [{"check": name, **issue} for name, entry in reported.items() for issue in entry.issues]
    counts = count_by_severity(issues)
    is_whole = not (parsed is None or parsed.is_cut) and all(entry.is_answered for entry in reported.values())
    content = {
        "verdict": _verdict(counts, is_whole=is_whole),
        "summary": parse_text(data.get("summary"), max_chars=2000),
        "checks": [
            {"check": name, "status": _status(entry), "issues": sum(count_by_severity(entry.issues).values())}
            for name, entry in reported.items()
        ],
        "counts": counts,
        "issues": builder.fit_to_budget(issues, "issues"),
    }
    return builder.build(content, is_raw=parsed is None)


def _refute(issues: list[dict[str, Any]], builder: ResultBuilder) -> None:
    """Mark files that the model reports as missing although they exist."""
    for issue in issues:
        if "subject" in issue and builder.citations.exists(issue["subject"]):
            issue["refuted"] = True
            builder.warnings.append(f"the model reported `{issue['subject']}` as missing, but it exists")


def _status(reported: ReportedIssues) -> str:
    if not reported.is_answered:
        return "not_answered"
    counts = count_by_severity(reported.issues)
    return "failed" if counts["error"] or counts["warning"] else "passed"


def _verdict(counts: dict[str, int], *, is_whole: bool) -> str:
    if counts["error"]:
        return "invalid"
    if not is_whole:
        return "undetermined"
    return "valid_with_warnings" if counts["warning"] else "valid"
