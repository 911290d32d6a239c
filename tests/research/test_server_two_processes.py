"""Two server processes that share a Redis: what one keeps the other gives, whichever way the client comes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_cli import Fake, answered
from mcp import Client
from served import Ear, Said, environment, inside, served, serving_http, settle

pytestmark = pytest.mark.anyio
MakeFake = Callable[..., Fake]

TEXT = "".join(f"Zeile {number} mit Ümläuten und 漢字.\n" for number in range(400))


async def call(address: str, tool: str, **arguments: Any) -> Said:
    """Call a tool over HTTP, as a client that comes for this call alone."""
    async with Client(address) as client:
        return Said.of(tool, await client.call_tool(tool, arguments))


async def test_chunks_that_one_process_made_are_fetched_from_another_over_http_and_stdio(
    redis: str, fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear
) -> None:
    cli = fake("gemini", answered(TEXT))
    environ = environment(tmp_path / "home", cli, WORKBENCH_STORE=redis, RESPONSE_CHUNK_SIZE_KB="4")

    with serving_http(environ, project) as address:
        async with served(environ, project, overheard=overheard) as other:
            here = (await other.call("quick_query", prompt="What?")).data
            there = (await call(address, "quick_query", prompt="What?")).data
            total = here["chunks"]["total"]
            over_http = [
                (await call(address, "fetch_chunk", cacheKey=here["chunks"]["cacheKey"], chunkIndex=index)).data
                for index in range(1, total + 1)
            ]
            over_stdio = [
                (await other.call("fetch_chunk", cacheKey=there["chunks"]["cacheKey"], chunkIndex=index)).data
                for index in range(1, total + 1)
            ]
            beyond = await call(address, "fetch_chunk", cacheKey=here["chunks"]["cacheKey"], chunkIndex=total + 1)
            health = (await call(address, "health_check", includeDiagnostics=True)).data

    assert here["chunks"]["cacheKey"] != there["chunks"]["cacheKey"]
    assert total > 2
    for chunks in (over_http, over_stdio):
        assert "".join(each["chunk"]["content"] for each in chunks) == TEXT
    assert beyond.error["code"] == "INVALID_CHUNK_INDEX"
    assert health["diagnostics"]["store"] == {"kind": "redis", "reachable": True}


async def test_without_a_common_store_a_chunk_is_known_only_where_it_was_made(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environ = environment(tmp_path / "home", fake("gemini", answered(TEXT)), RESPONSE_CHUNK_SIZE_KB="4")
    settle(monkeypatch, environ)

    async with inside(project) as one, inside(project) as other:
        first = (await one.call("quick_query", prompt="What?")).data
        second = (await one.call("fetch_chunk", cacheKey=first["chunks"]["cacheKey"], chunkIndex=2)).data
        elsewhere = await other.call("fetch_chunk", cacheKey=first["chunks"]["cacheKey"], chunkIndex=2)

    assert TEXT.startswith(first["answer"] + second["chunk"]["content"])
    assert elsewhere.error["code"] == "CACHE_EXPIRED"


async def test_a_store_that_is_not_there_costs_no_answer(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {"WORKBENCH_STORE": "redis://127.0.0.1:1/0", "RESPONSE_CHUNK_SIZE_KB": "4"}
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini", answered(TEXT)), **more))

    async with inside(project) as server:
        found = (await server.call("quick_query", prompt="What?")).data
        second = (await server.call("fetch_chunk", cacheKey=found["chunks"]["cacheKey"], chunkIndex=2)).data
        unknown = await server.call("fetch_chunk", cacheKey="cache_" + "0" * 32, chunkIndex=1)
        health = (await server.call("health_check", includeDiagnostics=True)).data

    assert TEXT.startswith(found["answer"] + second["chunk"]["content"])
    assert any("cannot be reached" in each for each in found["meta"]["warnings"])
    assert unknown.error["code"] == "INTERNAL"
    assert "try again in a moment" in unknown.error["message"]
    assert health["status"] == "degraded"
    assert health["diagnostics"]["store"] == {"kind": "redis", "reachable": False}
