"""The client of the official SDK against the generated Workbench, a process of its own at the other end of a pipe.

The oracle hears every message between them.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent
from oracle import LEGACY, MODERN, Oracle

from workbench_server.catalogue import CATALOGUE

REPOSITORY = Path(__file__).parents[2]
VERSIONS = {"legacy": LEGACY, "auto": MODERN, MODERN: MODERN}
"""How the client opens the connection, and the revision that is then spoken."""


Talk = Callable[[Client], Awaitable[None]]


@pytest.fixture(params=VERSIONS)
def converse(request: pytest.FixtureRequest, overheard: Any) -> Callable[[Talk], None]:
    """Start Workbench, talk with it as each kind of client, and end it; no message may break its revision of MCP."""
    mode = request.param
    arguments = ["-m", "workbench_server", "--root", str(REPOSITORY)]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))

    async def run(talk: Talk) -> None:
        oracle = Oracle(VERSIONS[mode])
        async with Client(overheard(stdio_client(server), oracle), mode=mode) as client:
            assert client.protocol_version == oracle.version
            await talk(client)
        assert oracle.seen

    return lambda talk: asyncio.run(run(talk))


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def test_the_client_lists_searches_and_calls_a_found_tool(converse: Callable[[Talk], None]) -> None:
    async def talk(client: Client) -> None:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == ["workbench_search", "workbench_call", "workbench_call_read"]

        answer = await client.call_tool("workbench_search", {"query": "lines that match a regular expression"})
        assert answer.structured_content is None
        assert json.loads(text_of(answer))["results"][0]["tool_name"] == "grep_content"

        arguments = {"pattern": "^build-backend", "search_path": "pyproject.toml"}
        found = await client.call_tool("workbench_call_read", {"tool_name": "grep_content", "args": arguments})
        assert not found.is_error, text_of(found)
        lines = text_of(found).splitlines()
        assert 'build-backend = "hatchling.build"' in "\n".join(lines)
        assert lines[:2] == ["[1 matching line]", "pyproject.toml"]

    converse(talk)


def test_an_unknown_tool_is_answered_with_the_nearest_names(converse: Callable[[Talk], None]) -> None:
    async def talk(client: Client) -> None:
        result = await client.call_tool("call_read", {"tool_name": "read_file", "args": {}})

        assert result.is_error
        assert "read_files" in text_of(result)

    converse(talk)


def test_every_tool_passes_the_oracle_whatever_it_answers(converse: Callable[[Talk], None]) -> None:
    async def talk(client: Client) -> None:
        for name, entry in CATALOGUE["tools"].items():
            for example in entry["examples"]:
                assert (await call(client, name, example["arguments"])).content
            assert (await call(client, name, {"path": 7, "unknown": None})).content

    async def call(client: Client, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        return await client.call_tool("call_read", {"tool_name": tool, "args": arguments})

    converse(talk)
