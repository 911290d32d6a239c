"""An upstream of 2026-07-28: `modern_server.py DIRECTORY`. It records its events in files of the directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import anyio
from mcp import MCPError, types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

DIRECTORY = Path(sys.argv[1])
FORM: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
NAMES = ("log", "ask", "long_text", "structure", "fail", "refuse")


async def list_tools(ctx: ServerRequestContext[Any], params: Any) -> types.ListToolsResult:  # noqa: ARG001
    return types.ListToolsResult(tools=[types.Tool(name=name, input_schema={"type": "object"}) for name in NAMES])


async def call_tool(
    ctx: ServerRequestContext[Any], params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    match params.name:
        case "ask":
            answer = (params.input_responses or {}).get("who")
            if answer is None:
                form = types.ElicitRequestFormParams(message="Who are you?", requested_schema=FORM)
                return types.InputRequiredResult(input_requests={"who": types.ElicitRequest(params=form)})
            return text(f"Hello {answer.model_dump()['content']['name']}")
        case "structure":
            rows = [f"row {number}" for number in range(20_000)]
            return types.CallToolResult(
                content=[types.TextContent(type="text", text="rows")], structured_content={"rows": rows}
            )
        case "log":
            data = types.LoggingMessageNotificationParams(level="warning", data="low paper", logger="printer")
            notification = types.LoggingMessageNotification(params=data)
            await ctx.session.send_notification(notification, related_request_id=ctx.request_id)
            return text("logged")
        case "long_text":
            return text("\n".join(f"line {number}" for number in range(20_000)))
        case "fail":
            return types.CallToolResult(content=[types.TextContent(type="text", text="no paper")], is_error=True)
        case "refuse":
            raise MCPError(code=-32000, message="no\x1b[31m ink")
    raise ValueError(f"Unknown tool: {params.name}")


def text(value: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=value)])


async def main() -> None:
    with (DIRECTORY / "pids").open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    server: Server[Any] = Server("modern", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
