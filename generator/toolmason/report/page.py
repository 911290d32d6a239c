"""The page of `toolmason report`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolmason_runtime.shared.specs.program import Risk

from toolmason.diff.rules import Severity
from toolmason.pictures.pages import render_page
from toolmason.report.changes import Changes
from toolmason.report.costs import Costs
from toolmason.report.risks import APPROVALS, Risks, describe
from toolmason.report.schemas import Schemas, Verdict
from toolmason.report.searches import MAX_MISSES, MAX_TEXTS, OPEN_PAIRS, Searches
from toolmason.report.subject import Subject

MAX_TOOLS: Final = 1_000
"""Maximum tools in the table of all tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All sections. `changes` is None if there is nothing to compare with; `no_changes` is the reason."""

    subject: Subject
    costs: Costs
    schemas: Schemas
    searches: Searches
    risks: Risks
    changes: Changes | None
    no_changes: str
    date: str = ""


def html_report(report: Report) -> str:
    """Return the page. The same report gives the same text."""
    subject, searches = report.subject, report.searches
    tools = sorted(report.costs.tools.values(), key=lambda cost: -cost.tokens)
    return render_page(
        "toolmason.report",
        "report.html.jinja",
        subject=subject,
        date=report.date,
        costs=report.costs,
        schemas=report.schemas,
        searches=searches,
        risks=report.risks,
        changes=report.changes,
        no_changes=report.no_changes,
        is_own=subject.server is not None,
        figures=_figures(report),
        tools=tools[:MAX_TOOLS],
        more_tools=max(0, len(tools) - MAX_TOOLS),
        effects={name: describe(effect) for name, effect in subject.effects.items()},
        misses=searches.misses[:MAX_MISSES],
        more_misses=max(0, len(searches.misses) - MAX_MISSES),
        max_texts=MAX_TEXTS,
        open_pairs=searches.look_alikes[:OPEN_PAIRS],
        closed_pairs=searches.look_alikes[OPEN_PAIRS:],
        verdicts=list(Verdict),
        approvals=APPROVALS,
        several_categories=len(set(subject.categories.values())) > 1,
    )


def _figures(report: Report) -> Mapping[str, str]:
    """Return the numbers above all sections, by their labels."""
    costs, searches = report.costs, report.searches
    count = len(report.costs.tools)
    figures = {
        "tool" if count == 1 else "tools": f"{count:,}",
        f"tokens in {report.subject.style or 'the list'}": f"{costs.listed.tokens:,}",
        "tools that fail in clients": f"{report.schemas.failing:,}",
        "tools that may destroy": f"{report.risks.counts[Risk.DESTRUCTIVE]:,}",
    }
    if searches.evaluation:
        total = searches.evaluation.total
        figures[f"recall@{searches.evaluation.top}"] = f"{total.recall[searches.evaluation.top]:.2f}"
    elif searches.texts:
        figures["use cases find their tool first"] = f"{searches.found_first / searches.texts:.0%}"
    if report.changes:
        figures["breaking changes"] = f"{report.changes.counts[Severity.BREAKING]:,}"
    return figures
