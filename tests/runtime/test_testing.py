"""What authors test their servers with: a client in memory, and fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent
from sample_server.server import build_server
from toolmason_runtime.protocol.selection import Selection
from toolmason_runtime.testing import ask, connected

pytest_plugins = ["pytester"]

CONFTEST = """
from sample_server.server import build_server
from toolmason_runtime.testing import fixtures

anyio_backend, client = fixtures(build_server, options={"farewell": ""})
"""
TESTS = """
import pytest
from mcp import Client

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("text", ["to be", "or not"])
async def test_words(client: Client, text: str) -> None:
    result = await client.call_tool("count_words", {"text": text, "label": None})
    assert result.structured_content["words"] == 2


async def test_state(client: Client) -> None:
    assert not (await client.call_tool("show_state", {})).is_error
"""


@pytest.mark.anyio
async def test_every_tool_is_called_by_its_name_in_this_process() -> None:
    async with connected(build_server) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        result = await client.call_tool("count_words", {"text": "to be", "label": None})

    assert {"count_words", "rare"} <= listed
    assert result.structured_content == {"words": 2, "longest": "to", "shortest": "to"}


@pytest.mark.anyio
async def test_selection_and_arguments_of_the_server_are_passed_on() -> None:
    async with connected(build_server, selection=Selection("search-call"), options={"farewell": "bye"}) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        state = await client.call_tool("call", {"tool_name": "show_state", "args": {}})

    assert {"search", "call"} <= listed
    assert isinstance(state.content[0], TextContent)
    assert '"farewell": "bye"' in state.content[0].text


@pytest.mark.anyio
@pytest.mark.parametrize("error", [AssertionError("two words"), pytest.skip.Exception("no network")])
async def test_an_error_in_a_test_is_raised_as_it_is(error: BaseException) -> None:
    with pytest.raises(type(error)) as raised:
        async with connected(build_server):
            raise error

    assert raised.value is error


def test_an_error_of_a_question_is_raised_as_it_is() -> None:
    async def question(client: Client) -> None:
        await client.call_tool("unknown", {})

    with pytest.raises(MCPError, match="Unknown tool"):
        ask("sample_server", question)


def test_fixtures_give_each_test_a_client(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    pytester.syspathinsert(Path(__file__).parent / "support")
    pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider").assert_outcomes(passed=3)
