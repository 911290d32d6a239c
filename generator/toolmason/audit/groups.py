"""Group equal issues of many tools, so that a report names each cause and its fix once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.verdict import Policy, share_of
from toolmason.schema import Severity, Target, pointer_parts

MAX_LINE: Final = 100
"""Maximum characters of a quoted part of a schema."""
_Key = tuple[Severity, str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueGroup:
    """One or more issues with the same cause: equal severity, pattern, reason and fix. All or none are accepted."""

    members: tuple[tuple[AuditedTool, Issue], ...]

    @property
    def first(self) -> Issue:
        """The issue that represents the group."""
        return self.members[0][1]

    @property
    def message(self) -> str:
        """The reason; if it is empty, the common message, or the first of several messages as an example."""
        finding = self.first.finding
        if finding.reason or all(issue.finding.message == finding.message for _, issue in self.members):
            return finding.reason or finding.message
        return f"for example: {finding.message}"

    @property
    def line(self) -> str:
        """The part of the first schema to change, on one line; empty if it is the whole schema."""
        tool, issue = self.members[0]
        return _quote(tool.tool.source_schema, pointer_parts(issue.finding.pointer))

    @property
    def tools(self) -> tuple[AuditedTool, ...]:
        """The affected tools."""
        return tuple({id(tool): tool for tool, _ in self.members}.values())

    @property
    def targets(self) -> tuple[str, ...]:
        """The affected targets and providers, targets first."""
        affected = dict.fromkeys(target for _, issue in self.members for target in issue.targets)
        return (
            *(target for target in Target if target in affected),
            *(key for key in affected if key not in set(Target)),
        )

    def as_data(self) -> dict[str, Any]:
        """Return the group as JSON data."""
        finding = self.first.finding
        accepted = {"accepted": self.first.accepted} if self.first.accepted else {}
        return {
            "pattern": finding.pattern,
            "severity": str(finding.severity),
            "message": self.message,
            "fix": finding.fix,
            "targets": [str(target) for target in self.targets],
            "tools": list(dict.fromkeys(tool.tool.name for tool in self.tools)),
            "issues": len(self.members),
            "clients": list(finding.clients),
            "providers": list(finding.providers),
            "share": round(share_of(self.first), 3),
        } | accepted


def _quote(schema: Any, parts: Sequence[str]) -> str:
    """Return the member of `schema` at a JSON Pointer as `"name": value`; empty for the root or if there is none."""
    value = schema
    try:
        for part in parts:
            value = value[int(part)] if isinstance(value, list) else value[part]
        text = json.dumps(value, ensure_ascii=False)
    except (KeyError, IndexError, TypeError, ValueError):
        return ""
    if not parts:
        return ""
    line = text if parts[-1].isdigit() else f"{json.dumps(parts[-1], ensure_ascii=False)}: {text}"
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}..."


def sort_groups(groups: Sequence[IssueGroup], policy: Policy) -> tuple[IssueGroup, ...]:
    """Return the groups that fail first, otherwise in their order."""
    return tuple(sorted(groups, key=lambda group: not policy.fails(group.first)))


def group_issues(tools: Sequence[AuditedTool]) -> tuple[IssueGroup, ...]:
    """Return one group for each cause, sorted by severity, then by the number of tools and of issues."""
    groups: dict[_Key, list[tuple[AuditedTool, Issue]]] = {}
    for tool in tools:
        for issue in tool.issues:
            finding = issue.finding
            key = (finding.severity, finding.pattern, finding.reason, finding.fix, issue.accepted)
            groups.setdefault(key, []).append((tool, issue))
    result = (IssueGroup(members=tuple(members)) for members in groups.values())
    return tuple(
        sorted(result, key=lambda group: (group.first.finding.severity.rank, -len(group.tools), -len(group.members)))
    )
