"""`list_error_patterns`: the project's conventions in one area. The model finds patterns; they are grouped here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from workbench_research.analysis import prompts
from workbench_research.analysis.answer_json import parse_objects, parse_text
from workbench_research.analysis.result import SEVERITIES, ResultBuilder, parse_severity
from workbench_research.analysis.scope import Scope, parse_scope
from workbench_research.backends.question import Ask

if TYPE_CHECKING:
    from workbench_server.research.models import ListErrorPatternsParams

NO_FILE: Final = "(no file named)"
"""The group of patterns without a location."""


async def run(params: ListErrorPatternsParams, ask: Ask, root: Path) -> dict[str, Any]:
    """List the patterns of one kind.

    Raises:
        ToolError: the directory is not allowed, or as `ask`.
    """
    scope = await asyncio.to_thread(parse_scope, root, directories=(params.directory,))
    builder = ResultBuilder("list_error_patterns", await ask(patterns_prompt(params.pattern_type, scope)), root, scope)
    return await asyncio.to_thread(_build_result, builder, params.pattern_type, params.group_by)


def patterns_prompt(pattern_type: str, scope: Scope) -> str:
    """Return the prompt, which does not depend on the grouping."""
    return prompts.prompt(
        prompts.PATTERNS.format(subject=prompts.SUBJECTS[pattern_type]),
        prompts.scope_text(scope),
        prompts.RULES,
        f"{prompts.JSON_ONLY}\n{prompts.PATTERNS_FORM}",
    )


def _build_result(builder: ResultBuilder, pattern_type: str, group_by: str) -> dict[str, Any]:
    parsed = builder.read("patterns")
    data = parsed.data if parsed else {}
    entries = parse_objects(data.get("patterns"))
    patterns = [pattern for entry in entries if (pattern := _pattern(entry, builder))]
    if len(patterns) < len(entries):
        builder.warnings.append(
            f"{len(entries) - len(patterns)} patterns of the model's answer without a name are omitted"
        )
    named = [pair for pattern in patterns for pair in _group_names(pattern, group_by)]
    fitting = builder.fit_to_budget([pattern for _, pattern in named], "findings")
    groups = _grouped([(name, pattern) for (name, _), pattern in zip(named, fitting, strict=False)], group_by)
    content = {
        "patternType": pattern_type,
        "groupBy": group_by,
        "summary": parse_text(data.get("summary"), max_chars=2000),
        "groups": groups,
    }
    return builder.build(content, is_raw=parsed is None)


def _pattern(entry: dict[str, Any], builder: ResultBuilder) -> dict[str, Any] | None:
    name = parse_text(entry.get("name"), max_chars=200)
    if not name:
        return None
    return {
        "name": name,
        "description": parse_text(entry.get("description"), max_chars=1000),
        "severity": parse_severity(entry.get("severity"), "info"),
        "references": builder.citations.check_all(entry.get("places")),
    }


def _group_names(pattern: dict[str, Any], group_by: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the groups of a pattern, each with its part of the pattern."""
    if group_by != "file":
        return [(pattern["severity" if group_by == "severity" else "name"], pattern)]
    by_path: dict[str, list[dict[str, Any]]] = {}
    for reference in pattern["references"]:
        by_path.setdefault(reference["path"], []).append(reference)
    if not by_path:
        return [(NO_FILE, pattern)]
    return [(path, {**pattern, "references": references}) for path, references in by_path.items()]


def _grouped(named: list[tuple[str, dict[str, Any]]], group_by: str) -> list[dict[str, Any]]:
    """Return the groups in order: patterns as in the answer, files by path, severities worst first."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for name, pattern in named:
        groups.setdefault(name, []).append(pattern)
    names = list(groups)
    if group_by != "pattern":
        names.sort(key=SEVERITIES.index if group_by == "severity" else None)
    return [{"name": name, "count": _count(groups[name]), "patterns": groups[name]} for name in names]


def _count(patterns: list[dict[str, Any]]) -> int:
    return sum(len(pattern["references"]) for pattern in patterns)
