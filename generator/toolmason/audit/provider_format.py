"""Tools with their schemas replaced, as a server lists them or as a provider is given them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from toolmason.audit.audit import AuditedTool
from toolmason.schema import Target

_Declare = Callable[[AuditedTool], dict[str, Any]]


def rewritten(tools: Sequence[AuditedTool], target: Target) -> Any:
    """Give the schema of a single tool, or several tools in a list as the target takes them."""
    if len(tools) == 1:
        return tools[0].projection.schema
    declare, gather = _SHAPES[target]
    return gather([declare(each) for each in tools])


def _said(each: AuditedTool) -> dict[str, Any]:
    """Give what providers are told of a tool beside its schema."""
    description = each.tool.declaration.get("description")
    return {"name": each.tool.name} | ({"description": description} if isinstance(description, str) else {})


def _mcp(each: AuditedTool) -> dict[str, Any]:
    """Keep all that an MCP server says of its tool."""
    said = each.tool.declaration if each.tool.is_mcp else _said(each)
    return {**said, "inputSchema": each.projection.schema}


def _under(key: str) -> _Declare:
    return lambda each: {**_said(each), key: each.projection.schema}


def _function(each: AuditedTool) -> dict[str, Any]:
    return {"type": "function", "function": _under("parameters")(each)}


def _strict_function(each: AuditedTool) -> dict[str, Any]:
    function = {**_said(each), "strict": True, "parameters": each.projection.schema}
    return {"type": "function", "function": function}


def _listed(declarations: list[Any]) -> Any:
    return {"tools": declarations}


def _declarations(declarations: list[Any]) -> Any:
    return [{"functionDeclarations": declarations}]


_SHAPES: Final[Mapping[Target, tuple[_Declare, Callable[[list[Any]], Any]]]] = {
    Target.MCP: (_mcp, _listed),
    Target.GEMINI_PARAMETERS: (_under("parameters"), _declarations),
    Target.GEMINI_VERTEX: (_under("parameters"), _declarations),
    Target.GEMINI_JSON: (_under("parametersJsonSchema"), _declarations),
    Target.OPENAI: (_function, list),
    Target.OPENAI_STRICT: (_strict_function, list),
    Target.ANTHROPIC: (_under("input_schema"), list),
}
"""How a tool is declared to each target, and what its list of tools looks like."""
