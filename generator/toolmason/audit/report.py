"""Audit reports: text for people, data for programs."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.groups import IssueGroup, group_issues
from toolmason.audit.output import diff_lines, visible
from toolmason.audit.snippet import snippet
from toolmason.audit.tokens import schema_tokens, token_line
from toolmason.diagnostics.printers import MAX_SHOWN
from toolmason.diagnostics.terminal import paint
from toolmason.schema import Severity, Target

MAX_SHOWN_DIFF_LINES: Final = 50
"""Maximum lines of a diff in the report of `check`; `diff` prints all."""
MAX_GROUPS: Final = 50
"""Maximum causes in the report; `--json` has all."""
MAX_PLACES: Final = 3
"""Maximum places shown of a cause."""
_STYLES: Final = {
    Severity.REFUSED: "red",
    Severity.BREAKS: "red",
    Severity.NARROWED: "yellow",
    Severity.LOSSY: "yellow",
    Severity.NOTE: "blue",
}
_DIFF_STYLES: Final = {"-": "red", "+": "green", "@": "cyan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """The width of the output in columns, and whether it has colour."""

    width: int
    colour: bool = False

    def paint(self, text: str, *styles: str) -> str:
        """Colour `text` if this output has colour."""
        return paint(text, *styles, colour=self.colour)

    def wrap(self, text: str, first: str) -> list[str]:
        """Wrap `text` behind the prefix `first`; later lines are indented by its length."""
        return textwrap.wrap(
            visible(text),
            max(self.width, 40),
            initial_indent=first,
            subsequent_indent=" " * len(first),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]


# Text


def text_report(
    tools: Sequence[AuditedTool], *, threshold: Severity, terminal: Terminal, has_details: bool = False
) -> Iterator[str]:
    """Yield the lines of the report: a group for each cause, or with `has_details` everything about each tool."""
    sources = dict.fromkeys(tool.source for tool in tools)
    for source in sources:
        own = [tool for tool in tools if tool.source == source]
        if len(sources) > 1:
            yield terminal.paint(f"{visible(source)}:", "cyan")
        if has_details:
            yield from _tools(own, threshold, terminal)
        else:
            yield from _groups(own, threshold, terminal)
        if code := snippet(own, threshold):
            yield from (*code, "")
    yield summary_line(tools, threshold=threshold)
    yield token_line(tools)


def _groups(tools: Sequence[AuditedTool], threshold: Severity, terminal: Terminal) -> Iterator[str]:
    groups = group_issues(tools)
    for group in groups[:MAX_GROUPS]:
        yield from _group(group, threshold, terminal)
    if len(groups) > MAX_GROUPS:
        yield f"{len(groups) - MAX_GROUPS:,} more causes: use --json"
    if groups:
        yield ""


def _group(group: IssueGroup, threshold: Severity, terminal: Terminal) -> Iterator[str]:
    """Yield the cause, the fix and the tools; of notes and issues that do not count only the first line."""
    finding, count = group.first.finding, len(group.members)
    label = terminal.paint(str(finding.severity), _STYLES[finding.severity])
    places = f", {count} places" if count > len(group.tools) else ""
    pattern = terminal.paint(visible(finding.pattern), "bold")
    head = f"{label}  {pattern}: {_count(len(group.tools), 'tool')}{places}"
    if group.first.accepted:
        yield f"{head}; accepted: {visible(group.first.accepted)}"
        return
    yield head
    if finding.severity is Severity.NOTE and threshold is not Severity.NOTE:
        if finding.fix:
            yield from terminal.wrap(finding.fix, "  Fix: ")
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


def _tools(tools: Sequence[AuditedTool], threshold: Severity, terminal: Terminal) -> Iterator[str]:
    width = min(max((len(visible(tool.tool.name)) for tool in tools), default=0), 40)
    remaining = MAX_SHOWN
    for tool in tools:
        is_compatible = tool.is_compatible(threshold)
        if is_compatible or remaining <= 0:
            yield _status_line(tool, terminal, width, is_compatible=is_compatible)
        else:
            yield from _details(tool, threshold, terminal, remaining)
            remaining -= len(_shown_issues(tool, threshold))
        yield ""
    if remaining < 0:
        yield f"More than {MAX_SHOWN} findings: use --json for all"
    for group in group_issues(tools):
        if group.first.accepted:
            yield from _group(group, threshold, terminal)


def _status_line(tool: AuditedTool, terminal: Terminal, width: int, *, is_compatible: bool) -> str:
    name = terminal.paint(f"{visible(tool.tool.name):{width}}", "bold")
    status = terminal.paint("COMPATIBLE", "green") if is_compatible else terminal.paint("INCOMPATIBLE", "red", "bold")
    counts = _severity_counts(tool.issues, terminal)
    return f"{name}  {status}" + (f"  ({counts})" if counts else "")


def _details(tool: AuditedTool, threshold: Severity, terminal: Terminal, limit: int) -> Iterator[str]:
    yield _header(tool, terminal)
    yield f"STATUS: {terminal.paint('INCOMPATIBLE', 'red', 'bold')}"
    yield from ("", terminal.paint("ISSUES FOUND", "bold"))
    shown = _shown_issues(tool, threshold)
    for number, issue in enumerate(shown[:limit], 1):
        yield from _issue(number, issue, tool.targets, terminal)
    if len(shown) > limit:
        yield f"  and {len(shown) - limit:,} more: use --json"
    if rest := len(tool.issues) - len(shown):
        yield f"  and {_count(rest, 'note or accepted issue', 'notes or accepted issues')}: use --json"
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


def _shown_issues(tool: AuditedTool, threshold: Severity) -> list[Issue]:
    has_notes = threshold is Severity.NOTE
    return [
        issue
        for issue in tool.issues
        if not issue.accepted and (has_notes or issue.finding.severity is not Severity.NOTE)
    ]


def _header(tool: AuditedTool, terminal: Terminal) -> str:
    location = visible(f"{tool.location.path}:{tool.location.line}") if tool.location else ""
    start = f"=== {visible(tool.tool.name)} "
    line = "=" * max(3, min(terminal.width, 100) - len(start) - len(location) - 1)
    return f"{terminal.paint(start + line, 'bold')} {location}".rstrip()


def _issue(number: int, issue: Issue, targets: Sequence[Target], terminal: Terminal) -> Iterator[str]:
    finding, at = issue.finding, issue.location
    label = terminal.paint(str(finding.severity), _STYLES[finding.severity])
    location = f"  {visible(str(at.path))}:{at.line}:{at.column}" if at else ""
    yield f"  [{number}] {label}  {terminal.paint(visible(finding.path), 'bold')}{location}"
    indent = " " * (len(str(number)) + 5)
    yield f"{indent}Pattern: {visible(finding.pattern)}"
    yield from terminal.wrap(finding.message, f"{indent}Message: ")
    affected = "all" if len(issue.targets) == len(targets) > 1 else ", ".join(issue.targets)
    yield from terminal.wrap(affected, f"{indent}Targets: ")


def _severity_counts(issues: Sequence[Issue], terminal: Terminal) -> str:
    counts = Counter(issue.finding.severity for issue in issues if not issue.accepted)
    parts = [
        terminal.paint(f"{counts[severity]} {severity}{'s' * _has_plural(severity, counts)}", _STYLES[severity])
        for severity in Severity
        if counts[severity]
    ]
    accepted = sum(bool(issue.accepted) for issue in issues)
    return ", ".join([*parts, *([f"{accepted} accepted"] if accepted else [])])


def _has_plural(severity: Severity, counts: Counter[Severity]) -> bool:
    return severity is Severity.NOTE and counts[severity] > 1


def summary_line(tools: Sequence[AuditedTool], *, threshold: Severity) -> str:
    """Return a summary such as "4 tools for 7 targets: 3 compatible, 1 incompatible (2 refused, 1 note)."."""
    compatible = sum(tool.is_compatible(threshold) for tool in tools)
    issues = [issue for tool in tools for issue in tool.issues]
    counts = _severity_counts(issues, Terminal(width=0))
    targets = targets_of(tools)
    incompatible = f", {len(tools) - compatible} incompatible" if compatible < len(tools) else ""
    whom = f" for {', '.join(targets)}" if targets else ""
    return (
        f"{_count(len(tools), 'tool')}{whom}: {compatible} compatible{incompatible}{f' ({counts})' if counts else ''}."
    )


def targets_of(tools: Sequence[AuditedTool]) -> list[Target]:
    """Return the targets that some tool was checked for, in their order."""
    return [target for target in Target if any(target in tool.targets for tool in tools)]


def _count(number: int, one: str, many: str = "") -> str:
    """Return a number and its noun: `1 tool`, `2 tools`."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


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
