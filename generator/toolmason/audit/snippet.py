"""Code for a server that converts the schemas it sends, so that its tools need no change."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.declarations import is_about_declaration
from toolmason.audit.verdict import Policy
from toolmason.schema import Target
from toolmason.schema.check import check_targets
from toolmason.schema.hosts import hosts

SCHEMAS_FILE: Final = "tool-schemas.json"
_PYTHON_COMMAND: Final = re.compile(r"(^|[\s/\\])(python[\d.]*|uvx?|pipx|fastmcp)(\.exe)?(\s|$)|\.py(\s|$)")
# Valid as TypeScript without casts and as JavaScript. `rest`: the parameters of `send` differ between transports.
_TYPESCRIPT: Final = """\
transport.send = new Proxy(transport.send, {{
  apply(send, self, [message, ...rest]) {{
    if (Array.isArray(message.result?.tools)) {{
      message = JSON.parse(JSON.stringify(message));
{fix}
    }}
    return Reflect.apply(send, self, [message, ...rest]);
  }},
}});
"""
_REMOVE_BOOLEAN_ADDITIONAL_PROPERTIES: Final = """\
      for (const tool of message.result.tools)
        tool.inputSchema = JSON.parse(JSON.stringify(tool.inputSchema), (key, value) =>
          key === "additionalProperties" && typeof value === "boolean" ? undefined : value);"""
_REPLACE_SCHEMAS: Final = f"""\
      for (const {{ name, inputSchema }} of JSON.parse(readFileSync("{SCHEMAS_FILE}", "utf8")).tools)
        for (const tool of message.result.tools) if (tool.name === name) tool.inputSchema = inputSchema;"""
_PYTHON: Final = """\
from toolmason.schema import advertise

class Server(MCPServer):
    async def list_tools(self):
        return [
            tool.model_copy(update={"input_schema": advertise(tool.input_schema).schema})
            for tool in await super().list_tools()
        ]
"""


def snippet(tools: Sequence[AuditedTool], policy: Policy) -> list[str]:
    """Return lines with an instruction, code, and the patterns that remain; no lines if the code fixes nothing.

    The code is TypeScript, or Python if a Python command starts the server. Servers of manifests need no code: they
    already send converted schemas.
    """
    failing = [
        tool
        for tool in tools
        if tool.targets == (Target.MCP,) and tool.tool.original is None and not policy.accepts(tool)
    ]
    patterns = {issue.finding.pattern for tool in failing for issue in tool.issues if policy.fails(issue)}
    remaining = {pattern for tool in failing for pattern in _remaining_patterns(tool, policy)}
    if patterns <= remaining:
        return []
    lines = _instructions(failing[0].source, patterns)
    return [*lines, f"This code does not fix: {', '.join(sorted(remaining))}"] if remaining else lines


def _remaining_patterns(tool: AuditedTool, policy: Policy) -> Iterator[str]:
    """Yield the patterns of the findings that the converted schema of a tool still has."""
    named = (key for key in policy.providers if key in hosts())
    for target, findings in check_targets(tool.projection.schema, (Target.MCP, *named)).items():
        for finding in findings:
            if policy.fails(Issue(finding=finding, targets=(target,))):
                yield finding.pattern
    for issue in tool.issues:
        if policy.fails(issue) and is_about_declaration(issue.finding):
            yield issue.finding.pattern


def _instructions(source: str, patterns: Collection[str]) -> list[str]:
    if _PYTHON_COMMAND.search(source):
        return ["To fix all tools at once, use this subclass of the SDK's `MCPServer`:", *_PYTHON.splitlines()]
    if patterns == {"additionalProperties"}:
        return [
            "To fix all tools at once, add this TypeScript before `server.connect(transport)`:",
            *_code(_REMOVE_BOOLEAN_ADDITIONAL_PROPERTIES),
        ]
    return [
        f"To fix all tools at once, run `toolmason schema transform --server ... -o {SCHEMAS_FILE}`,",
        "import `readFileSync` from `node:fs`, and add this TypeScript before `server.connect(transport)`:",
        *_code(_REPLACE_SCHEMAS),
    ]


def _code(fix: str) -> list[str]:
    return _TYPESCRIPT.format(fix=fix).splitlines()
