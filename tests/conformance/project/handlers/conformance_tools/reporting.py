"""Tools that say how they are getting on."""

# ruff: noqa: ARG001 - a handler is given both arguments, whether or not it needs them

from __future__ import annotations

from toolmason_runtime import Content, ToolCall, ToolError


async def with_progress(params: object, call: ToolCall) -> Content:
    """Report 0, 50 and 100 of 100."""
    for done in (0, 50, 100):
        await call.progress(done, 100, f"Completed {done} of 100")
    return "Progress was reported three times."


async def with_logging(params: object, call: ToolCall) -> Content:
    """Send three messages at level info."""
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await call.log("info", message)
    return "Three log messages were sent."


async def failing(params: object, call: ToolCall) -> Content:
    """Fail on purpose.

    Raises:
        ToolError: always.
    """
    raise ToolError("This tool intentionally returns an error for testing")
