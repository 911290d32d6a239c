"""The client of the official SDK against the generated Workbench, a process of its own at the other end of a pipe."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from workbench_server.catalogue import CATALOGUE

REPOSITORY = Path(__file__).parents[2]
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}
"""How the client opens the connection, and the revision that is then spoken."""


def workbench(mode: str) -> Client:
    """A client whose server starts and ends with it."""
    arguments = ["-m", "workbench_server", "--root", str(REPOSITORY)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    return Client(stdio_client(server), mode=mode)


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


@pytest.mark.parametrize("mode", VERSIONS)
def test_the_client_lists_searches_and_calls_what_it_found(mode: str) -> None:
    async def converse() -> None:
        async with workbench(mode) as client:
            assert client.protocol_version == VERSIONS[mode]

            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert listed == ["search", "call", "call_read", *CATALOGUE["discovery"]["pinned"]]

            answer = await client.call_tool("search", {"query": "lines that match a regular expression"})
            assert answer.structured_content
            assert answer.structured_content["results"][0]["tool_name"] == "grep_content"

            arguments = {"pattern": "^build-backend", "path": "pyproject.toml"}
            found = await client.call_tool("call_read", {"tool_name": "grep_content", "args": arguments})
            assert not found.is_error, text_of(found)
            assert "hatchling.build" in text_of(found)

    asyncio.run(converse())


@pytest.mark.parametrize("mode", VERSIONS)
def test_an_unknown_tool_is_answered_with_the_nearest_names(mode: str) -> None:
    async def converse() -> None:
        async with workbench(mode) as client:
            result = await client.call_tool("call_read", {"tool_name": "read_file", "args": {}})

        assert result.is_error
        assert "read_files" in text_of(result)

    asyncio.run(converse())
