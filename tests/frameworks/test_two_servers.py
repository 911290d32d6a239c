"""Two servers in one agent: frameworks without a prefix of their own list all tools of both, under different names."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

NOTES = Path(__file__).parents[1] / "clients" / "notes.toml"
PYTHON = os.environ.get("TOOLMASON_PYTHON", sys.executable)
"""Starts the servers: `nox -s frameworks` gives them another environment, since a framework needs an older mcp."""
Commands = tuple[list[str], ...]
NAMES = {
    *("workbench_search", "workbench_call", "workbench_call_read"),
    *("notes_search", "notes_call"),
}
Ask = Callable[[Commands], Coroutine[Any, Any, tuple[list[str], str]]]
"""Returns the names of all tools, and the text of a search, from the arguments of Python that start the servers."""


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Commands:
    project = tmp_path_factory.mktemp("notes")
    manifest = shutil.copy(NOTES, project)
    subprocess.run([PYTHON, "-m", "toolmason", "generate", "--manifest", manifest], cwd=project, check=True)
    return ["-m", "workbench_server"], ["-m", "toolmason", "run", str(manifest)]


async def openai_agents(commands: Commands) -> tuple[list[str], str]:
    from agents import Agent, RunContextWrapper
    from agents.mcp import MCPServerStdio

    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(
                MCPServerStdio(params={"command": PYTHON, "args": args}, client_session_timeout_seconds=120)
            )
            for args in commands
        ]
        agent: Any = Agent(name="two", mcp_servers=servers)
        tools = await agent.get_all_tools(RunContextWrapper(None))
        result = await servers[0].call_tool("workbench_search", {"query": "read files"})
        return [tool.name for tool in tools], str(result.content[0])


async def pydantic_ai(commands: Commands) -> tuple[list[str], str]:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.test import TestModel

    model = TestModel(call_tools=["workbench_search"])
    toolsets = [MCPToolset(StdioTransport(command=PYTHON, args=args)) for args in commands]
    agent: Any = Agent(model, toolsets=toolsets)
    async with agent:
        result = await agent.run("Find a tool")
    parameters: Any = model.last_model_request_parameters
    return [tool.name for tool in parameters.function_tools], str(result.all_messages())


async def strands(commands: Commands) -> tuple[list[str], str]:
    from mcp import StdioServerParameters, stdio_client
    from strands import Agent
    from strands.tools.mcp import MCPClient

    def client(args: list[str]) -> Any:
        return MCPClient(lambda: stdio_client(StdioServerParameters(command=PYTHON, args=args)), startup_timeout=120)

    def ask() -> tuple[list[str], str]:
        clients = [client(args) for args in commands]
        agent: Any = Agent(model="unused", tools=clients)
        try:
            names = list(agent.tool_names)
            return names, str(clients[0].call_tool_sync("1", "workbench_search", {"query": "read files"}))
        finally:
            agent.cleanup()

    return await asyncio.to_thread(ask)


@pytest.mark.parametrize("ask", [openai_agents, pydantic_ai, strands], ids=lambda ask: ask.__name__)
def test_two_servers_in_one_agent_have_different_names(ask: Ask, commands: Commands) -> None:
    names, answer = asyncio.run(ask(commands))

    assert set(names) >= NAMES
    assert len(names) == len(set(names))
    assert "hint" in answer
