"""What was found in tools, for people on a terminal and as data for programs."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.diff_table import Row, in_order_of, pretty, rows, side_by_side, visible
from toolmason.diagnostics import Location
from toolmason.diagnostics.printers import MAX_SHOWN
from toolmason.diagnostics.terminal import paint
from toolmason.schema import Severity, Target

MAX_ROWS: Final = 40
"""Lines of a difference that `check` shows; `diff` shows all."""
_NOT_WORTH_CUTTING: Final = 10
"""Lines beyond those that are shown all the same."""
_MAX_REASONS: Final = 5
_STYLES: Final = {
    Severity.REFUSED: "red",
    Severity.NARROWED: "yellow",
    Severity.LOSSY: "yellow",
    Severity.NOTE: "blue",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What there is to print on: `width` columns, with `colour` or without."""

    width: int
    colour: bool = False

    def paint(self, text: str, *styles: str) -> str:
        """Colour `text` if this page has colour."""
        return paint(text, *styles, colour=self.colour)

    def filled(self, text: str, first: str, rest: str) -> Iterator[str]:
        """Break `text` into lines that start with `first`, then with `rest`."""
        room = max(self.width, 40)
        yield from textwrap.wrap(
            visible(text),
            room,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [first.rstrip()]


# For people


def text_report(
    tools: Sequence[AuditedTool], *, targets: Sequence[Target], threshold: Severity, page: Page
) -> Iterator[str]:
    """Say of each tool whether it is compatible; of one that is not what is wrong, what is changed, and into what."""
    width = min(max((len(visible(each.tool.name)) for each in tools), default=0), 40)
    is_apart = False
    several = len({each.source for each in tools}) > 1
    left = MAX_SHOWN
    for index, each in enumerate(tools):
        if several and (not index or tools[index - 1].source != each.source):
            yield page.paint(f"{visible(each.source)}:", "cyan")
        is_compatible = each.is_compatible(threshold)
        if is_compatible or left <= 0:
            is_apart = True
            more = _counted(each.issues, page)
            name = f"{visible(each.tool.name):{width}}"
            status = page.paint("COMPATIBLE", "green") if is_compatible else page.paint("INCOMPATIBLE", "red", "bold")
            yield f"{page.paint(name, 'bold')}  {status}{f'  ({more})' if more else ''}"
        else:
            if is_apart:
                yield ""
            yield from _incompatible(each, targets, threshold, page, left)
            yield ""
            left -= len(_shown_issues(each, threshold))
            is_apart = False
    if is_apart:
        yield ""
    if sum(len(_shown_issues(each, threshold)) for each in tools if not each.is_compatible(threshold)) > MAX_SHOWN:
        yield f"More than {MAX_SHOWN} findings: --tool NAME shows those of one tool, --json all of them"
    yield from _reasons(tools, threshold)
    yield summary_line(tools, targets=targets, threshold=threshold)


def _reasons(tools: Sequence[AuditedTool], threshold: Severity) -> Iterator[str]:
    """Say what makes how many tools incompatible, if there are several."""
    patterns = [
        {issue.finding.pattern for issue in each.issues if issue.finding.severity.rank <= threshold.rank}
        for each in tools
    ]
    if sum(map(bool, patterns)) > 1:
        count = Counter(pattern for those in patterns for pattern in sorted(those))
        shown = ", ".join(f"{visible(pattern)} ({number})" for pattern, number in count.most_common(_MAX_REASONS))
        yield f"Incompatible for: {shown}"


def _incompatible(
    each: AuditedTool, targets: Sequence[Target], threshold: Severity, page: Page, most: int
) -> Iterator[str]:
    yield _header(each, page)
    yield f"STATUS: {page.paint('INCOMPATIBLE', 'red', 'bold')}"
    yield ""
    yield page.paint("ISSUES FOUND", "bold")
    shown = _shown_issues(each, threshold)
    for number, issue in enumerate(shown[:most], 1):
        yield from _issue(number, issue, targets, page)
    if len(shown) > most:
        yield f"  and {len(shown) - most:,} more: --json lists them"
    if notes := len(each.issues) - len(shown):
        yield f"  and {notes} note{'' if notes == 1 else 's'}: --json lists them, --fail-on note shows them"
    if each.transforms:
        yield ""
        yield page.paint("TRANSFORMS APPLIED", "bold")
        for transform in each.transforms[:MAX_SHOWN]:
            yield from page.filled(transform, "  - ", "    ")
        if len(each.transforms) > MAX_SHOWN:
            yield f"  and {len(each.transforms) - MAX_SHOWN:,} more: --json lists them"
    if found := difference(each):
        yield ""
        yield page.paint("SCHEMA DIFF", "bold")
        part = found if len(found) <= MAX_ROWS + _NOT_WORTH_CUTTING else found[:MAX_ROWS]
        yield from _shown(part, page)
        if len(part) < len(found):
            yield f"... {len(found) - len(part)} lines more: `toolmason schema diff` shows them"


def _shown_issues(each: AuditedTool, threshold: Severity) -> list[Issue]:
    return [issue for issue in each.issues if issue.finding.severity is not Severity.NOTE or threshold is Severity.NOTE]


def _header(each: AuditedTool, page: Page) -> str:
    where = f"{each.location.path}:{each.location.line}" if each.location else ""
    start = f"=== {visible(each.tool.name)} "
    rule = "=" * max(3, min(page.width, 100) - len(start) - len(visible(where)) - 1)
    return f"{page.paint(start + rule, 'bold')} {visible(where)}".rstrip()


def _issue(number: int, issue: Issue, targets: Sequence[Target], page: Page) -> Iterator[str]:
    finding = issue.finding
    label = page.paint(str(finding.severity), _STYLES[finding.severity])
    at = f"  {_at(issue.location)}" if issue.location else ""
    yield f"  [{number}] {label}  {page.paint(visible(finding.path), 'bold')}{at}"
    gap = " " * (len(str(number)) + 5)
    yield f"{gap}Pattern: {visible(finding.pattern)}"
    yield from page.filled(finding.message, f"{gap}Message: ", f"{gap}         ")
    yield from page.filled(_named(issue.targets, targets), f"{gap}Targets: ", f"{gap}         ")


def _at(place: Location) -> str:
    return f"{visible(str(place.path))}:{place.line}:{place.column}"


def _named(those: Sequence[Target], targets: Sequence[Target]) -> str:
    return "all" if len(those) == len(targets) > 1 else ", ".join(those)


def _counted(issues: Sequence[Issue], page: Page) -> str:
    count = Counter(each.finding.severity for each in issues)
    words = [(each, f"{count[each]} {each}") for each in Severity if count[each]]
    return ", ".join(page.paint(f"{text}{_plural(each, count[each])}", _STYLES[each]) for each, text in words)


def _plural(severity: Severity, number: int) -> str:
    return "s" if severity is Severity.NOTE and number > 1 else ""


def summary_line(tools: Sequence[AuditedTool], *, targets: Sequence[Target], threshold: Severity) -> str:
    """Count in one line what was found: "4 tools for 7 targets: 3 compatible, 1 incompatible (2 refused, 1 note)."."""
    good = sum(each.is_compatible(threshold) for each in tools)
    counted = _counted([issue for each in tools for issue in each.issues], Page(width=0))
    bad = f", {len(tools) - good} incompatible" if good < len(tools) else ""
    whom = targets[0] if len(targets) == 1 else f"{len(targets)} targets"
    number = f"{len(tools)} tool{'' if len(tools) == 1 else 's'}"
    return f"{number} for {whom}: {good} compatible{bad}{f' ({counted})' if counted else ''}."


def text_diff(tools: Sequence[AuditedTool], *, page: Page) -> Iterator[str]:
    """Put the original schema of each tool beside the transformed one."""
    was_block = False
    for index, each in enumerate(tools):
        found = difference(each)
        if index and (found or was_block):
            yield ""
        was_block = bool(found)
        if found:
            yield _header(each, page)
            yield from _shown(found, page)
        else:
            yield f"{page.paint(visible(each.tool.name), 'bold')}  unchanged"


def difference(each: AuditedTool) -> list[Row]:
    """Give the lines of both schemas beside each other; none if they are the same."""
    original, transformed = each.tool.source_schema, in_order_of(each.projection.schema, each.tool.source_schema)
    found = rows(pretty(original), pretty(transformed))
    return found if any(row.mark in {"|", "<", ">"} for row in found) else []


def _shown(found: Sequence[Row], page: Page) -> Iterator[str]:
    yield from side_by_side([Row("original", "~", "transformed"), *found], page.width, colour=page.colour)


# For programs


def data_report(
    tools: Sequence[AuditedTool], *, targets: Sequence[Target], threshold: Severity, timestamp: str = ""
) -> dict[str, Any]:
    """Give the report as JSON data. No time stands in it but `timestamp`."""
    good = sum(each.is_compatible(threshold) for each in tools)
    summary: dict[str, Any] = {
        "total_tools": len(tools),
        "compatible": good,
        "incompatible": len(tools) - good,
    }
    if timestamp:
        summary["timestamp"] = timestamp
    named = [str(each) for each in targets]
    return {"summary": summary, "targets": named, "tools": [_tool_data(each, threshold) for each in tools]}


def _tool_data(each: AuditedTool, threshold: Severity) -> dict[str, Any]:
    return {
        "name": each.tool.name,
        "source": each.source,
        "status": "COMPATIBLE" if each.is_compatible(threshold) else "INCOMPATIBLE",
        "issues": [issue.as_data() for issue in each.issues],
        "transforms_applied": list(each.transforms),
        "original_schema": each.tool.source_schema,
        "transformed_schema": each.projection.schema,
    }
