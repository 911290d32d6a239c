"""The verdicts of providers on the schemas of the tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from toolmason.audit.audit import AuditedTool, Issue, audit
from toolmason.audit.declarations import TOOL_COUNT
from toolmason.audit.groups import IssueGroup, group_issues, sort_groups
from toolmason.audit.sources import Source
from toolmason.audit.verdict import Policy, concern_text
from toolmason.pictures.bars import Amounts, BarChart, Part, bar_chart
from toolmason.schema import Severity, Target
from toolmason.schema.hosts import hosts

MAX_CAUSES: Final = 30
_MCP: Final = "MCP clients"
"""The title of the target `mcp`."""


class Verdict(StrEnum):
    """The effect of a provider on a schema, the worst first."""

    FAILS = "fails"
    LOSES = "loses"
    FINE = "fine"

    @property
    def meaning(self) -> str:
        """The meaning for a tool."""
        return _MEANINGS[self]


_MEANINGS: Final = {
    Verdict.FAILS: "rejected, or clients fail",
    Verdict.LOSES: "rules are lost, or few clients fail",
    Verdict.FINE: "kept",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """A construct with findings of one verdict: the tools and providers that it concerns, and the first reason."""

    verdict: Verdict
    pattern: str
    tools: tuple[str, ...]
    providers: tuple[str, ...]
    message: str
    fix: str
    concerns: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schemas:
    """The verdicts of all providers on all tools."""

    verdicts: Mapping[str, Counter[Verdict]]
    """The tools by verdict, by the title of the provider. MCP clients are first."""
    by_tool: Mapping[str, Verdict]
    """The verdict of MCP clients on each tool."""
    kept: tuple[str, ...]
    """Providers that keep every schema."""
    causes: tuple[Cause, ...]
    """Causes of the findings for MCP clients, then for single providers; the worst first."""
    more_causes: int
    chart: BarChart

    @property
    def failing(self) -> int:
        """The number of tools that fail in MCP clients."""
        return sum(verdict is Verdict.FAILS for verdict in self.by_tool.values())


def schemas(source: Source, *, is_listed: bool) -> Schemas:
    """Return the verdicts on the schemas of a source, for each target and provider that is known.

    `is_listed` is false if clients get meta-tools: limits on the number of tools do not apply then.
    """
    policy = Policy()
    # Separate from the providers: a failure in few clients does not make a tool incompatible.
    tools = audit(source, (Target.MCP,))
    others = audit(source, tuple(target for target in Target if target is not Target.MCP), providers=tuple(hosts()))
    others = tuple(
        replace(tool, issues=tuple(issue for issue in tool.issues if _is_of_provider(issue, is_listed=is_listed)))
        for tool in others
    )
    verdicts = {Target.MCP: Counter(_verdict(tool, Target.MCP, policy) for tool in tools)} | {
        key: Counter(_verdict(tool, key, policy) for tool in others)
        for key in (*Target, *hosts())
        if key is not Target.MCP
    }
    affected = {key: counts for key, counts in verdicts.items() if counts[Verdict.FINE] < len(tools)}
    order = sorted(
        affected, key=lambda key: (key != Target.MCP, -affected[key][Verdict.FAILS], -affected[key][Verdict.LOSES])
    )
    causes = [*_causes(tools, policy), *_causes(others, policy)]
    return Schemas(
        verdicts={_title(key): counts for key, counts in verdicts.items()},
        by_tool={tool.tool.name: _verdict(tool, Target.MCP, policy) for tool in tools},
        kept=tuple(_title(key) for key in verdicts if key not in affected),
        causes=tuple(causes[:MAX_CAUSES]),
        more_causes=max(0, len(causes) - MAX_CAUSES),
        chart=bar_chart(
            "Tools by provider and verdict on their schemas",
            [_amounts(_title(key), affected[key]) for key in order],
            [(verdict, verdict.meaning) for verdict in Verdict],
        ),
    )


def _is_of_provider(issue: Issue, *, is_listed: bool) -> bool:
    return Target.MCP not in issue.targets and (is_listed or issue.finding.pattern != TOOL_COUNT)


def _causes(tools: Sequence[AuditedTool], policy: Policy) -> list[Cause]:
    """Return one cause for each construct and verdict: providers have their own reasons, which would fill pages."""
    groups: dict[tuple[Verdict, str], list[IssueGroup]] = {}
    for group in sort_groups(group_issues(tools), policy):
        issue = group.first
        if _loses(issue):
            verdict = Verdict.FAILS if policy.fails(issue) else Verdict.LOSES
            groups.setdefault((verdict, issue.finding.pattern), []).append(group)
    return [
        Cause(
            verdict=verdict,
            pattern=pattern,
            tools=tuple(dict.fromkeys(tool.tool.name for group in own for tool in group.tools)),
            providers=tuple(dict.fromkeys(_title(key) for group in own for key in group.targets)),
            message=own[0].message,
            fix=next((group.first.finding.fix for group in own if group.first.finding.fix), ""),
            concerns=concern_text(own[0].first) if Target.MCP in own[0].targets else "",
        )
        for (verdict, pattern), own in groups.items()
    ]


def _verdict(tool: AuditedTool, provider: str, policy: Policy) -> Verdict:
    own = [issue for issue in tool.issues if provider in issue.targets]
    if any(map(policy.fails, own)):
        return Verdict.FAILS
    return Verdict.LOSES if any(map(_loses, own)) else Verdict.FINE


def _loses(issue: Issue) -> bool:
    return not issue.accepted and issue.finding.severity is not Severity.NOTE


def _title(key: str) -> str:
    return hosts()[key].title.replace("`", "") if key in hosts() else _MCP if key == Target.MCP else str(key)


def _amounts(title: str, counts: Counter[Verdict]) -> Amounts:
    parts = tuple(Part(verdict, counts[verdict], verdict.meaning) for verdict in Verdict)
    return Amounts(title, parts, f"{counts[Verdict.FINE]:,} of {counts.total():,}")
