"""The built-in `fetch_chunk` of every server: callable in each style, found by its name, listed only on request."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from quiet_context import QuietContext
from sample_server.catalogue import CATALOGUE
from sample_server.server import load_index
from toolmason_runtime.calls.registry import get_tool_metadata
from toolmason_runtime.calls.text_store import KeptText
from toolmason_runtime.chunks.fetch import FetchChunkParams
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.server.dispatch import Dispatcher
from toolmason_runtime.shared.built_in import BUILT_IN, bindings_module
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK, FETCH_CHUNK_ENTRY
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.styles import STYLES

pytestmark = pytest.mark.anyio

ASKING = cast("Catalogue", {**CATALOGUE, "discovery": {**CATALOGUE["discovery"], "list_fetch_chunk": True}})
PINNING = cast("Catalogue", {**CATALOGUE, "discovery": {**CATALOGUE["discovery"], "pinned": [FETCH_CHUNK]}})
CALLS = {
    "search-call": [("call", "args"), ("call_read", "args")],
    "list-describe": [("call_tool", "arguments")],
    "discover-schema": [("call_tool", "arguments")],
    "classic": [],
    "code": [],  # it runs programs instead: tests/runtime/code_mode
}
"""The meta-tools of each style that run a tool, and the name of its arguments."""


@pytest.fixture
async def store() -> AsyncIterator[ChunkStore]:
    store = ChunkStore(part_size=10)
    yield store
    await store.aclose()


@pytest.fixture
async def kept(store: ChunkStore) -> KeptText:
    return await store.keep("x" * 25)


def served(style: str, store: ChunkStore, catalogue: Catalogue = CATALOGUE) -> Dispatcher:
    split = cast("Catalogue", {**catalogue, "discovery": {**catalogue["discovery"], "split_calls": True}})
    return Dispatcher(split, selection=Selection(style), load_index=load_index, state=[store])


async def call(dispatcher: Dispatcher, name: str, **arguments: Any) -> dict[str, Any]:
    return await dispatcher.dispatch("tools/call", {"name": name, "arguments": arguments}, QuietContext())


@pytest.mark.parametrize("style", STYLES)
async def test_it_is_called_by_name_and_through_the_meta_tools(style: str, store: ChunkStore, kept: KeptText) -> None:
    dispatcher = served(style, store)
    arguments = {"cacheKey": kept.key, "chunkIndex": 3}
    results = [await call(dispatcher, FETCH_CHUNK, **arguments)]
    for meta, member in CALLS[style]:
        results.append(await call(dispatcher, meta, **{"tool_name": FETCH_CHUNK, member: arguments}))

    assert results[0]["structuredContent"]["chunk"] == {"index": 3, "total": 3, "content": "xxxxx"}
    assert json.loads(results[0]["content"][0]["text"]) == results[0]["structuredContent"]
    assert results == [results[0]] * len(results)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"chunkIndex": 4}, "INVALID_CHUNK_INDEX"),
        ({"cacheKey": "cache_0", "chunkIndex": 1}, "CACHE_EXPIRED"),
        ({"chunkIndex": 0}, "INVALID_ARGUMENT"),
        ({"cacheKey": "", "chunkIndex": 1}, "INVALID_ARGUMENT"),
        ({}, "INVALID_ARGUMENT"),
    ],
)
async def test_errors_are_json_with_the_codes_of_the_specification(
    style: str, arguments: dict[str, Any], code: str, store: ChunkStore, kept: KeptText
) -> None:
    result = await call(served(style, store), FETCH_CHUNK, **{"cacheKey": kept.key, **arguments})

    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["error"]["code"] == code


@pytest.mark.parametrize(
    ("catalogue", "styles"),
    [(CATALOGUE, set()), (ASKING, {"classic"}), (PINNING, set(STYLES))],
    ids=["default", "on request", "pinned"],
)
async def test_it_is_listed_only_on_request(catalogue: Catalogue, styles: set[str], store: ChunkStore) -> None:
    assert {style for style in STYLES if FETCH_CHUNK in served(style, store, catalogue).listed} == styles


async def test_each_style_describes_it(store: ChunkStore) -> None:
    schema = FETCH_CHUNK_ENTRY["tool"]["inputSchema"]
    found = await call(served("search-call", store), "search", query="fetch_chunk")
    described = await call(served("list-describe", store), "get_tool_description", tool_name=FETCH_CHUNK)
    shown = await call(served("discover-schema", store), "get_tool_schema", tool_name=FETCH_CHUNK)
    discovered = await call(
        served("discover-schema", store), "discover_tools", query="fetch_chunk", detail_level="full"
    )

    assert content(found)["results"][0]["tool_name"] == FETCH_CHUNK
    assert content(found)["results"][0]["input_schema"] == schema
    assert set(content(described)["parameters"]) == {"cacheKey", "chunkIndex"}
    assert content(shown)["name"] == FETCH_CHUNK
    assert content(discovered)["tools"][0]["name"] == FETCH_CHUNK


def content(result: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON of a meta-tool."""
    answer: dict[str, Any] = json.loads(result["content"][0]["text"])
    return answer


async def test_it_is_in_no_category_and_counted_nowhere(store: ChunkStore) -> None:
    summary = content(await call(served("search-call", store), "search"))
    listing = content(await call(served("list-describe", store), "list_available_tools"))

    assert summary["total_tools"] == sum(group["tool_count"] for group in summary["summary"]) == listing["total"]
    assert FETCH_CHUNK not in {tool["name"] for tool in listing["tools"]}


def test_the_sent_schema_agrees_with_the_checked_model() -> None:
    sent = FETCH_CHUNK_ENTRY["tool"]["inputSchema"]["properties"]
    checked = FetchChunkParams.model_json_schema()["properties"]

    assert [*sent] == [*checked]
    for name, schema in sent.items():
        rules = {keyword: value for keyword, value in schema.items() if keyword != "description"}
        assert rules.items() <= checked[name].items()


async def test_a_further_built_in_tool_needs_a_row_of_the_table_only(monkeypatch: pytest.MonkeyPatch) -> None:
    further: ToolEntry = {**FETCH_CHUNK_ENTRY, "tool": {**FETCH_CHUNK_ENTRY["tool"], "name": "further"}}
    monkeypatch.setitem(cast("dict[str, ToolEntry]", BUILT_IN), "further", further)

    search_data: Any = load_index
    index = ToolIndex(CATALOGUE, CATALOGUE["tools"], search_data)
    metadata = get_tool_metadata(CATALOGUE, "further")

    assert index.get("further") is further
    assert metadata is not None
    assert metadata.name == "further"
    assert bindings_module(CATALOGUE, further) == bindings_module(CATALOGUE, FETCH_CHUNK_ENTRY)
