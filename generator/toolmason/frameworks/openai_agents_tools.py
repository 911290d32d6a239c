"""Tools of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agents import FunctionTool
from agents.tool import ToolOutputImage, ToolOutputText

from toolmason.frameworks.tools import Outcome, ServedTool


def native_tools(tools: Sequence[ServedTool]) -> list[Any]:
    """Return a `FunctionTool` for each tool."""
    return [_native(tool) for tool in tools]


def _native(tool: ServedTool) -> FunctionTool:
    async def invoke(_context: Any, arguments: str) -> Any:
        try:
            parsed = json.loads(arguments or "{}")
        except ValueError as error:
            return f"The arguments are not JSON: {error}"
        if not isinstance(parsed, dict):
            return "The arguments are not a JSON object"
        return _shown(await tool.call(parsed))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        strict_json_schema=tool.is_strict,
    )


def _shown(outcome: Outcome) -> Any:
    if outcome.is_text:
        return outcome.text
    blocks: list[Any] = []
    for block in outcome.content:
        if block["type"] == "image":
            blocks.append(ToolOutputImage(image_url=f"data:{block['mimeType']};base64,{block['data']}"))
        else:
            blocks.append(ToolOutputText(text=block.get("text") or json.dumps(block, ensure_ascii=False)))
    return blocks
