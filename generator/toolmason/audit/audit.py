"""Check tools for targets and compute the schemas to send instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from toolmason.audit.declarations import declaration_findings, limit_findings
from toolmason.audit.sources import Source
from toolmason.audit.tool_lists import ToolDeclaration
from toolmason.diagnostics import Location
from toolmason.schema import Finding, Projection, Target, advertise, project
from toolmason.schema.check import check_targets
from toolmason.schema.hosts import hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A finding, the affected targets, providers and clients, and its location if known.

    `accepted` is the reason for ignoring the issue; empty if the issue counts.
    """

    finding: Finding
    targets: tuple[str, ...]
    location: Location | None = None
    accepted: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return the issue as JSON data."""
        at = self.location
        location = None if at is None else {"file": str(at.path), "line": at.line, "column": at.column}
        accepted = {"accepted": self.accepted} if self.accepted else {}
        targets = [str(target) for target in self.targets]
        return self.finding.as_data() | {"targets": targets, "location": location} | accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedTool:
    """A tool, the issues of its current schema (most severe first), and the schema to send instead."""

    tool: ToolDeclaration
    source: str
    targets: tuple[Target, ...]
    issues: tuple[Issue, ...]
    projection: Projection
    location: Location | None

    @property
    def transforms(self) -> tuple[str, ...]:
        """The changes from the current schema to the new one, with their paths and without duplicates."""
        return tuple(dict.fromkeys(f"{finding.path}: {finding.message}" for finding in self.projection.findings))


def audit(
    source: Source, selected: Sequence[Target] = (), *, providers: Sequence[str] = (), convert_for: str = ""
) -> tuple[AuditedTool, ...]:
    """Check each tool of `source` for the selected targets and providers.

    `providers` are keys of providers and clients, whose limits for one request apply; those of `hosts.toml` have rules
    about schemas as well. The default target is that of the tool's format. A tool with one target is projected for it,
    other tools for an MCP server; with `convert_for`, each for this provider of `hosts.toml`.
    """
    ruled = tuple(key for key in providers if key in hosts())
    names: set[str] = set()
    audited = []
    for tool in source.tools:
        targets = tuple(selected) or (tool.target,)
        projection_target = targets[0] if len(targets) == 1 else Target.MCP
        projection = _project(tool, convert_for or projection_target)
        affected: dict[Finding, list[str]] = {}
        if tool.original is not None:
            affected = {finding: [projection_target] for finding in projection.findings}
        own = tuple(declaration_findings(tool, targets, is_duplicate=tool.name in names))
        checked = check_targets(tool.schema, (*targets, *ruled)) if isinstance(tool.schema, dict | bool) else {}
        for provider in providers:
            for finding in limit_findings(tool, provider, len(source.tools)):
                affected.setdefault(finding, []).append(provider)
        for target in (*targets, *ruled):
            for finding in (*own, *checked.get(target, ())):
                affected.setdefault(finding, []).append(target)
        names.add(tool.name)
        issues = tuple(
            Issue(finding=finding, targets=tuple(those), location=source.locate(tool, finding.pointer))
            for finding, those in sorted(affected.items(), key=lambda item: item[0].severity.rank)
        )
        location = source.locate(tool, "")
        audited.append(
            AuditedTool(
                tool=tool,
                source=source.name,
                targets=targets,
                issues=issues,
                projection=projection,
                location=location,
            )
        )
    return tuple(audited)


def _project(tool: ToolDeclaration, target: str) -> Projection:
    """Project the schema of a tool; a missing schema stands for a tool without arguments."""
    schema = tool.source_schema
    if not isinstance(schema, dict | bool):
        schema = {"type": "object", "properties": {}}
    return advertise(schema) if target is Target.MCP else project(schema, target)
