"""Other clients run tasks of `tests/runtime/tasks/project`: FastMCP with `fastmcp-tasks`, and Pydantic AI."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[1] / "runtime" / "tasks" / "project"
PATIENCE_S = 60


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the server's state."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[str]:
    """The address of the generated server, which runs."""
    project = tmp_path_factory.mktemp("tasks") / "project"
    shutil.copytree(PROJECT, project)
    subprocess.run([sys.executable, "-m", "toolmason", "generate"], cwd=project, check=True, timeout=120)
    sources = os.pathsep.join([str(project / "generated"), str(project / "handlers")])
    environ = os.environ | {"PYTHONPATH": sources, "XDG_STATE_HOME": str(state)}
    command = [sys.executable, "-m", "desk_server", "--http", "--port", "0"]
    with subprocess.Popen(command, cwd=project, env=environ, stderr=subprocess.PIPE, encoding="utf-8") as server:
        try:
            assert server.stderr
            address = re.search(r"http://\S+", server.stderr.readline())
            assert address
            yield address[0]
        finally:
            server.kill()


@pytest.fixture(autouse=True)
def stored_tasks(state: Path) -> Iterator[None]:
    """Check that the test has created tasks, and not only waited for results."""

    def stored() -> set[str]:
        return {path.name for path in state.glob("toolmason/tasks/desk/task_*")}

    before = stored()
    yield
    assert stored() - before


def test_fastmcp_gets_the_results_of_tasks_and_answers_their_questions(url: str) -> None:
    from fastmcp import Client
    from fastmcp_tasks import call_tool_task

    asked = []

    async def answer(message: str, *_: Any) -> dict[str, Any]:
        asked.append(message)
        return {}

    async def scenario() -> None:
        async with Client(url, elicitation_handler=answer) as client:
            fast = await client.call_tool("compute", {"seconds": 0})
            slow = await client.call_tool("compute", {"seconds": 1.5})
            assert [result.content[0].text for result in (fast, slow)] == ["computed for 0 s", "computed for 1.5 s"]
            needed = await client.call_tool("nightly", {})
            assert needed.content[0].text == "is a task: True"
            confirmed = await client.call_tool("confirm", {"name": "the file"})
            assert confirmed.content[0].text == "the file: accept"
            task = await call_tool_task(client, "compute", {"seconds": 600})
            assert (await task.status()).status == "working"
            await task.cancel()
            while (status := (await task.status()).status) == "working":  # noqa: ASYNC110  a task is polled
                await asyncio.sleep(0.1)
            assert status == "cancelled"

    asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S))
    assert asked == ["Change the file?"]


def test_an_agent_of_pydantic_ai_gets_the_result_of_a_task(url: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    def model(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        returned = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        call = ToolCallPart("compute", {"seconds": 1.5})
        return ModelResponse(parts=[TextPart(f"it {returned[0]}") if returned else call])

    async def scenario() -> str:
        toolset = MCPToolset(url, prefer_tasks=True)
        async with Agent(FunctionModel(model), toolsets=[toolset]) as agent:
            return str((await agent.run("Compute")).output)

    assert asyncio.run(asyncio.wait_for(scenario(), PATIENCE_S)) == "it computed for 1.5 s"
