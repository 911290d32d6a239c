"""Findings about a tool apart from the schema of its input: its name, its other members, the schema of its output."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.shared.toml.problems import kind_of, quoted

from toolmason.audit.tool_lists import ToolDeclaration
from toolmason.clients import clients
from toolmason.schema import Finding, Severity, Target
from toolmason.schema.check import check, finding_of
from toolmason.schema.hosts import hosts
from toolmason.schema.providers import providers

DUPLICATE: Final = "name"
"""The pattern of a second tool with the same name."""
TOOL_COUNT: Final = "tool-count"
TOOL_NAME: Final = "tool-name"
"""The patterns of more tools than a provider accepts, and of a name that it rejects."""
MAX_NAME: Final = 64
"""Maximum characters of a name that every provider accepts."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]*")
"""The names that MCP recommends."""
_OPTIONAL_MEMBERS: Final = ("title", "description", "annotations", "outputSchema", "_meta")
_DIALECT_2020: Final = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a provider or client accepts in one request; None for anything."""

    title: str
    max_tools: int | None = None
    max_name: int | None = None
    name_pattern: re.Pattern[str] | None = None


def limits_of(key: str) -> Limits:
    """Return the limits of a provider or client; a client without a known limit has none."""
    row = providers().providers.get(key) or hosts().get(key)
    if row is not None:
        return Limits(title=row.title, max_tools=row.max_tools, max_name=row.max_name, name_pattern=row.name_pattern)
    client = clients().get(key)
    names = client.names if client else None
    return Limits(title=names.title, max_tools=names.max_tools) if names else Limits(title=key)


def limit_findings(tool: ToolDeclaration, key: str, tool_count: int) -> Iterator[Finding]:
    """Yield the findings about the limits of a provider or client for one request."""
    limits = limits_of(key)
    title = f"{limits.title[:1].upper()}{limits.title[1:]}"
    if limits.max_tools is not None and tool_count > limits.max_tools:
        yield _refused(TOOL_COUNT, f"{title} accepts {limits.max_tools} tools in one request", "offer fewer tools")
    if limits.max_name is not None and len(tool.name) > limits.max_name:
        yield _refused(TOOL_NAME, f"{title} accepts names of {limits.max_name} characters", "shorten the name")
    elif limits.name_pattern is not None and not limits.name_pattern.fullmatch(tool.name):
        yield _refused(TOOL_NAME, f"{title} accepts names of the form `{limits.name_pattern.pattern}`", "rename it")


def is_about_declaration(finding: Finding) -> bool:
    """Return whether another schema of the input leaves a finding as it is."""
    return finding.pattern in {DUPLICATE, TOOL_COUNT, TOOL_NAME, *providers().tool_rules}


def declaration_findings(tool: ToolDeclaration, targets: Sequence[Target], *, is_duplicate: bool) -> Iterator[Finding]:
    """Yield the findings about a tool that every target rejects, and with `mcp` those of its clients."""
    if is_duplicate:
        message = f"an earlier tool has the same name, {quoted(tool.name)}"
        yield _refused(DUPLICATE, "an earlier tool has the same name", "rename it", message)
    if tool.schema is None and tool.is_mcp:
        fix = 'add `{"type": "object", "properties": {}}`'
        yield _refused("inputSchema", "the tool has no `inputSchema`, which MCP requires", fix)
    elif tool.schema is not None and not isinstance(tool.schema, dict):
        key = "inputSchema" if tool.is_mcp else "parameters"
        yield _refused(key, f"the schema must be an object, not {kind_of(tool.schema)}", "write an object")
    if tool.is_mcp and Target.MCP in targets:
        yield from _name_findings(tool.name)
        for member in _OPTIONAL_MEMBERS:
            if member in tool.declaration and tool.declaration[member] is None:
                yield _ruled("null-member", f"`{member}: null`")
        if tool.declaration.get("outputSchema") is not None:
            yield from _output_findings(tool.declaration["outputSchema"])


def _name_findings(name: str) -> Iterator[Finding]:
    if len(name) > MAX_NAME:
        yield _ruled("tool-name-length", f"a name of {len(name)} characters")
    if not _NAME.fullmatch(name):
        yield _ruled(TOOL_NAME, quoted(name))
    elif "." in name:
        yield _ruled("tool-name-dot", quoted(name))


def _output_findings(schema: Any) -> Iterator[Finding]:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        yield _ruled("output-not-object", "`outputSchema`")
        return
    properties = schema.get("properties")
    for name, value in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(value, dict):
            yield _ruled("output-property", f"{quoted(name)} in `outputSchema`")
    if "$schema" in schema and str(schema["$schema"]).rstrip("#") != _DIALECT_2020:
        yield _ruled("output-dialect", f"`$schema: {schema['$schema']}` in `outputSchema`")
    if any("recursive-$ref" in finding.pattern for finding in check(schema, Target.MCP)):
        yield _ruled("output-recursive", "a cycle in `outputSchema`")


def _ruled(pattern: str, subject: str) -> Finding:
    """Return a finding of a rule in `tool_rules` of `providers.toml`. `subject` begins its message."""
    return finding_of(providers().tool_rules[pattern], subject, pattern=pattern, pointer="")


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
