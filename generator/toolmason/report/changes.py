"""The changes since a release."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from toolmason.diff.contract import Change, Contract
from toolmason.diff.report import Comparison, summary
from toolmason.diff.rules import Severity, rules
from toolmason.evaluation.measure import UNCATEGORIZED
from toolmason.pictures.bars import Amounts, BarChart, Part, bar_chart

MAX_CHANGES: Final = 200
"""Maximum changes in the table."""
_SERVER: Final = "server"
"""The bar of changes that concern no tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes, the worst first."""

    old: str
    summary: str
    counts: Counter[Severity]
    rows: tuple[tuple[Severity, Change], ...]
    more: int
    chart: BarChart | None
    """None without changes."""


def changes(comparison: Comparison) -> Changes:
    """Return the changes of a comparison."""
    found = [(rules()[change.rule].severity, change) for change in comparison.changes]
    by_category: dict[str, Counter[Severity]] = {}
    tools = _categories(comparison.old) | _categories(comparison.new)
    for severity, change in found:
        category = tools.get(change.tool or change.subject, _SERVER)
        by_category.setdefault(category, Counter())[severity] += 1
    order = sorted(by_category, key=lambda name: -by_category[name].total())
    old = comparison.old
    return Changes(
        old=f"{old.source}, version {old.version}" if old.version else old.source,
        summary=summary(comparison),
        counts=Counter(severity for severity, _ in found),
        rows=tuple(found[:MAX_CHANGES]),
        more=max(0, len(found) - MAX_CHANGES),
        chart=bar_chart(
            "Changes by category and severity",
            [_amounts(name, by_category[name]) for name in order],
            [(severity, str(severity)) for severity in Severity],
        )
        if found
        else None,
    )


def _categories(contract: Contract) -> dict[str, str]:
    return {name: tool.category or UNCATEGORIZED for name, tool in contract.tools.items()}


def _amounts(name: str, counts: Counter[Severity]) -> Amounts:
    parts = tuple(Part(severity, counts[severity], str(severity)) for severity in Severity)
    return Amounts(name, parts, f"{counts.total():,}")
