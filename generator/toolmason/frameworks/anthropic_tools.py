"""Tools of Anthropic's SDK, for `client.beta.messages.tool_runner`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from anthropic import beta_async_tool
from anthropic.lib.tools import ToolError

from toolmason.frameworks.tools import ServedTool


def native_tools(tools: Sequence[ServedTool]) -> list[Any]:
    """Return a `BetaAsyncFunctionTool` for each tool."""
    return [_native(tool) for tool in tools]


def _native(tool: ServedTool) -> Any:
    async def invoke(**arguments: Any) -> Any:
        outcome = await tool.call(arguments)
        content = outcome.text if outcome.is_text else [_block(block) for block in outcome.content]
        if outcome.is_error:
            raise ToolError(content)
        return content

    schema: Any = tool.schema
    return beta_async_tool(invoke, name=tool.name, description=tool.description, input_schema=schema)


def _block(block: Mapping[str, Any]) -> Any:
    if block["type"] == "image":
        source = {"type": "base64", "media_type": block["mimeType"], "data": block["data"]}
        return {"type": "image", "source": source}
    return {"type": "text", "text": block.get("text") or json.dumps(block, ensure_ascii=False)}
