"""Format tools with transformed schemas for an MCP server or a provider's request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason.audit.audit import AuditedTool
from toolmason.schema import Target

DESCRIPTIONS: Final[Mapping[Target, str]] = {
    Target.MCP: "`inputSchema` of an MCP tool: JSON Schema that every client's converter preserves",
    Target.GEMINI_PARAMETERS: "`parameters` of a Gemini function declaration, Developer API: protobuf message `Schema`",
    Target.GEMINI_VERTEX: "`parameters` of a Gemini function declaration on Vertex AI",
    Target.GEMINI_JSON: "`parametersJsonSchema` of a Gemini function declaration, both APIs",
    Target.OPENAI: "`function.parameters` of OpenAI, `strict` off",
    Target.OPENAI_STRICT: "`function.parameters` of OpenAI with `strict: true`",
    Target.ANTHROPIC: "`input_schema` of Anthropic",
}


def format_tools(tools: Sequence[AuditedTool], target: Target) -> Any:
    """Return a list of tools in the target's format."""
    formatted = [_format_tool(tool, target) for tool in tools]
    match target:
        case Target.MCP:
            return {"tools": formatted}
        case Target.GEMINI_PARAMETERS | Target.GEMINI_VERTEX | Target.GEMINI_JSON:
            return [{"functionDeclarations": formatted}]
        case _:
            return formatted


def _format_tool(tool: AuditedTool, target: Target) -> dict[str, Any]:
    schema, declaration = tool.projection.schema, tool.tool.declaration
    if target is Target.MCP and tool.tool.is_mcp:
        return {**declaration, "inputSchema": schema}
    common = {"name": tool.tool.name}
    if isinstance(description := declaration.get("description"), str):
        common["description"] = description
    match target:
        case Target.MCP:
            return {**common, "inputSchema": schema}
        case Target.GEMINI_PARAMETERS | Target.GEMINI_VERTEX:
            return {**common, "parameters": schema}
        case Target.GEMINI_JSON:
            return {**common, "parametersJsonSchema": schema}
        case Target.OPENAI:
            return {"type": "function", "function": {**common, "parameters": schema}}
        case Target.OPENAI_STRICT:
            return {"type": "function", "function": {**common, "strict": True, "parameters": schema}}
        case Target.ANTHROPIC:
            return {**common, "input_schema": schema}
