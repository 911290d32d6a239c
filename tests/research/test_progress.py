"""What a client is told while it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from toolmason_runtime import ToolCall
from toolmason_runtime.calls.call import Level

from workbench_research.progress import progress_reporter

PATIENCE_S = 10.0


@dataclass
class Client:
    """The far end of a call, which may have gone."""

    is_gone: bool = False
    operation_id: str = "1"
    is_local: bool = True
    principal: None = None
    client_name: str = "toolmason"
    is_modern: bool = False
    answered: tuple[str, ...] = ()
    has_progress_token: bool = True
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    told: list[tuple[float, str]] = field(default_factory=list)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        assert total is None
        if self.is_gone:
            raise ConnectionError
        self.told.append((progress, message or ""))

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        raise AssertionError((level, data, logger))

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        raise AssertionError((key, method, params))


def test_messages_come_as_they_happen_and_their_progress_grows() -> None:
    client = Client()

    async def scenario() -> None:
        async with progress_reporter(ToolCall("t", client, ())) as report:
            for number in range(5):
                await report(f"step {number}")

    asyncio.run(scenario())

    assert [text for _, text in client.told] == [f"step {number}" for number in range(5)]
    counts = [count for count, _ in client.told]
    assert counts == sorted(set(counts))


def test_silence_is_broken_again_and_again() -> None:
    client = Client()

    async def scenario() -> None:
        async with progress_reporter(ToolCall("t", client, ()), interval_s=0.01), asyncio.timeout(PATIENCE_S):
            while len(client.told) < 3:  # noqa: ASYNC110  the client sets no event
                await asyncio.sleep(0.001)

    asyncio.run(scenario())

    assert all(text.startswith("still working, ") for _, text in client.told)


def test_no_progress_is_sent_after_the_end() -> None:
    client = Client()

    async def scenario() -> None:
        async with progress_reporter(ToolCall("t", client, ()), interval_s=0.01):
            pass
        before = len(client.told)
        await asyncio.sleep(0.05)
        assert len(client.told) == before

    asyncio.run(scenario())


def test_a_client_that_has_gone_costs_the_work_nothing() -> None:
    async def scenario() -> None:
        async with progress_reporter(ToolCall("t", Client(is_gone=True), ()), interval_s=0.001):
            await asyncio.sleep(0.02)

    asyncio.run(scenario())


def test_cancelling_the_call_ends_the_signs_of_life() -> None:
    client = Client()

    async def scenario() -> None:
        async def wait() -> None:
            async with progress_reporter(ToolCall("t", client, ()), interval_s=0.01):
                await asyncio.Event().wait()

        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(scenario())
