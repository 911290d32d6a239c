"""Questions, progress and messages of an upstream reach the client whose call caused them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    LoggingMessageNotificationParams,
    Root,
    TextContent,
)
from toolmason_runtime.programs.policy import DefaultAccess, Policy, ToolRule
from toolmason_runtime.serving import ProgramSettings

pytestmark = pytest.mark.anyio

Talk = Callable[..., AbstractAsyncContextManager[Client]]


def text_of(result: CallToolResult) -> str:
    """Return all texts of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


class Person:
    """Answers every question with `action`."""

    def __init__(self, action: Any = "accept", **content: Any) -> None:
        self.questions: list[str] = []
        self._action = action
        self._content = content

    async def __call__(self, context: Any, params: Any) -> ElicitResult:  # noqa: ARG002  the SDK gives it
        self.questions.append(params.message)
        return ElicitResult(action=self._action, content=self._content if self._action == "accept" else None)


@pytest.mark.parametrize(
    ("tool", "question", "answer"),
    [
        pytest.param("ask_modern", "Who are you?", "Hello Ada", id="upstream of 2026-07-28"),
        pytest.param("ask_everything", "Please provide inputs", "- Name: Ada", id="upstream of 2025-11-25"),
    ],
)
async def test_a_question_of_an_upstream_reaches_the_person(
    talking: Talk, tool: str, question: str, answer: str
) -> None:
    person = Person(name="Ada")
    async with talking(elicitation_callback=person) as client:
        result = await client.call_tool(tool, {})

    assert answer in text_of(result)
    (text,) = person.questions
    assert text.startswith(f'The MCP server "{tool.removeprefix("ask_")}" asks:\n> {question}')


async def test_a_declined_question_is_declined_for_the_upstream(talking: Talk) -> None:
    async with talking(elicitation_callback=Person("decline")) as client:
        result = await client.call_tool("ask_everything", {})

    assert "declined" in text_of(result)


@pytest.mark.parametrize("action", ["accept", "decline"])
async def test_a_write_runs_only_after_approval_of_its_arguments(talking: Talk, desk: Path, action: str) -> None:
    person = Person(action)
    file = desk / "letter.txt"
    async with talking(elicitation_callback=person) as client:
        result = await client.call_tool("write_file", {"path": str(file), "content": "Dear Ada"})

    assert file.exists() == (action == "accept")
    assert result.is_error == (action != "accept")
    (question,) = person.questions
    assert question.startswith("Call write_file of the MCP server files? Its risk is: write.")
    assert '"content": "Dear Ada"' in question


async def test_the_policy_of_the_operator_covers_upstreams(talking: Talk) -> None:
    rules = {"echo": ToolRule(require_approval=True), "get_env": ToolRule(enabled=False)}
    settings = ProgramSettings(Policy(default=DefaultAccess.DISABLED, tools=rules))
    async with talking(settings) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        refused = await client.call_tool("echo", {"message": "hello"})

    assert listed == {"desk_echo"}
    assert "needs user approval" in text_of(refused)


async def test_roots_of_the_client_reach_an_upstream(talking: Talk, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()

    async def list_roots(context: Any) -> ListRootsResult:  # noqa: ARG001  the SDK gives it
        return ListRootsResult(roots=[Root(uri=shared.as_uri())])  # type: ignore[arg-type]  # a text is accepted

    async with talking(list_roots_callback=list_roots) as client:
        directories: list[str] = []
        with anyio.fail_after(30):
            while directories != [str(shared)]:  # the upstream applies them while it answers
                result = await client.call_tool("list_allowed_directories", {})
                directories = text_of(result).splitlines()[1:]


async def test_a_client_without_roots_leaves_the_directories_of_the_manifest(talking: Talk, desk: Path) -> None:
    async with talking() as client:
        result = await client.call_tool("list_allowed_directories", {})

    assert text_of(result).splitlines()[1:] == [str(desk)]


async def test_an_upstream_can_ask_the_model_of_the_client(talking: Talk) -> None:
    async def sample(context: Any, params: Any) -> CreateMessageResult:  # noqa: ARG001  the SDK gives it
        return CreateMessageResult(role="assistant", content=TextContent(type="text", text="four"), model="test")

    async with talking(sampling_callback=sample) as client:
        result = await client.call_tool("sample_everything", {"prompt": "two and two"})

    assert "four" in text_of(result)


async def test_progress_of_an_upstream_is_passed_on(talking: Talk) -> None:
    steps: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001  the SDK gives it
        steps.append((progress, total))

    async with talking() as client:
        await client.call_tool("work", {"duration": 0.2, "steps": 4}, progress_callback=note)

    assert steps == [(step, 4) for step in range(1, 5)]


async def test_log_messages_of_an_upstream_are_passed_on(talking: Talk) -> None:
    messages: list[LoggingMessageNotificationParams] = []

    async def note(params: LoggingMessageNotificationParams) -> None:
        messages.append(params)

    async with talking(logging_callback=note, log_level="info") as client:
        await client.call_tool("log_something", {})

    assert [(message.level, message.logger, message.data) for message in messages] == [
        ("warning", "modern/printer", "low paper")
    ]
