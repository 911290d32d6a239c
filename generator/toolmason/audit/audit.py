"""Check tools for targets and compute the schemas to send instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import kind_of, quoted

from toolmason.audit.sources import Source
from toolmason.audit.tool_lists import ToolDeclaration
from toolmason.diagnostics import Location
from toolmason.schema import Finding, Projection, Severity, Target, advertise, project
from toolmason.schema.check import check_targets
from toolmason.schema.hosts import hosts

DUPLICATE: Final = "name"
"""The pattern of a second tool with the same name."""
TOOL_COUNT: Final = "tool-count"
TOOL_NAME: Final = "tool-name"
"""The patterns of more tools than a provider accepts, and of a name that it rejects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A finding, the affected targets and providers of `hosts.toml`, and its location if known.

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


def audit(source: Source, selected: Sequence[Target] = (), *, providers: Sequence[str] = ()) -> tuple[AuditedTool, ...]:
    """Check each tool of `source` for the selected targets and providers (keys of `hosts.toml`).

    The default target is that of the tool's format. A tool with one target is projected for it, other tools for
    an MCP server.
    """
    names: set[str] = set()
    audited = []
    for tool in source.tools:
        targets = tuple(selected) or (tool.target,)
        projection_target = targets[0] if len(targets) == 1 else Target.MCP
        projection = _project(tool, projection_target)
        affected: dict[Finding, list[str]] = {}
        if tool.original is not None:
            affected = {finding: [projection_target] for finding in projection.findings}
        own = tuple(_own_findings(tool, is_duplicate=tool.name in names))
        checked = check_targets(tool.schema, (*targets, *providers)) if isinstance(tool.schema, dict | bool) else {}
        for provider in providers:
            for finding in _host_findings(tool, provider, len(source.tools)):
                affected.setdefault(finding, []).append(provider)
        for target in (*targets, *providers):
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


def _project(tool: ToolDeclaration, target: Target) -> Projection:
    """Project the schema of a tool; a missing schema stands for a tool without arguments."""
    schema = tool.source_schema
    if not isinstance(schema, dict | bool):
        schema = {"type": "object", "properties": {}}
    return advertise(schema) if target is Target.MCP else project(schema, target)


def _own_findings(tool: ToolDeclaration, *, is_duplicate: bool) -> Iterator[Finding]:
    """Yield the findings about a tool that every target rejects."""
    if is_duplicate:
        message = f"an earlier tool has the same name, {quoted(tool.name)}"
        yield _refused(DUPLICATE, "an earlier tool has the same name", "rename it", message)
    if tool.schema is None and tool.is_mcp:
        fix = 'add `{"type": "object", "properties": {}}`'
        yield _refused("inputSchema", "the tool has no `inputSchema`, which MCP requires", fix)
    elif tool.schema is not None and not isinstance(tool.schema, dict):
        key = "inputSchema" if tool.is_mcp else "parameters"
        yield _refused(key, f"the schema must be an object, not {kind_of(tool.schema)}", "write an object")


def _host_findings(tool: ToolDeclaration, key: str, tool_count: int) -> Iterator[Finding]:
    """Yield the findings about the limits of a provider for one request."""
    host = hosts()[key]
    if host.max_tools is not None and tool_count > host.max_tools:
        yield _refused(TOOL_COUNT, f"{host.title} accepts {host.max_tools} tools in one request", "offer fewer tools")
    if host.max_name is not None and len(tool.name) > host.max_name:
        yield _refused(TOOL_NAME, f"{host.title} accepts names of {host.max_name} characters", "shorten the name")
    elif host.name_pattern is not None and not host.name_pattern.fullmatch(tool.name):
        yield _refused(TOOL_NAME, f"{host.title} accepts names of the form `{host.name_pattern.pattern}`", "rename it")


def _refused(pattern: str, reason: str, fix: str, message: str = "") -> Finding:
    """Return a finding about a whole tool. `message` replaces the reason in its text, for example to quote a name."""
    return Finding(
        pointer="",
        pattern=pattern,
        severity=Severity.REFUSED,
        lossy=True,
        message=f"{message or reason}; {fix}",
        reason=reason,
        fix=fix,
    )
