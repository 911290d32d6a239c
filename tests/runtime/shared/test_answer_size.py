"""The size of an answer is that of the client of the request."""

from __future__ import annotations

import asyncio

import pytest
from toolmason_runtime.shared.answer_size import DEFAULT_SIZE, VARIABLE, max_answer_size
from toolmason_runtime.shared.current_client import current_client, enter_client, leave_client


@pytest.mark.parametrize(
    ("client", "size"),
    [
        ("claude-code", DEFAULT_SIZE),
        ("opencode", DEFAULT_SIZE),
        ("gemini-cli-mcp-client", DEFAULT_SIZE),
        ("continue-cli-client", DEFAULT_SIZE),
        ("qwen-cli-mcp-client-lab", 25_000),
        ("copilot-cli", 20_000),
        ("codex-mcp-client", 12_000),
        ("@cline/core", 8_000),
        ("Visual Studio Code", 8_000),
        ("someone", 8_000),
        ("", 8_000),
    ],
)
def test_an_answer_fits_the_client(client: str, size: int) -> None:
    token = enter_client(client)
    try:
        assert max_answer_size({}) == size
        assert max_answer_size({VARIABLE: "9000"}) == 9_000
        assert max_answer_size({VARIABLE: "many"}) == size
    finally:
        leave_client(token)
    assert current_client() is None
    assert max_answer_size({}) == DEFAULT_SIZE


def test_threads_and_concurrent_requests_have_the_client_of_their_request() -> None:
    async def request(client: str) -> int:
        token = enter_client(client)
        await asyncio.sleep(0)
        size = await asyncio.to_thread(max_answer_size, {})
        leave_client(token)
        return size

    async def both() -> list[int]:
        return list(await asyncio.gather(request("claude-code"), request("copilot-cli"), request("")))

    assert asyncio.run(both()) == [DEFAULT_SIZE, 20_000, 8_000]
