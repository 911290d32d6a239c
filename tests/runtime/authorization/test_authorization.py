"""Authorization over HTTP: real tokens, a real server process and the SDK's client."""

from __future__ import annotations

import pytest
from conftest import Notes
from mcp.types import TextContent

pytestmark = pytest.mark.anyio
ERAS = ["legacy", "2026-07-28"]


def text(result: object) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_finds_the_authorization_server_and_gets_its_token(notes: Notes, mode: str) -> None:
    async with notes.authorizing_client("ada", mode) as client:
        assert text(await client.call_tool("whoami", {})) == "ada by ada-app: notes"
        result = await client.call_tool("remove_note", {"title": "a"})
        assert text(result) == "removed a"
    print(notes.issuer.asked)


@pytest.mark.parametrize("mode", ERAS)
async def test_x(notes: Notes, mode: str) -> None:
    async with notes.authorizing_client("bob", mode) as client:
        result = await client.call_tool("remove_note", {"title": "a"})
        print(result)
