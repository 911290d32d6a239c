"""Tools of the Google Gen AI SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.genai import types

from toolmason.frameworks.tools import ServedTool


def native_tools(tools: Sequence[ServedTool]) -> list[Any]:
    """Return one `types.Tool` with the declarations of all tools. `ToolSet.call` answers a function call."""
    declarations = [
        types.FunctionDeclaration(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
        for tool in tools
    ]
    return [types.Tool(function_declarations=declarations)]
