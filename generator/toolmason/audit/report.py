"""Audit reports: text for people, data for programs."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.output import diff_lines, visible
from toolmason.audit.tokens import schema_tokens, token_line
from toolmason.diagnostics.printers import MAX_SHOWN
from toolmason.diagnostics.terminal import paint
from toolmason.schema import Severity, Target

MAX_SHOWN_DIFF_LINES: Final = 50
"""Maximum lines of a diff in the report of `check`; `diff` prints all."""
_MAX_REASONS: Final = 5
_STYLES: Final = {
    Severity.REFUSED: "red",
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
    tools: Sequence[AuditedTool], *, targets: Sequence[Target], threshold: Severity, terminal: Terminal
) -> Iterator[str]:
    """Yield the lines of the report: a line for a compatible tool, issues, transforms and diff for another."""
    width = min(max((len(visible(tool.tool.name)) for tool in tools), default=0), 40)
    has_sources = len({tool.source for tool in tools}) > 1
    remaining = MAX_SHOWN
    source = ""
    in_list = False
    for tool in tools:
        if has_sources and tool.source != source:
            source = tool.source
            yield terminal.paint(f"{visible(source)}:", "cyan")
        is_compatible = tool.is_compatible(threshold)
        if is_compatible or remaining <= 0:
            yield _status_line(tool, terminal, width, is_compatible=is_compatible)
        else:
            if in_list:
                yield ""
            yield from _details(tool, targets, threshold, terminal, remaining)
            yield ""
        in_list = is_compatible or remaining <= 0
        if not is_compatible:
            remaining -= len(_shown_issues(tool, threshold))
    if in_list:
        yield ""
    if remaining < 0:
        yield f"More than {MAX_SHOWN} findings: use --tool NAME for those of one tool, --json for all"
    yield from _reasons(tools, threshold)
    yield summary_line(tools, targets=targets, threshold=threshold)
    yield token_line(tools)


def _status_line(tool: AuditedTool, terminal: Terminal, width: int, *, is_compatible: bool) -> str:
    name = terminal.paint(f"{visible(tool.tool.name):{width}}", "bold")
    status = terminal.paint("COMPATIBLE", "green") if is_compatible else terminal.paint("INCOMPATIBLE", "red", "bold")
    counts = _severity_counts(tool.issues, terminal)
    return f"{name}  {status}" + (f"  ({counts})" if counts else "")


def _details(
    tool: AuditedTool, targets: Sequence[Target], threshold: Severity, terminal: Terminal, limit: int
) -> Iterator[str]:
    yield _header(tool, terminal)
    yield f"STATUS: {terminal.paint('INCOMPATIBLE', 'red', 'bold')}"
    yield from ("", terminal.paint("ISSUES FOUND", "bold"))
    shown = _shown_issues(tool, threshold)
    for number, issue in enumerate(shown[:limit], 1):
        yield from _issue(number, issue, targets, terminal)
    if len(shown) > limit:
        yield f"  and {len(shown) - limit:,} more: use --json"
    if notes := len(tool.issues) - len(shown):
        yield f"  and {notes} note{'' if notes == 1 else 's'}: use --json or --fail-on note"
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
    return [issue for issue in tool.issues if has_notes or issue.finding.severity is not Severity.NOTE]


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


def _reasons(tools: Sequence[AuditedTool], threshold: Severity) -> Iterator[str]:
    """Yield the most frequent patterns if several tools are incompatible."""
    patterns = [
        {issue.finding.pattern for issue in tool.issues if issue.finding.severity.rank <= threshold.rank}
        for tool in tools
    ]
    if sum(map(bool, patterns)) > 1:
        counts = Counter(pattern for per_tool in patterns for pattern in sorted(per_tool)).most_common(_MAX_REASONS)
        yield f"Incompatible because of: {', '.join(f'{visible(pattern)} ({count})' for pattern, count in counts)}"


def _severity_counts(issues: Sequence[Issue], terminal: Terminal) -> str:
    counts = Counter(issue.finding.severity for issue in issues)
    return ", ".join(
        terminal.paint(f"{counts[severity]} {severity}{_plural_of(severity, counts[severity])}", _STYLES[severity])
        for severity in Severity
        if counts[severity]
    )


def _plural_of(severity: Severity, count: int) -> str:
    return "s" if severity is Severity.NOTE and count > 1 else ""


def summary_line(tools: Sequence[AuditedTool], *, targets: Sequence[Target], threshold: Severity) -> str:
    """Return a summary such as "4 tools for 7 targets: 3 compatible, 1 incompatible (2 refused, 1 note)."."""
    compatible = sum(tool.is_compatible(threshold) for tool in tools)
    counts = _severity_counts([issue for tool in tools for issue in tool.issues], Terminal(width=0))
    incompatible = f", {len(tools) - compatible} incompatible" if compatible < len(tools) else ""
    whom = targets[0] if len(targets) == 1 else f"{len(targets)} targets"
    number = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"
    return f"{number} for {whom}: {compatible} compatible{incompatible}{f' ({counts})' if counts else ''}."


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


def data_report(
    tools: Sequence[AuditedTool], *, targets: Sequence[Target], threshold: Severity, timestamp: str = ""
) -> dict[str, Any]:
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
    return {"summary": summary, "targets": [str(target) for target in targets], "tools": data}
