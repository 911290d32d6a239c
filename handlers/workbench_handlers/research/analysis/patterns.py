"""`list_error_patterns`: what a project does again and again. The model finds patterns; the grouping is done here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_handlers.model_backends.question import Ask
from workbench_handlers.research.analysis import prompts
from workbench_handlers.research.analysis.parsing import items_of, text_of
from workbench_handlers.research.analysis.result import SEVERITIES, Review, severity_of
from workbench_handlers.research.analysis.scope import Scope, scope_of

if TYPE_CHECKING:
    from workbench_server.research.models import ListErrorPatternsParams

NO_FILE: Final = "(no file named)"
"""The group of patterns for which the model names no place."""


async def run(params: ListErrorPatternsParams, ask: Ask, root: Path) -> dict[str, Any]:
    """List the patterns of one kind.

    Raises:
        ToolError: the directory is not allowed, or as `ask`.
    """
    scope = await asyncio.to_thread(scope_of, root, places=(params.directory,))
    review = Review("list_error_patterns", await ask(patterns_prompt(params.pattern_type, scope)), root, scope)
    return await asyncio.to_thread(_listed, review, params.pattern_type, params.group_by)


def patterns_prompt(pattern_type: str, scope: Scope) -> str:
    """Give the prompt: the same for every grouping."""
    return prompts.prompt(
        prompts.PATTERNS.format(subject=prompts.SUBJECTS[pattern_type]),
        prompts.scope_text(scope),
        prompts.RULES,
        f"{prompts.JSON_ONLY}\n{prompts.PATTERNS_FORM}",
    )


def _listed(review: Review, pattern_type: str, group_by: str) -> dict[str, Any]:
    parsed = review.read("patterns")
    data = parsed.data if parsed else {}
    said = items_of(data.get("patterns"))
    found = [pattern for entry in said if (pattern := _pattern(entry, review))]
    if len(found) < len(said):
        review.warnings.append(f"{len(said) - len(found)} patterns of the model's answer have no name and are left out")
    placed = [pair for pattern in found for pair in _placed(pattern, group_by)]
    kept = review.fit([pattern for _, pattern in placed], "findings")
    groups = _grouped([(name, pattern) for (name, _), pattern in zip(placed, kept, strict=False)], group_by)
    content = {
        "patternType": pattern_type,
        "groupBy": group_by,
        "summary": text_of(data.get("summary"), most=2000),
        "groups": groups,
    }
    return review.result(content, is_raw=parsed is None)


def _pattern(entry: dict[str, Any], review: Review) -> dict[str, Any] | None:
    name = text_of(entry.get("name"), most=200)
    if not name:
        return None
    return {
        "name": name,
        "description": text_of(entry.get("description"), most=1000),
        "severity": severity_of(entry.get("severity"), "info"),
        "references": review.evidence.references(entry.get("places")),
    }


def _placed(pattern: dict[str, Any], group_by: str) -> list[tuple[str, dict[str, Any]]]:
    """Give the groups a pattern stands in, each with what of it belongs there."""
    if group_by != "file":
        return [(pattern["severity" if group_by == "severity" else "name"], pattern)]
    by_path: dict[str, list[dict[str, Any]]] = {}
    for reference in pattern["references"]:
        by_path.setdefault(reference["path"], []).append(reference)
    if not by_path:
        return [(NO_FILE, pattern)]
    return [(path, {**pattern, "references": references}) for path, references in by_path.items()]


def _grouped(placed: list[tuple[str, dict[str, Any]]], group_by: str) -> list[dict[str, Any]]:
    """Give the groups in order: patterns as they came, files by path, severities worst first."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, pattern in placed:
        groups.setdefault(name, []).append(pattern)
    names = list(groups)
    if group_by != "pattern":
        names.sort(key=SEVERITIES.index if group_by == "severity" else None)
    return [{"name": name, "count": _count(groups[name]), "patterns": groups[name]} for name in names]


def _count(patterns: list[dict[str, Any]]) -> int:
    return sum(len(pattern["references"]) for pattern in patterns)
