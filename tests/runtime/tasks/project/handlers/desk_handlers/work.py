"""Work that takes long."""

# ruff: noqa: ARG001 - a handler is given both arguments, whether or not it needs them

from __future__ import annotations

import asyncio
from typing import Any

from toolmason_runtime import Content, ToolCall

FORM = {"type": "object", "properties": {}}


async def compute(params: Any, call: ToolCall) -> Content:
    """Answer after some seconds."""
    await call.progress(0, params.seconds, "computing")
    await asyncio.sleep(params.seconds)
    return f"computed for {params.seconds:g} s"


async def confirm(params: Any, call: ToolCall) -> Content:
    """Ask the user in the middle."""
    if not call.answered:
        await asyncio.sleep(1)
    answer = await call.elicit(f"Change {params.name}?", FORM, key="change")
    return f"{params.name}: {answer['action']}"


async def nightly(params: Any, call: ToolCall) -> Content:
    """Return whether the call is a task."""
    return f"is a task: {call.is_task}"
