"""Format tools with transformed schemas for an MCP server or a provider's request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolmason.audit.audit import AuditedTool
from toolmason.targets import Target


def format_tools(tools: Sequence[AuditedTool], target: Target) -> Any:
    """Return a list of tools in the target's format."""
    return target.request.tools([_format_tool(tool, target) for tool in tools])


def _format_tool(tool: AuditedTool, target: Target) -> dict[str, Any]:
    schema, declaration = tool.projection.schema, tool.tool.declaration
    if target is Target.MCP and tool.tool.is_mcp:
        return {**declaration, "inputSchema": schema}
    common = {"name": tool.tool.name}
    if isinstance(description := declaration.get("description"), str):
        common["description"] = description
    return target.request.tool(common, schema)
