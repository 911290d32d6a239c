"""An MCP server with odd tools, which answers with the results of `ANSWERS` or repeats its arguments."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool
from odd_tools import ANSWERS, TOOLS

VALID = [tool for tool in TOOLS if tool["name"] not in {"broken", "no_schema"}]
"""The tools that the SDK of the server can send."""


async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
    """Return the tools."""
    return ListToolsResult(tools=[Tool.model_validate(tool) for tool in VALID])


async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
    """Return the answer of a tool, or its arguments as text."""
    if params.name in ANSWERS:
        return CallToolResult(content=[], structured_content=ANSWERS[params.name])
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(params.arguments))])


def build_server() -> Server[Any]:
    """Return the server."""
    return Server("odd/server", on_list_tools=list_tools, on_call_tool=call_tool)


async def main() -> None:
    """Serve over stdio."""
    server = build_server()
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(main())
