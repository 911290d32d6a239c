"""Arguments reach an upstream by their original names, and results come back in answers of bounded size."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.types import CallToolResult, ImageContent, TextContent
from toolmason_runtime.serving import ProgramSettings, Upstream, UpstreamTool

pytestmark = pytest.mark.anyio

Talk = Callable[..., AbstractAsyncContextManager[Client]]
NAMES = st.text("abcdef", min_size=1, max_size=2)


def text_of(result: CallToolResult) -> str:
    """Return all texts of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def test_content_structured_content_and_errors_are_passed_on_unchanged(talking: Talk) -> None:
    async with talking() as client:
        echo = await client.call_tool("echo", {"message": "hello"})
        image = await client.call_tool("get_image", {})
        weather = await client.call_tool("get_weather", {"location": "New York"})
        failed = await client.call_tool("fail", {})

    assert (text_of(echo), echo.is_error) == ("Echo: hello", False)
    assert [type(block) for block in image.content] == [TextContent, ImageContent, TextContent]
    assert weather.structured_content == json.loads(text_of(weather))
    assert (text_of(failed), failed.is_error) == ("no paper", True)


async def test_long_text_is_cut_and_the_rest_is_fetched(talking: Talk) -> None:
    async with talking() as client:
        begin = (await client.call_tool("long_text", {})).content[0]
        assert isinstance(begin, TextContent)
        first = begin.text
        call = re.search(r'fetch_chunk\(cacheKey="(\w+)", chunkIndex=2\)', first)
        assert call is not None
        second = await client.call_tool("fetch_chunk", {"cacheKey": call[1], "chunkIndex": 2})

    assert second.structured_content is not None
    whole = first.partition("\n")[2] + second.structured_content["chunk"]["content"]
    assert "\n".join(f"line {number}" for number in range(20_000)).startswith(whole)


async def test_structured_content_that_exceeds_an_answer_is_omitted_with_a_note(talking: Talk) -> None:
    async with talking() as client:
        result = await client.call_tool("get_rows", {})

    assert result.structured_content is None
    assert re.search(r"\[the structured result of [\d,]+ characters was left out\]\nrows", text_of(result))


async def test_renamed_fixed_and_hidden_arguments_reach_the_upstream_as_declared(talking: Talk, desk: Path) -> None:
    note = desk / "note.txt"
    note.write_text("one\ntwo\nthree\nfour", encoding="utf-8")
    async with talking() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        result = await client.call_tool("read_document", {"file": str(note), "head": 1, "path": "/elsewhere"})

    assert tools["desk_read_document"].input_schema["properties"].keys() == {"file"}
    assert text_of(result).split() == ["three", "four"]


@given(
    arguments=st.dictionaries(NAMES, st.integers()),
    renamed=st.dictionaries(NAMES, NAMES.map(str.upper)),
    fixed=st.dictionaries(NAMES.map(lambda name: f"{name}="), st.integers()),
    hidden=st.lists(NAMES.map(lambda name: f"{name}-")),
)
def test_no_call_changes_a_fixed_argument_or_sends_a_hidden_one(
    arguments: dict[str, int], renamed: dict[str, str], fixed: dict[str, int], hidden: list[str]
) -> None:
    tool = UpstreamTool(
        name="t", upstream=Upstream(name="u"), original="o", renamed=renamed, fixed=fixed, hidden=tuple(hidden)
    )
    attack = {**arguments, **dict.fromkeys([*fixed, *hidden, *renamed.values()], -1)}
    sent = tool.original_arguments(attack)

    assert fixed.items() <= sent.items()
    assert not sent.keys() & set(hidden)
    assert sent == tool.original_arguments({name: attack[name] for name in attack if name in arguments})


async def test_an_upstream_gets_declared_variables_only(talking: Talk) -> None:
    async with talking() as client:
        variables = json.loads(text_of(await client.call_tool("get_env", {})))

    assert variables["DESK_SECRET"] == "passed"
    assert "DESK_PRIVATE" not in variables


async def test_parallel_first_calls_share_one_upstream_that_keeps_its_state(talking: Talk, desk: Path) -> None:
    settings = ProgramSettings(headless_approve=True)
    names = [f"person {number}" for number in range(5)]

    async with talking(settings) as client, anyio.create_task_group() as tasks:

        async def remember(name: str) -> None:
            entity = {"name": name, "entityType": "person", "observations": []}
            result = await client.call_tool("create_entities", {"entities": [entity]})
            assert not result.is_error, text_of(result)

        for _ in range(5):
            tasks.start_soon(client.call_tool, "fail", {})
        for name in names:
            await remember(name)
        graph = await client.call_tool("read_graph", {})

    assert [entity["name"] for entity in json.loads(text_of(graph))["entities"]] == names
    assert len((desk / "pids").read_text(encoding="utf-8").splitlines()) == 1


UNUSABLE: Any = {
    "call_missing": r"'missing'.*could not be started: the program \"no-such-program.*Tell the user",
    "call_broken": r"'broken'.*ended during its start with exit code 1; its last line on stderr: cannot find the desk",
    "gone": r"'modern' no longer lists the tool 'no_longer_there'\. Do not retry.*toolmason check --upstreams",
    "work_briefly": r"took more than 0\.3 seconds and was cancelled: ask for less",
    "ask_modern": r"'modern' failed: Elicitation not supported",
}


async def test_each_error_contains_advice(talking: Talk) -> None:
    async with talking() as client:
        for name, message in UNUSABLE.items():
            result = await client.call_tool(name, {})
            assert result.is_error
            assert re.search(message, text_of(result)), text_of(result)
