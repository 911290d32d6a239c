"""Hold tools against targets: what each would refuse or lose as the tool stands, and what to send instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolmason_runtime.toml.problems import kind_of, quoted

from toolmason.audit.sources import Source
from toolmason.audit.tool_lists import ListedTool
from toolmason.diagnostics import Location
from toolmason.schema import Finding, Projection, Severity, Target, advertise, check, project


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """A finding, whom it is about, and where it stands if that is known."""

    finding: Finding
    targets: tuple[Target, ...]
    location: Location | None = None

    def as_data(self) -> dict[str, Any]:
        """Give it as JSON data."""
        at = self.location
        where = None if at is None else {"file": str(at.path), "line": at.line, "column": at.column}
        return self.finding.as_data() | {"targets": [str(each) for each in self.targets], "location": where}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedTool:
    """A tool, what is wrong with its schema as it stands (worst first), and its schema as it should be sent."""

    tool: ListedTool
    source: str
    issues: tuple[Issue, ...]
    projection: Projection
    location: Location | None

    def is_compatible(self, threshold: Severity) -> bool:
        """Whether no issue is as severe as `threshold`."""
        return all(each.finding.severity.rank > threshold.rank for each in self.issues)

    @property
    def transforms(self) -> tuple[str, ...]:
        """Say what was changed to get from the one schema to the other, each thing once, with its place."""
        return tuple(dict.fromkeys(f"{each.path}: {each.message}" for each in self.projection.findings))


def audit(source: Source, targets: Sequence[Target]) -> tuple[AuditedTool, ...]:
    """Check the tools of `source` for all `targets`; project them for the one target, or for an MCP server."""
    for_one = targets[0] if len(targets) == 1 else Target.MCP
    twice = _named_twice(source.tools)
    projections = [projected(tool, for_one) for tool in source.tools]
    found = [
        _checked(tool, targets, index in twice, {} if tool.original is None else dict.fromkeys(made.findings, for_one))
        for index, (tool, made) in enumerate(zip(source.tools, projections, strict=True))
    ]
    spots = [(tool, "") for tool in source.tools]
    spots += [(tool, each.pointer) for tool, issues in zip(source.tools, found, strict=True) for each in issues]
    places = iter(source.locate(spots))
    tool_places = [next(places) for _ in source.tools]
    return tuple(
        AuditedTool(
            tool=tool,
            source=source.name,
            issues=tuple(
                Issue(finding=finding, targets=those, location=next(places)) for finding, those in issues.items()
            ),
            projection=made,
            location=place,
        )
        for tool, made, issues, place in zip(source.tools, projections, found, tool_places, strict=True)
    )


def projected(tool: ListedTool, target: Target) -> Projection:
    """Give the schema of a tool as `target` takes it; where there is none, that of a tool without arguments."""
    given = tool.source_schema
    schema = given if isinstance(given, dict | bool) else {"type": "object", "properties": {}}
    return advertise(schema) if target is Target.MCP else project(schema, target)


def _checked(
    tool: ListedTool, targets: Sequence[Target], is_second: bool, given_up: Mapping[Finding, Target]
) -> Mapping[Finding, tuple[Target, ...]]:
    """List the findings of all targets, worst first, each with those that it is about; `given_up` are among them."""
    found: dict[Finding, list[Target]] = {finding: [target] for finding, target in given_up.items()}
    every = [*_about_declaration(tool)]
    if is_second:
        message = f"a tool before it is called {quoted(tool.name)} too"
        every.append(_refused("name", message))
    for target in targets:
        for finding in (*every, *_check(tool.schema, target)):
            found.setdefault(finding, []).append(target)
    worst_first = sorted(found.items(), key=lambda item: item[0].severity.rank)
    return {finding: tuple(those) for finding, those in worst_first}


def _check(schema: Any, target: Target) -> tuple[Finding, ...]:
    return check(schema, target) if isinstance(schema, dict | bool) else ()


def _about_declaration(tool: ListedTool) -> Iterable[Finding]:
    if tool.schema is None:
        if tool.is_mcp:
            yield _refused("inputSchema", "the tool has no `inputSchema`, which MCP requires")
    elif not isinstance(tool.schema, dict):
        key = "inputSchema" if tool.is_mcp else "parameters"
        yield _refused(key, f"the schema is {kind_of(tool.schema)}, not an object")


def _refused(pattern: str, message: str) -> Finding:
    return Finding(pointer="", pattern=pattern, severity=Severity.REFUSED, lossy=True, message=message)


def _named_twice(tools: Iterable[ListedTool]) -> set[int]:
    seen: set[str] = set()
    twice: set[int] = set()
    for index, tool in enumerate(tools):
        if tool.name in seen:
            twice.add(index)
        seen.add(tool.name)
    return twice
