"""Answers and outputs that are too long for one result, fetched through the whole server until nothing is missing."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fake_cli import Fake, answered, cjk, line, result, slivers, started
from served import Ear, Said, environment, inside, served, settle
from toolmason_runtime.shared.tokens import estimate_tokens

from workbench_research.asking import Api
from workbench_research.backends.question import Answer

pytestmark = pytest.mark.anyio
MakeFake = Callable[..., Fake]
Call = Callable[..., Awaitable[Said]]

MAX_TOKENS = 25_000
"""What clients let through."""


async def whole(call: Call, first: str, key: str, total: int) -> list[str]:
    """Fetch all chunks, the first one again as well."""
    chunks = []
    for index in range(1, total + 1):
        part = (await call("fetch_chunk", cacheKey=key, chunkIndex=index)).data["chunk"]
        assert (part["index"], part["total"]) == (index, total)
        chunks.append(part["content"])
    assert chunks[0] == first
    return chunks


async def test_a_megabyte_of_chinese_comes_whole(fake: MakeFake, project: Path, tmp_path: Path, overheard: Ear) -> None:
    text = cjk(1024 * 1024)
    # In pieces that split characters, as a pipe does.
    said = slivers(line("message", role="assistant", content=text, delta=True), 65_521)
    cli = fake("gemini", [started(), said, result()])
    environ = environment(tmp_path / "home", cli, RESPONSE_MAX_SIZE_KB="8192", RESPONSE_CHUNK_SIZE_KB="1024")

    # A client of this era lists the tools once, not before each of the many calls.
    async with served(environ, project, overheard=overheard, mode="legacy") as server:
        found = (await server.call("quick_query", prompt="What does it say?")).data
        total = found["chunks"]["total"]
        chunks = await whole(server.call, found["answer"], found["chunks"]["cacheKey"], total)

    assert "".join(chunks) == text
    assert "\N{REPLACEMENT CHARACTER}" not in "".join(chunks)
    assert found["chunks"]["current"] == 1
    assert total == len(chunks) > 35
    assert max(estimate_tokens(chunk) for chunk in chunks) < MAX_TOKENS
    assert found["meta"]["truncated"] is False


@pytest.mark.parametrize("tool", ["quick_query", "analyze_codebase"])
async def test_an_answer_that_is_not_kept_completely_is_marked_as_cut(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    async def ask(*_: Any) -> Answer:
        return Answer(text="As I said,", model="fake-model", is_cut=True)

    monkeypatch.setattr(Api, "ask", ask)
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini")))
    arguments: dict[str, Any] = {"prompt" if tool == "quick_query" else "focus_description": "a"}

    async with inside(project) as server:
        found = (await server.call(tool, **arguments)).data

    assert found["meta"]["truncated"] is True


async def test_more_than_fifty_kilobytes_are_cut_with_the_call_for_the_rest(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "".join(f"Line {number} says that it is line {number}.\n" for number in range(3_000))
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini", answered(text))))

    async with inside(project) as server:
        found = (await server.call("quick_query", prompt="a")).data
        chunks = await whole(server.call, found["answer"], found["chunks"]["cacheKey"], found["chunks"]["total"])

    assert "".join(chunks) == text[: 50 * 1024]
    assert all(len(chunk) <= 10 * 1024 for chunk in chunks)
    assert found["meta"]["truncated"] is True
    (warning,) = found["meta"]["warnings"]
    assert f"{len(text) - 50 * 1024:,} of its {len(text):,} bytes are missing" in warning
    assert "RESPONSE_MAX_SIZE_KB" in warning


@pytest.mark.parametrize(("size", "is_chunked"), [(10 * 1024, False), (10 * 1024 + 1, True)])
async def test_ten_kilobytes_come_in_one_piece_without_chunks(
    *, size: int, is_chunked: bool, fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini", answered("a " * (size // 2) + "a" * (size % 2)))))

    async with inside(project) as server:
        found = (await server.call("deep_research", prompt="a")).data

    assert ("chunks" in found) is is_chunked
    assert (len(found["answer"]) == size) is not is_chunked


async def test_what_a_model_wrote_in_no_form_is_fetched_like_any_answer(
    fake: MakeFake, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "I would rather tell a story. " * 1_000
    settle(monkeypatch, environment(tmp_path / "home", fake("gemini", answered(text))))

    async with inside(project) as server:
        found = (await server.call("trace_feature", feature="start")).data
        chunks = await whole(server.call, found["rawAnswer"], found["chunks"]["cacheKey"], found["chunks"]["total"])

    assert "".join(chunks) == text


async def test_long_output_of_a_command_is_fetched_by_the_same_tool(
    project: Path, tmp_path: Path, overheard: Ear
) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        argv = ["git", "-C", str(project), *identity, *arguments]
        return subprocess.run(argv, capture_output=True, encoding="utf-8", check=True).stdout

    git("init", "--quiet")
    (project / "long.txt").write_text("".join(f"line {number} 漢字\n" for number in range(2_000)), encoding="utf-8")
    git("add", ".")
    git("commit", "--quiet", "--message=Begin")

    async with served(environment(tmp_path / "home"), project, overheard=overheard) as server:
        said = await server.call("git_blame", path="long.txt")
        first, _, begin = said.texts[0].partition("\n")
        found = re.search(r'fetch_chunk\(cacheKey="(\w+)", chunkIndex=2\) gives the next of (\d+) parts', first)
        assert found, first
        total = int(found[2])
        parts = await whole(server.call, begin, found[1], total)
        beyond = await server.call("fetch_chunk", cacheKey=found[1], chunkIndex=total + 1)

    assert "".join(parts) == git("blame", "--date=short", "long.txt").rstrip("\n")
    assert beyond.error["code"] == "INVALID_CHUNK_INDEX"
    assert f"1 to {total}" in beyond.error["message"]
