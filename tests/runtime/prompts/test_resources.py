"""Resources and subscriptions of a generated server, over the SDK's client in both eras."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp.types import BlobResourceContents, SubscriptionFilter, TextResourceContents
from oracle import LEGACY, MODERN
from toolmason_runtime.shared.engines import ENGINES
from toolmason_runtime.shared.values.uri_template import match_uri
from toolmason_runtime.wire.resource_updates import MAX_SUBSCRIPTIONS

pytestmark = pytest.mark.anyio
Talking = Callable[..., AbstractAsyncContextManager[Client]]


async def test_resources_and_templates_are_listed_apart(talking: Talking) -> None:
    async with talking() as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates

    assert [(resource.uri, resource.mime_type) for resource in resources] == [
        ("notes://guide", "text/markdown"),
        ("notes://pen", "image/png"),
    ]
    assert [template.uri_template for template in templates] == [
        "notes://pages/{day}",
        "notes://search/{+path}?limit={limit}",
    ]


async def test_a_text_file_is_text_and_a_picture_is_bytes(talking: Talking, notes_project: Path) -> None:
    async with talking() as client:
        (guide,) = (await client.read_resource("notes://guide")).contents
        (pen,) = (await client.read_resource("notes://pen")).contents

    assert isinstance(guide, TextResourceContents)
    assert guide.text == "# Guide\n\nKeep it short: é.\n"
    assert isinstance(pen, BlobResourceContents)
    assert b64decode(pen.blob) == (notes_project / "handlers/notes_tools/pages/pen.png").read_bytes()


@pytest.mark.parametrize(
    ("path", "text"), [("exit", "called sys.exit(1)"), ("number", "must return text, bytes or None, not int")]
)
async def test_a_mistake_in_a_handler_is_in_the_log_and_the_server_runs_on(
    talking: Talking, path: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking() as client:
        with pytest.raises(MCPError, match="Error executing resource search"):
            await client.read_resource(f"notes://search/{path}?limit=10")
        await client.read_resource("notes://guide")

    assert f"`notes_tools.book:find` {text}" in caplog.text


async def test_a_handler_gets_the_decoded_typed_variables_of_the_uri(talking: Talking) -> None:
    async with talking() as client:
        (page,) = (await client.read_resource("notes://pages/2026-11-21")).contents
        (found,) = (await client.read_resource("notes://search/a/b%20c?limit=7")).contents

    assert isinstance(page, TextResourceContents)
    assert (page.text, page.uri) == ("Read the book.", "notes://pages/2026-11-21")
    assert isinstance(found, BlobResourceContents)
    assert json.loads(b64decode(found.blob)) == ["a/b c", 7]


NOT_READ = [
    ("notes://nowhere", "Resource not found"),
    ("notes://pages/1999-01-01", "Resource not found"),
    ("notes://pages/2026/11", "Resource not found"),
    ("notes://pages/../pages/guide.md", "Resource not found"),
    ("notes://search/..%2F..%2Fetc%2Fpasswd?limit=1", "Resource not found"),
    ("notes://search/a/%2e%2E/b?limit=1", "Resource not found"),
    ("notes://search/..?limit=1", "Resource not found"),
    ("notes://search//etc/passwd?limit=1", "Resource not found"),
    ("notes://search/C:%5CWindows?limit=1", "Resource not found"),
    ("notes://search/a%00.md?limit=1", "Resource not found"),
    ("notes://pages/today", "day"),
    ("notes://search/a?limit=many", "limit"),
]


@pytest.mark.parametrize(("uri", "text"), NOT_READ)
async def test_a_resource_that_cannot_be_read_is_an_error(talking: Talking, uri: str, text: str) -> None:
    async with talking() as client:
        version = client.protocol_version
        with pytest.raises(MCPError, match=text) as caught:
            await client.read_resource(uri)

    if text == "Resource not found":
        assert caught.value.error.data == {"uri": uri}
        assert caught.value.error.code == (-32002 if version == LEGACY else -32602)


@pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")
async def test_a_subscriber_learns_of_a_change_until_it_unsubscribes(notes_server: Any) -> None:
    changes: asyncio.Queue[str] = asyncio.Queue()

    async def heard(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/resources/updated":
            await changes.put(message.params.uri)

    async def add(client: Client, day: str) -> None:
        await client.call_tool("add_note", {"day": day, "text": "New."})

    async with Client(notes_server, mode="legacy", message_handler=heard) as client:
        assert client.server_capabilities
        assert client.server_capabilities.resources
        assert client.server_capabilities.resources.subscribe
        await client.subscribe_resource("notes://pages/2027-01-01")
        await client.subscribe_resource("notes://pages/2027-01-03")
        for day in ("2027-01-01", "2027-01-02", "2027-01-03"):
            await add(client, day)
        heard_first = [await changes.get(), await changes.get()]
        await client.unsubscribe_resource("notes://pages/2027-01-01")
        await add(client, "2027-01-01")
        await add(client, "2027-01-03")
        heard_then = await changes.get()
        with pytest.raises(MCPError, match="Resource not found"):
            await client.subscribe_resource("notes://guide")

    assert heard_first == ["notes://pages/2027-01-01", "notes://pages/2027-01-03"]
    assert heard_then == "notes://pages/2027-01-03"
    assert changes.empty()


@pytest.mark.filterwarnings("ignore:resources/.*subscribe is removed")
async def test_a_connection_has_a_limited_number_of_subscriptions(notes_server: Any) -> None:
    async with Client(notes_server, mode="legacy") as client:
        for number in range(MAX_SUBSCRIPTIONS):
            await client.subscribe_resource(f"notes://pages/{number}")
        await client.subscribe_resource("notes://pages/1")
        with pytest.raises(MCPError, match="at most 1000 subscriptions"):
            await client.subscribe_resource("notes://pages/2027")


async def test_a_stream_of_subscriptions_announces_changes_and_no_lists(notes_server: Any) -> None:
    async with Client(notes_server, mode="auto") as client:
        async with client.listen(resource_subscriptions=["notes://pages/2027-02-01"]) as subscription:
            for day in ("2027-02-02", "2027-02-01"):
                await client.call_tool("add_note", {"day": day, "text": "New."})
            event = await anext(aiter(subscription))
        capabilities = client.server_capabilities

    assert isinstance(event, ResourceUpdated)
    assert event.uri == "notes://pages/2027-02-01"
    assert capabilities
    assert capabilities.resources
    assert (capabilities.resources.subscribe, capabilities.resources.list_changed) == (True, False)


async def test_a_stream_acknowledges_only_announced_subscriptions(notes_server: Any) -> None:
    page = "notes://pages/2027-02-01"
    async with (
        Client(notes_server, mode="auto") as client,
        client.listen(
            tools_list_changed=True, resource_subscriptions=[page, "notes://guide", "file:///etc/passwd", page]
        ) as subscription,
    ):
        honored = subscription.honored

    assert honored == SubscriptionFilter(resource_subscriptions=[page])


async def test_a_stream_has_a_limited_number_of_subscriptions(notes_server: Any) -> None:
    pages = [f"notes://pages/{number}" for number in range(MAX_SUBSCRIPTIONS + 1)]
    async with Client(notes_server, mode="auto") as client:
        async with client.listen(resource_subscriptions=pages[1:]):
            pass
        with pytest.raises(MCPError, match="at most 1000 subscriptions"):
            async with client.listen(resource_subscriptions=pages):
                pass


@pytest.mark.parametrize("mode", ["legacy", MODERN])
@pytest.mark.parametrize("engine", ENGINES)
async def test_a_real_process_serves_prompts_and_resources_over_stdio(
    mode: Any, engine: str, notes_process: Callable[..., Any]
) -> None:
    async with Client(notes_process("--no-command-prompts", "--engine", engine), mode=mode) as client:
        names = [prompt.name for prompt in (await client.list_prompts(cursor=None)).prompts]
        (page,) = (await client.read_resource("notes://pages/2026-11-21")).contents

    assert names == ["write", "illustrate"]
    assert isinstance(page, TextResourceContents)
    assert page.text == "Read the book."


SEGMENT_CHARACTERS = st.characters(codec="utf-8", exclude_characters="/\\\0:")
SEGMENTS = st.text(SEGMENT_CHARACTERS, min_size=1).filter(lambda segment: segment != "..")


@given(day=SEGMENTS, path=st.lists(SEGMENTS, min_size=1))
def test_a_template_that_is_filled_in_matches_with_the_same_values(day: str, path: list[str]) -> None:
    whole = "/".join(quote(part, safe="") for part in path)
    uri = f"notes://{quote(day, safe='')}/files/{whole}.md"

    assert match_uri("notes://{day}/files/{+path}.md", uri) == {"day": day, "path": "/".join(path)}


@pytest.mark.parametrize("value", ["a/b", "1.0..2.0", "...", "a..", "..a", "C:", "main..dev/x"])
def test_an_encoded_value_that_stays_in_its_directory_matches(value: str) -> None:
    assert match_uri("notes://{day}", f"notes://{quote(value, safe='')}") == {"day": value}


@given(st.text(alphabet="ab/{}:", max_size=30))
def test_a_uri_that_matches_begins_and_ends_like_its_template(uri: str) -> None:
    values = match_uri("a:{x}/b", uri)
    if values is not None:
        assert uri == f"a:{values['x']}/b"
        assert "/" not in values["x"]
