"""Tools of Pydantic AI."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from pydantic_ai import BinaryContent, ModelRetry, Tool

from toolmason.frameworks.tools import ServedTool


def native_tools(tools: Sequence[ServedTool]) -> list[Any]:
    """Return a `Tool` for each tool. An error asks the model to try again, as for tools of MCP."""
    return [_native(tool) for tool in tools]


def _native(tool: ServedTool) -> Tool[Any]:
    async def invoke(**arguments: Any) -> Any:
        outcome = await tool.call(arguments)
        if outcome.is_error:
            raise ModelRetry(outcome.text)
        if outcome.is_text:
            return outcome.text
        return [
            BinaryContent(data=base64.b64decode(block["data"]), media_type=block["mimeType"])
            if block["type"] in {"audio", "image"}
            else block.get("text") or json.dumps(block, ensure_ascii=False)
            for block in outcome.content
        ]

    return Tool.from_schema(invoke, name=tool.name, description=tool.description, json_schema=tool.schema)
