"""The names of slash commands that are served as prompts: the prefix of the manifest, or that of a variable."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from mcp import Client
from oracle import LEGACY
from stdio_peer import talking as speaking
from toolmason_runtime.shared.selection import Selection

Talking = Callable[..., AbstractAsyncContextManager[Client]]
VARIABLE = "NOTES_PREFIX"
OTHERS = ["write", "illustrate", "collect", "plan", "interview"]
"""The prompts that are not commands."""


async def names(client: Client) -> list[str]:
    """The names of all prompts, of all pages."""
    page = await client.list_prompts()
    prompts = [*page.prompts]
    while page.next_cursor:
        page = await client.list_prompts(cursor=page.next_cursor)
        prompts += page.prompts
    return [prompt.name for prompt in prompts]


@pytest.mark.anyio
async def test_a_command_names_itself_as_clients_do(talking: Talking, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = []
    for prefix in (None, "gw-"):
        if prefix:
            monkeypatch.setenv(VARIABLE, prefix)
        async with talking() as client:
            result = await client.get_prompt(f"{prefix or 'book-'}write", {"arguments": "a {COMMAND_NAME}"})
            texts += [getattr(message.content, "text", "") for message in result.messages]

    assert texts == [
        "Write: a {COMMAND_NAME}. To write more: /book-write <text>",
        "Write: a {COMMAND_NAME}. To write more: /gw-write <text>",
    ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "case",
    [
        ("gw-", "gw-", []),
        ("gw", "gw", [(logging.INFO, "separator")]),
        ("my team:-", "my team:-", [(logging.WARNING, "a space"), (logging.WARNING, "`:`")]),
        ("../", "book-", [(logging.ERROR, "NOTES_PREFIX: the prefix `../` contains `/`")]),
        ("", "book-", [(logging.ERROR, "NOTES_PREFIX: another prompt is named `write`")]),
    ],
    ids=["valid", "no separator", "unusual", "path", "clash"],
)
async def test_a_variable_of_the_manifest_replaces_the_prefix_if_it_is_valid(
    talking: Talking,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    case: tuple[str, str, list[tuple[int, str]]],
) -> None:
    prefix, served, logged = case
    monkeypatch.setenv(VARIABLE, prefix)
    caplog.set_level(logging.INFO, logger="toolmason_runtime.server.prompts")
    async with talking() as client:
        for _ in range(2):
            assert await names(client) == [*OTHERS, f"{served}tidy", f"{served}write"]

    records = [record for record in caplog.records if record.name == "toolmason_runtime.server.prompts"]
    pairs = list(zip(records, logged, strict=True))
    assert all(record.levelno == level and text in record.getMessage() for record, (level, text) in pairs)


@pytest.mark.anyio
async def test_a_refused_prefix_is_not_reported_where_commands_are_not_served(
    talking: Talking, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, "../")
    async with talking(Selection("classic", command_prompts=False)) as client:
        assert await names(client) == OTHERS

    assert "NOTES_PREFIX" not in caplog.text


@pytest.mark.parametrize(
    ("variable", "prefix", "name", "logged"),
    [
        ("GEMINI_COMMAND_PREFIX", "gw-", "book-write", ""),
        (VARIABLE, "gw-", "gw-write", ""),
        (VARIABLE, "a/", "book-write", "NOTES_PREFIX: the prefix `a/` contains `/`"),
    ],
)
def test_a_real_process_reads_only_the_variable_of_its_own_manifest(
    notes_project: Path, variable: str, prefix: str, name: str, logged: str
) -> None:
    environment = {
        **{key: value for key, value in os.environ.items() if key not in ("GEMINI_COMMAND_PREFIX", VARIABLE)},
        "PYTHONPATH": os.pathsep.join(str(notes_project / root) for root in ("generated", "handlers")),
        variable: prefix,
    }
    with speaking(LEGACY, command=[sys.executable, "-m", "notes_server"], env=environment, inherit=False) as peer:
        result = peer.result("prompts/get", name=name, arguments={"arguments": "a line"})
        peer.end_of_input()
        stderr = peer.stderr()

    assert result["messages"][0]["content"]["text"] == f"Write: a line. To write more: /{name} <text>"
    assert logged in stderr
    assert bool(stderr) == bool(logged)
