"""The details of each tool in a report: its findings, and a diff to the schema to send instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.output import Terminal, diff_lines, visible
from toolmason.audit.verdict import Policy, concern_text
from toolmason.diagnostics.printers import MAX_SHOWN
from toolmason.schema import Severity, Target

MAX_SHOWN_DIFF_LINES: Final = 50
"""Maximum lines of a diff in the report of `check`; `diff` prints all."""
_DIFF_STYLES: Final = {"-": "red", "+": "green", "@": "cyan"}


def tool_details(tools: Sequence[AuditedTool], policy: Policy, terminal: Terminal) -> Iterator[str]:
    """Yield the details of each tool: its findings that count, and a diff to the schema to send instead."""
    width = min(max((len(visible(tool.tool.name)) for tool in tools), default=0), 40)
    remaining = MAX_SHOWN
    for tool in tools:
        status = _status(terminal, is_compatible=policy.accepts(tool))
        shown = [issue for issue in tool.issues if not issue.accepted]
        if shown and remaining > 0:
            yield from _details(tool, shown, remaining, status, terminal)
            remaining -= len(shown)
        else:
            name = terminal.paint(f"{visible(tool.tool.name):{width}}", "bold")
            counts = severity_counts(tool.issues, terminal)
            yield f"{name}  {status}" + (f"  ({counts})" if counts else "")
        yield ""
    if remaining < 0:
        yield f"More than {MAX_SHOWN} findings: use --json for all"


def _status(terminal: Terminal, *, is_compatible: bool) -> str:
    return terminal.paint("COMPATIBLE", "green") if is_compatible else terminal.paint("INCOMPATIBLE", "red", "bold")


def _details(tool: AuditedTool, shown: Sequence[Issue], limit: int, status: str, terminal: Terminal) -> Iterator[str]:
    yield _header(tool, terminal)
    yield f"STATUS: {status}"
    yield from ("", terminal.paint("ISSUES FOUND", "bold"))
    for number, issue in enumerate(shown[:limit], 1):
        yield from _issue(number, issue, tool.targets, terminal)
    if len(shown) > limit:
        yield f"  and {len(shown) - limit:,} more: use --json"
    if tool.transforms:
        yield from ("", terminal.paint("TRANSFORMS APPLIED", "bold"))
        for transform in tool.transforms[:MAX_SHOWN]:
            yield from terminal.wrap(transform, "  - ")
        if len(tool.transforms) > MAX_SHOWN:
            yield f"  and {len(tool.transforms) - MAX_SHOWN:,} more: use --json"
    if lines := _diff(tool, terminal):
        yield from ("", terminal.paint("SCHEMA DIFF", "bold"))
        yield from lines[:MAX_SHOWN_DIFF_LINES]
        if len(lines) > MAX_SHOWN_DIFF_LINES:
            yield f"... {len(lines) - MAX_SHOWN_DIFF_LINES} more lines: use `toolmason schema diff`"


def _header(tool: AuditedTool, terminal: Terminal) -> str:
    location = visible(f"{tool.location.path}:{tool.location.line}") if tool.location else ""
    start = f"=== {visible(tool.tool.name)} "
    line = "=" * max(3, min(terminal.width, 100) - len(start) - len(location) - 1)
    return f"{terminal.paint(start + line, 'bold')} {location}".rstrip()


def _issue(number: int, issue: Issue, targets: Sequence[Target], terminal: Terminal) -> Iterator[str]:
    finding, at = issue.finding, issue.location
    label = terminal.label(finding.severity)
    location = f"  {visible(str(at.path))}:{at.line}:{at.column}" if at else ""
    yield f"  [{number}] {label}  {terminal.paint(visible(finding.path), 'bold')}{location}"
    indent = " " * (len(str(number)) + 5)
    yield f"{indent}Pattern: {visible(finding.pattern)}"
    yield from terminal.wrap(finding.message, f"{indent}Message: ")
    affected = "all" if len(issue.targets) == len(targets) > 1 else ", ".join(issue.targets)
    yield from terminal.wrap(affected, f"{indent}Targets: ")
    if finding.severity is not Severity.NOTE:
        yield from terminal.wrap(concern_text(issue), f"{indent}Concerns: ")


def severity_counts(issues: Sequence[Issue], terminal: Terminal) -> str:
    """Return the number of issues of each severity, and of accepted ones: "2 refused, 1 note, 3 accepted"."""
    counts = Counter(issue.finding.severity for issue in issues if not issue.accepted)
    parts = [
        terminal.label(severity, f"{counts[severity]:,} {severity}{'s' * _has_plural(severity, counts)}")
        for severity in Severity
        if counts[severity]
    ]
    accepted = sum(bool(issue.accepted) for issue in issues)
    return ", ".join([*parts, *([f"{accepted:,} accepted"] if accepted else [])])


def _has_plural(severity: Severity, counts: Counter[Severity]) -> bool:
    return severity is Severity.NOTE and counts[severity] > 1


def text_diff(tools: Sequence[AuditedTool], *, terminal: Terminal) -> Iterator[str]:
    """Yield a unified diff from the original to the transformed schema of each tool."""
    after_diff = False
    for index, tool in enumerate(tools):
        lines = _diff(tool, terminal)
        if index and (lines or after_diff):
            yield ""
        after_diff = bool(lines)
        if lines:
            yield _header(tool, terminal)
            yield from lines
        else:
            yield f"{terminal.paint(visible(tool.tool.name), 'bold')}  unchanged"


def _diff(tool: AuditedTool, terminal: Terminal) -> list[str]:
    lines = diff_lines(tool.tool.source_schema, tool.projection.schema)
    return [terminal.paint(line, *filter(None, [_DIFF_STYLES.get(line[:1])])) for line in lines]
