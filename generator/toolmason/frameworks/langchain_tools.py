"""Tools of LangChain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from langchain_core.tools import StructuredTool, ToolException

from toolmason.frameworks.tools import ServedTool

_TAKEN: Final = ("config", "run_manager", "self")
"""Arguments of `StructuredTool` itself."""


def native_tools(tools: Sequence[ServedTool]) -> list[Any]:
    """Return a `StructuredTool` for each tool, for `ainvoke`."""
    return [_native(tool) for tool in tools]


def _native(tool: ServedTool) -> StructuredTool:
    # LangChain passes these itself, so an argument of the same name gets another one.
    renamed = {f"{name}_": name for name in _TAKEN if name in tool.schema.get("properties", {})}

    async def invoke(**arguments: Any) -> Any:
        outcome = await tool.call({renamed.get(name, name): value for name, value in arguments.items()})
        if outcome.is_error:
            raise ToolException(outcome.text)
        if outcome.is_text:
            return outcome.text
        return [
            {"type": block["type"], "base64": block["data"], "mime_type": block["mimeType"]}
            if block["type"] in {"audio", "image"}
            else {"type": "text", "text": block.get("text") or json.dumps(block, ensure_ascii=False)}
            for block in outcome.content
        ]

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=_with_names(tool.schema, {name: shown for shown, name in renamed.items()}),
        coroutine=invoke,
        handle_tool_error=True,
    )


def _with_names(schema: dict[str, Any], shown: dict[str, str]) -> dict[str, Any]:
    """Return the schema of arguments with other names."""
    if not shown:
        return schema
    properties = {shown.get(name, name): part for name, part in schema["properties"].items()}
    required = [shown.get(name, name) for name in schema.get("required", ())]
    return {**schema, "properties": properties, "required": required}
