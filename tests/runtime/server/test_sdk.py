"""The dispatcher on the SDK, spoken to by the SDK's own client, in both eras, with the oracle between them."""

# ruff: noqa: ARG001, ARG002  callbacks are given what they may not need

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client, types
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError
from oracle import LEGACY, MODERN, Oracle, watched
from sample_server.catalogue import CATALOGUE
from sample_server.server import build_server, load_index
from toolmason_runtime.calls.call import Context
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.server.sdk import sdk_server
from toolmason_runtime.shared.selection import Selection

pytestmark = pytest.mark.anyio
both_eras = pytest.mark.parametrize("mode", ["legacy", MODERN])


@asynccontextmanager
async def talking(mode: str, selection: Selection | None = None, **options: Any) -> AsyncIterator[Client]:
    oracle = Oracle(LEGACY if mode == "legacy" else MODERN)
    server = build_server(selection or Selection("classic"))
    async with Client(watched(server, oracle), mode=mode, **options) as client:
        yield client
    assert oracle.seen


async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    assert isinstance(params, types.ElicitRequestFormParams)
    field = next(iter(params.requested_schema["properties"]))
    return types.ElicitResult(action="accept", content={field: f"my {field}"})


async def complete(context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
    content = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=content, model="none")


@both_eras
async def test_default_surface_is_two_meta_tools_and_the_pinned_tools(mode: str) -> None:
    async with talking(mode, Selection("search-call")) as client:
        listed = await client.list_tools()
        found = await client.call_tool("search", {"query": "capitals"})
        called = await client.call_tool("call", {"tool_name": "shout", "args": {"text": "a"}})

    assert [tool.name for tool in listed.tools] == ["search", "call", "count_words"]
    assert found.structured_content is None
    assert "shout" in str(found.content)
    assert isinstance(called.content[0], types.TextContent)
    assert called.content[0].text == "A"


@both_eras
async def test_every_tool_of_the_sample_passes_the_oracle(mode: str) -> None:
    calls: dict[str, dict[str, Any]] = {
        "count_words": {"text": "a", "label": None},
        "old_shout": {"text": "a"},
        "raw": {"depth": 1},
        "mixed": {},
        "refuse": {"text": "a"},
        "crash": {},
        "lie": {},
        "odd_text": {},
        "report": {},
        "secret": {},
    }
    async with talking(mode) as client:
        for name, arguments in calls.items():
            result = await client.call_tool(name, arguments)
            assert result.is_error is (name in {"refuse", "crash", "lie", "secret"})


@both_eras
async def test_user_and_model_are_asked_in_the_way_of_the_era(mode: str) -> None:
    async with talking(mode, elicitation_callback=answer, sampling_callback=complete) as client:
        asked = await client.call_tool("ask", {})
        sampled = await client.call_tool("sample", {})

    assert isinstance(asked.content[0], types.TextContent)
    assert asked.content[0].text == "my name of my city"
    assert isinstance(sampled.content[0], types.TextContent)
    assert sampled.content[0].text == "sampled"


async def test_refusal_of_the_user_of_an_earlier_client_reaches_the_handler_as_a_tool_error() -> None:
    async def refuse(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ErrorData:
        return types.ErrorData(code=-1, message="not now")

    async with talking("legacy", elicitation_callback=refuse) as client:
        result = await client.call_tool("ask", {})

    assert result.is_error
    assert "did not answer elicitation/create: not now" in str(result.content)


@both_eras
async def test_unknown_tool_and_bad_cursor_are_invalid_params(mode: str) -> None:
    async with talking(mode) as client:
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("nothing_like_it", {})
        with pytest.raises(MCPError) as cursor:
            await client.list_tools(cursor="?")

    assert (unknown.value.code, cursor.value.code) == (-32602, -32602)


class Broken(Dispatcher):
    """A dispatcher with a bug."""

    async def dispatch(self, method: str, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        raise RuntimeError(f"password 12345 in {method}")


@both_eras
async def test_mistake_of_ours_outside_of_any_tool_does_not_leak(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    server = sdk_server(Broken(CATALOGUE, load_index=load_index))
    async with Client(server, mode=mode) as client:
        with pytest.raises(MCPError) as failed:
            await client.list_tools()

    assert (failed.value.code, failed.value.message) == (-32603, "Internal server error")
    assert "password 12345" in caplog.text


async def test_lists_may_be_cached_by_their_client() -> None:
    async with talking(MODERN) as client:
        listed = await client.list_tools()

    assert listed.ttl_ms > 0
    assert listed.cache_scope == "private"


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_server_without_prompts_and_resources_declares_none(mode: Any) -> None:
    async with Client(build_server(), mode=mode) as client:
        declared = client.server_capabilities
        with pytest.raises(MCPError, match="Method not found"):
            await client.list_prompts()

    assert declared
    assert declared.tools
    assert (declared.prompts, declared.resources, declared.completions) == (None, None, None)
