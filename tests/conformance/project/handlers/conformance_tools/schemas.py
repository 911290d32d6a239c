"""Tools whose arguments are described by raw JSON Schema."""

# ruff: noqa: ARG001 - a handler is given both arguments, whether or not it needs them

from __future__ import annotations

import json
from typing import Any

from toolmason_runtime import Content, ToolCall


async def contact(params: dict[str, Any], call: ToolCall) -> Content:
    """Give the arguments back."""
    return json.dumps(params)


async def region(params: dict[str, Any], call: ToolCall) -> Content:
    """Give the region back."""
    return f"Running in {params['region']}"
