"""Handlers that answer, wait and fail."""

from __future__ import annotations

import asyncio
from typing import Any

from toolmason_runtime import ToolCall


async def list_entries(params: Any, call: ToolCall) -> str:  # noqa: ARG001  a handler gets both
    return f"entries with {params.word!r}"


async def record_entry(params: Any, call: ToolCall) -> str:  # noqa: ARG001  a handler gets both
    return f"recorded {params.text}"


async def wait(params: Any, call: ToolCall) -> str:  # noqa: ARG001  there are none
    await call.progress(0)
    await asyncio.sleep(60)
    return "waited"


async def fail(params: Any, call: ToolCall) -> str:  # noqa: ARG001  there are none
    raise ZeroDivisionError("a secret of the server")
