"""Prompts and completion of a generated server, over the SDK's client in both eras."""

from __future__ import annotations

import importlib
import json
import re
from base64 import b64decode
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp import Client, types
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError
from oracle import LEGACY
from quiet_context import QuietContext
from toolmason_runtime import MethodError
from toolmason_runtime.protocol.json_boundary import sanitize
from toolmason_runtime.protocol.selection import Selection

pytestmark = pytest.mark.anyio
INTERNAL_ERROR = -32603
INVALID_PARAMS = -32602

NAMES = ["write", "illustrate", "collect", "plan", "interview"]
"""The prompts that are not commands."""
Talking = Callable[..., AbstractAsyncContextManager[Client]]


def texts(result: Any) -> list[tuple[str, str]]:
    """The role and the text or the type of each message."""
    return [(message.role, getattr(message.content, "text", message.content.type)) for message in result.messages]


async def listed(client: Client) -> list[types.Prompt]:
    """All prompts of all pages."""
    page = await client.list_prompts()
    prompts = [*page.prompts]
    while page.next_cursor:
        page = await client.list_prompts(cursor=page.next_cursor)
        prompts += page.prompts
    return prompts


async def test_prompts_are_listed_in_pages_and_commands_come_last(talking: Talking) -> None:
    async with talking() as client:
        first = await client.list_prompts()
        prompts = await listed(client)

    assert len(first.prompts) == 2
    assert [prompt.name for prompt in prompts] == [*NAMES, "book-tidy", "book-write"]
    arguments = {argument.name: argument.required for argument in prompts[0].arguments or ()}
    assert arguments == {"topic": True, "style": False}


async def test_commands_are_not_prompts_for_clients_with_command_files(talking: Talking) -> None:
    async with talking(Selection("classic", command_prompts=False)) as client:
        names = [prompt.name for prompt in await listed(client)]
        with pytest.raises(MCPError, match="Unknown prompt: book-tidy"):
            await client.get_prompt("book-tidy")

    assert names == NAMES


async def test_words_after_a_command_are_in_its_prompt_as_typed(talking: Talking) -> None:
    async with talking() as client:
        filled = await client.get_prompt("book-tidy", {"arguments": "now {arguments} & 'all' \\1"})
        empty = await client.get_prompt("book-tidy")

    assert texts(filled) == [("user", "Tidy up: now {arguments} & 'all' \\1")]
    assert texts(empty) == [("user", "Tidy up: ")]


async def test_arguments_fill_their_places_once_and_defaults_the_others(talking: Talking) -> None:
    async with talking() as client:
        result = await client.get_prompt("write", {"topic": "a {style} of {topic}"})

    assert texts(result) == [("user", "Write about a {style} of {topic} in the style plain. Keep {other}.")]


async def test_words_that_opencode_fills_in_later_pass_the_checks_of_a_text(talking: Talking) -> None:
    async with talking(client_info=types.Implementation(name="opencode", version="1")) as client:
        result = await client.get_prompt("write", {"topic": "$1", "style": "$2"})
        with pytest.raises(MCPError, match="days"):
            await client.get_prompt("plan", {"days": "$1"})
    async with talking() as client:
        with pytest.raises(MCPError, match="style"):
            await client.get_prompt("write", {"topic": "$1", "style": "$2"})

    assert texts(result) == [("user", "Write about $1 in the style $2. Keep {other}.")]


async def test_messages_embed_pictures_and_resources(talking: Talking) -> None:
    async with talking() as client:
        result = await client.get_prompt("illustrate", {"page": "notes://pages/2026-11-21"})

    resource, image, _ = (message.content for message in result.messages)
    assert isinstance(resource, types.EmbeddedResource)
    assert isinstance(resource.resource, types.TextResourceContents)
    assert resource.resource.text == "Read the book."
    assert isinstance(image, types.ImageContent)
    assert image.mime_type == "image/png"
    assert texts(result)[2] == ("assistant", "I see a pen.")


@pytest.mark.parametrize("text", ["a/b", "50%25", "x?limit=99", "été #1", "x"])
async def test_arguments_in_the_uri_of_a_resource_reach_its_handler_as_typed(talking: Talking, text: str) -> None:
    async with talking() as client:
        result = await client.get_prompt("collect", {"text": text})

    content = result.messages[0].content
    assert isinstance(content, types.EmbeddedResource)
    assert isinstance(content.resource, types.BlobResourceContents)
    assert json.loads(b64decode(content.resource.blob)) == [text, 10]


async def test_a_handler_gets_typed_arguments_and_returns_messages_of_both_roles(talking: Talking) -> None:
    async with talking() as client:
        result = await client.get_prompt("plan", {"days": "2", "start": "Monday"})

    expected = [("user", "Plan 2 days from Monday."), ("assistant", "With pleasure."), ("user", "Begin.")]
    assert texts(result) == expected


@pytest.mark.parametrize(("name", "command"), [("opencode", "! `id`"), ("claude-code", "!`id`")])
async def test_opencode_runs_no_command_in_the_text_of_a_handler(talking: Talking, name: str, command: str) -> None:
    async with talking(client_info=types.Implementation(name=name, version="1")) as client:
        result = await client.get_prompt("plan", {"days": "2", "start": "!`id`"})

    assert texts(result)[0] == ("user", f"Plan 2 days from {command}.")


REFUSED = [
    ("write", {}, INVALID_PARAMS, "topic"),
    ("write", {"topic": "ab"}, INVALID_PARAMS, "at least 3 characters"),
    ("write", {"topic": "abc", "style": "odd"}, INVALID_PARAMS, "playful"),
    ("plan", {"days": "soon"}, INVALID_PARAMS, "days"),
    ("plan", {"days": "31"}, INVALID_PARAMS, "plan at most 30 days"),
    ("plan", {"days": "13"}, INTERNAL_ERROR, "Error executing prompt plan"),
    ("illustrate", {"page": "notes://nowhere"}, None, "Resource not found"),
    ("plans", {}, INVALID_PARAMS, "Unknown prompt: plans"),
]


@pytest.mark.parametrize(("name", "arguments", "code", "text"), REFUSED)
async def test_a_prompt_that_cannot_be_given_is_an_error_that_explains_itself(
    talking: Talking, name: str, arguments: dict[str, str], code: int | None, text: str
) -> None:
    async with talking() as client:
        with pytest.raises(MCPError, match=re.escape(text)) as caught:
            await client.get_prompt(name, arguments)

    assert code in (None, caught.value.error.code)
    assert "internal detail" not in str(caught.value.error)


RESULT = "must return text, a block such as `Image`, a `Message`, or a list of these, not"
MISTAKES: list[tuple[str, str]] = [
    ("14", "`notes_tools.book:plan` called sys.exit('goodbye'); raise ToolError instead"),
    ("21", f"`notes_tools.book:plan` {RESULT} int"),
    ("22", f"`notes_tools.book:plan` {RESULT} list of int, str"),
    ("23", f"`notes_tools.book:plan` {RESULT} NoneType"),
]


@pytest.mark.parametrize(("days", "text"), MISTAKES)
async def test_a_mistake_in_a_handler_is_in_the_log_and_the_server_runs_on(
    talking: Talking, days: str, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking() as client:
        with pytest.raises(MCPError, match="Error executing prompt plan"):
            await client.get_prompt("plan", {"days": days})
        await client.get_prompt("book-tidy")

    assert text in caplog.text


async def test_a_completion_that_is_a_text_is_not_a_list_of_its_characters(
    talking: Talking, caplog: pytest.LogCaptureFixture
) -> None:
    async with talking() as client:
        with pytest.raises(MCPError, match=r"Error executing prompt plan\.start"):
            await client.complete(PLAN, {"name": "start", "value": "?"})

    assert "`notes_tools.book:complete_day` must return a list of texts, not str" in caplog.text


@pytest.mark.usefixtures("build_server")
async def test_half_a_character_in_an_argument_is_refused_instead_of_dropped() -> None:
    build_dispatcher = importlib.import_module("notes_server.server").build_dispatcher
    request = sanitize({"params": {"name": "book-tidy", "arguments": {"arguments": "a \ud83d"}}})

    with pytest.raises(MethodError, match="unpaired surrogate"):
        await build_dispatcher().dispatch("prompts/get", request["params"], QuietContext())


async def test_a_prompt_can_ask_the_person(talking: Talking) -> None:
    async def answer(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:  # noqa: ARG001
        return types.ElicitResult(action="accept", content={"topic": "rain"})

    async with talking(elicitation_callback=answer) as client:
        result = await client.get_prompt("interview")

    assert texts(result) == [("user", "Write about rain.")]


PLAN = types.PromptReference(type="ref/prompt", name="plan")
WRITE = types.PromptReference(type="ref/prompt", name="write")
PAGE = types.ResourceTemplateReference(type="ref/resource", uri="notes://pages/{day}")
SEARCH = types.ResourceTemplateReference(type="ref/resource", uri="notes://search/{+path}?limit={limit}")
COMPLETIONS: list[tuple[Any, tuple[str, str], dict[str, str], list[str]]] = [
    (WRITE, ("style", ""), {}, ["plain", "formal", "playful"]),
    (WRITE, ("style", "PL"), {}, ["plain", "playful"]),
    (WRITE, ("style", "al"), {}, ["formal"]),
    (WRITE, ("topic", "a"), {}, []),
    (WRITE, ("unknown", "a"), {}, []),
    (PLAN, ("start", "2026-11-21"), {}, ["2026-11-21"]),
    (PLAN, ("start", "2026-11-21"), {"days": "+2"}, ["2026-11-21+2"]),
    (PAGE, ("day", "2026-11-21"), {}, ["2026-11-21"]),
    (SEARCH, ("limit", "0"), {}, ["10", "100"]),
]


@pytest.mark.parametrize(("reference", "argument", "others", "values"), COMPLETIONS)
async def test_arguments_are_completed(
    talking: Talking, reference: Any, argument: tuple[str, str], others: dict[str, str], values: list[str]
) -> None:
    name, value = argument
    async with talking() as client:
        result = await client.complete(reference, {"name": name, "value": value}, others or None)

    assert result.completion.values == values


async def test_a_completion_has_at_most_100_values_and_the_number_of_all(talking: Talking) -> None:
    async with talking() as client:
        completion = (await client.complete(PLAN, {"name": "start", "value": "*"})).completion

    assert (len(completion.values), completion.total, completion.has_more) == (100, 1000, True)


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (types.PromptReference(type="ref/prompt", name="plans"), "Unknown prompt"),
        (types.ResourceTemplateReference(type="ref/resource", uri="notes://{day}"), "Resource not found"),
        (PLAN, "Error executing prompt plan.start"),
    ],
)
async def test_a_completion_that_fails_is_an_error(talking: Talking, reference: Any, text: str) -> None:
    async with talking() as client:
        with pytest.raises(MCPError, match=re.escape(text)):
            await client.complete(reference, {"name": "start", "value": "!"})


async def test_icons_are_those_of_the_manifest(talking: Talking) -> None:
    async with talking() as client:
        (tool,) = (await client.list_tools()).tools[:1]
        server = client.server_info if client.protocol_version == LEGACY else None

    assert [icon.src for icon in tool.icons or ()] == ["https://notes.example/pen.png"]
    assert server is None or [icon.src for icon in server.icons or ()] == ["https://notes.example/icon.png"]
