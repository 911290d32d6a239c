"""Audit reports: text for people, data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.groups import IssueGroup, group_issues, sort_groups
from toolmason.audit.output import Terminal, visible
from toolmason.audit.snippet import snippet
from toolmason.audit.tokens import schema_tokens, token_line
from toolmason.audit.tool_report import severity_counts, tool_details
from toolmason.audit.verdict import Policy, concern_text, percent, share_of_failures
from toolmason.schema import Severity, Target

MAX_GROUPS: Final = 50
"""Maximum causes in the report; `--json` has all."""
MAX_PLACES: Final = 3
"""Maximum places shown for a cause."""


# Text


def text_report(
    tools: Sequence[AuditedTool], *, policy: Policy, terminal: Terminal, has_details: bool = False
) -> Iterator[str]:
    """Yield the lines of the report: a group for each cause, or with `has_details` the findings of each tool.

    The tools of one source without a fault have one line, unless the policy counts notes.
    """
    sources = dict.fromkeys(tool.source for tool in tools)
    has_fault = any(map(_is_shown, (issue for tool in tools for issue in tool.issues)))
    if len(sources) == 1 and not (has_fault or has_details or policy.threshold is Severity.NOTE):
        yield f"{summary_line(tools, policy=policy)} {token_line(tools)}"
        return
    for source in sources:
        own = [tool for tool in tools if tool.source == source]
        if len(sources) > 1:
            yield terminal.paint(f"{visible(source)}:", "cyan")
        groups = sort_groups(group_issues(own), policy)
        if has_details:
            yield from tool_details(own, policy, terminal)
            groups = tuple(group for group in groups if group.first.accepted)
        for group in groups[:MAX_GROUPS]:
            yield from _group(group, policy, terminal)
        if len(groups) > MAX_GROUPS:
            yield f"{len(groups) - MAX_GROUPS:,} more causes: use --json"
        if groups:
            yield ""
        if code := snippet(own, policy):
            yield from (*code, "")
    yield summary_line(tools, policy=policy)
    yield token_line(tools)


def _group(group: IssueGroup, policy: Policy, terminal: Terminal) -> Iterator[str]:
    """Yield the cause, the fix and the tools. A note has only its fix, or its cause if it has no fix."""
    issue, count = group.first, len(group.members)
    finding = issue.finding
    label = terminal.label(finding.severity)
    places = f", {count} places" if count > len(group.tools) else ""
    pattern = terminal.paint(visible(finding.pattern), "bold")
    head = f"{label}  {pattern}: {_count_tools(len(group.tools))}{places}"
    if group.first.accepted:
        yield f"{head}; accepted: {visible(group.first.accepted)}"
        return
    if policy.tolerates(issue):
        yield f"{head}; {visible(concern_text(issue))}"
        yield from terminal.wrap(finding.fix or group.message, "  Fix: " if finding.fix else "  ")
        return
    yield head
    if finding.severity is Severity.NOTE and policy.threshold is not Severity.NOTE:
        yield from terminal.wrap(finding.fix or group.message, "  Fix: " if finding.fix else "  ")
        return
    yield from terminal.wrap(group.message, "  ")
    if finding.fix:
        yield from terminal.wrap(finding.fix, "  Fix: ")
    if policy.is_severe(issue):
        yield from terminal.wrap(concern_text(issue), "  Concerns: ")
        if group.line:
            yield f"  Line: {visible(group.line)}"
    named = [_place(tool, issue) for tool, issue in group.members]
    rest = [f"and {len(named) - MAX_PLACES:,} more"] if len(named) > MAX_PLACES else []
    yield from terminal.wrap(", ".join([*named[:MAX_PLACES], *rest]), "  In: ")


def _is_shown(issue: Issue) -> bool:
    """Whether an issue is more than a note, or its acceptance has to be shown."""
    return bool(issue.accepted) or issue.finding.severity is not Severity.NOTE


def _place(tool: AuditedTool, issue: Issue) -> str:
    at = issue.location
    return f"{tool.tool.name} {issue.finding.path}" + (f" ({at.path}:{at.line})" if at else "")


def summary_line(tools: Sequence[AuditedTool], *, policy: Policy) -> str:
    """Return a summary such as "4 tools for 7 targets: 3 compatible, 1 incompatible (2 refused, 1 note)."."""
    compatible = sum(policy.accepts(tool) for tool in tools)
    issues = [issue for tool in tools for issue in tool.issues]
    counts = severity_counts(issues, Terminal(width=0))
    targets = targets_of(tools)
    incompatible = f", {len(tools) - compatible:,} incompatible" if compatible < len(tools) else ""
    checked_for = f" for {', '.join(targets)}" if targets else ""
    found = f" ({counts})" if counts else ""
    share = share_of_failures(tools, policy)
    failing = f"; {percent(share)} of clients fail" if 0 < share <= policy.max_share else ""
    return f"{_count_tools(len(tools))}{checked_for}: {compatible:,} compatible{incompatible}{found}{failing}."


def targets_of(tools: Sequence[AuditedTool]) -> list[Target]:
    """Return the targets that tools were checked for, in the order of `Target`."""
    return [target for target in Target if any(target in tool.targets for tool in tools)]


def _count_tools(number: int) -> str:
    return f"{number:,} tool{'s' * (number != 1)}"


# Data


def data_report(tools: Sequence[AuditedTool], *, policy: Policy, timestamp: str = "") -> dict[str, Any]:
    """Return the report as JSON data. It is deterministic apart from `timestamp`."""
    compatible = sum(policy.accepts(tool) for tool in tools)
    summary: dict[str, Any] = {
        "total_tools": len(tools),
        "compatible": compatible,
        "incompatible": len(tools) - compatible,
        "share": round(share_of_failures(tools, policy), 3),
        "max_share": policy.max_share,
    }
    if timestamp:
        summary["timestamp"] = timestamp
    data = [
        {
            "name": tool.tool.name,
            "source": tool.source,
            "status": "COMPATIBLE" if policy.accepts(tool) else "INCOMPATIBLE",
            "issues": [issue.as_data() for issue in tool.issues],
            "transforms_applied": list(tool.transforms),
            "original_schema": tool.tool.source_schema,
            "transformed_schema": tool.projection.schema,
            "tokens": schema_tokens(tool),
        }
        for tool in tools
    ]
    groups = [group.as_data() | {"fails": policy.fails(group.first)} for group in group_issues(tools)]
    return {
        "summary": summary,
        "targets": [str(target) for target in targets_of(tools)],
        "groups": groups,
        "tools": data,
    }
