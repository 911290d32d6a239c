"""Audit reports: text for people, data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.groups import IssueGroup, group_issues
from toolmason.audit.output import Terminal, visible
from toolmason.audit.snippet import snippet
from toolmason.audit.tokens import schema_tokens, token_line
from toolmason.audit.tool_report import severity_counts, tool_details
from toolmason.schema import Severity, Target

MAX_GROUPS: Final = 50
"""Maximum causes in the report; `--json` has all."""
MAX_PLACES: Final = 3
"""Maximum places shown for a cause."""


# Text


def text_report(
    tools: Sequence[AuditedTool], *, threshold: Severity, terminal: Terminal, has_details: bool = False
) -> Iterator[str]:
    """Yield the lines of the report: a group for each cause, or with `has_details` the findings of each tool."""
    sources = dict.fromkeys(tool.source for tool in tools)
    for source in sources:
        own = [tool for tool in tools if tool.source == source]
        if len(sources) > 1:
            yield terminal.paint(f"{visible(source)}:", "cyan")
        groups = group_issues(own)
        if has_details:
            yield from tool_details(own, threshold, terminal)
            groups = tuple(group for group in groups if group.first.accepted)
        for group in groups[:MAX_GROUPS]:
            yield from _group(group, threshold, terminal)
        if len(groups) > MAX_GROUPS:
            yield f"{len(groups) - MAX_GROUPS:,} more causes: use --json"
        if groups:
            yield ""
        if code := snippet(own, threshold):
            yield from (*code, "")
    yield summary_line(tools, threshold=threshold)
    yield token_line(tools)


def _group(group: IssueGroup, threshold: Severity, terminal: Terminal) -> Iterator[str]:
    """Yield the cause, the fix and the tools. A note has only its fix, or its cause if it has no fix."""
    finding, count = group.first.finding, len(group.members)
    label = terminal.label(finding.severity)
    places = f", {count} places" if count > len(group.tools) else ""
    pattern = terminal.paint(visible(finding.pattern), "bold")
    head = f"{label}  {pattern}: {_count_tools(len(group.tools))}{places}"
    if group.first.accepted:
        yield f"{head}; accepted: {visible(group.first.accepted)}"
        return
    yield head
    if finding.severity is Severity.NOTE and threshold is not Severity.NOTE:
        yield from terminal.wrap(finding.fix or group.message, "  Fix: " if finding.fix else "  ")
        return
    yield from terminal.wrap(group.message, "  ")
    if finding.fix:
        yield from terminal.wrap(finding.fix, "  Fix: ")
    named = [_place(tool, issue) for tool, issue in group.members]
    rest = [f"and {len(named) - MAX_PLACES:,} more"] if len(named) > MAX_PLACES else []
    yield from terminal.wrap(", ".join([*named[:MAX_PLACES], *rest]), "  In: ")


def _place(tool: AuditedTool, issue: Issue) -> str:
    at = issue.location
    return f"{tool.tool.name} {issue.finding.path}" + (f" ({at.path}:{at.line})" if at else "")


def summary_line(tools: Sequence[AuditedTool], *, threshold: Severity) -> str:
    """Return a summary such as "4 tools for 7 targets: 3 compatible, 1 incompatible (2 refused, 1 note)."."""
    compatible = sum(tool.is_compatible(threshold) for tool in tools)
    issues = [issue for tool in tools for issue in tool.issues]
    counts = severity_counts(issues, Terminal(width=0))
    targets = targets_of(tools)
    incompatible = f", {len(tools) - compatible:,} incompatible" if compatible < len(tools) else ""
    checked_for = f" for {', '.join(targets)}" if targets else ""
    found = f" ({counts})" if counts else ""
    return f"{_count_tools(len(tools))}{checked_for}: {compatible:,} compatible{incompatible}{found}."


def targets_of(tools: Sequence[AuditedTool]) -> list[Target]:
    """Return the targets that tools were checked for, in the order of `Target`."""
    return [target for target in Target if any(target in tool.targets for tool in tools)]


def _count_tools(number: int) -> str:
    return f"{number:,} tool{'s' * (number != 1)}"


# Data


def data_report(tools: Sequence[AuditedTool], *, threshold: Severity, timestamp: str = "") -> dict[str, Any]:
    """Return the report as JSON data. It is deterministic apart from `timestamp`."""
    compatible = sum(tool.is_compatible(threshold) for tool in tools)
    summary: dict[str, Any] = {
        "total_tools": len(tools),
        "compatible": compatible,
        "incompatible": len(tools) - compatible,
    }
    if timestamp:
        summary["timestamp"] = timestamp
    data = [
        {
            "name": tool.tool.name,
            "source": tool.source,
            "status": "COMPATIBLE" if tool.is_compatible(threshold) else "INCOMPATIBLE",
            "issues": [issue.as_data() for issue in tool.issues],
            "transforms_applied": list(tool.transforms),
            "original_schema": tool.tool.source_schema,
            "transformed_schema": tool.projection.schema,
            "tokens": schema_tokens(tool),
        }
        for tool in tools
    ]
    groups = [group.as_data() for group in group_issues(tools)]
    return {
        "summary": summary,
        "targets": [str(target) for target in targets_of(tools)],
        "groups": groups,
        "tools": data,
    }
