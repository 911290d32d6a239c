"""The calls of one connection: which run, what they see of each other, and their responses after a cancellation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any, cast

import pytest
from toolmason_runtime.transports.stdio import calls as module
from toolmason_runtime.transports.stdio.calls import Call, Calls
from toolmason_runtime.transports.stdio.output import Output

LEFT: ContextVar[str] = ContextVar("left", default="")


class Lines:
    """An output that keeps the lines."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []
        self._has_changed = asyncio.Event()

    def write(self, line: bytes) -> None:
        self.written.append(json.loads(line))
        self._has_changed.set()

    async def wait_for(self, count: int) -> None:
        async with asyncio.timeout(20):
            while len(self.written) < count:
                self._has_changed.clear()
                await self._has_changed.wait()

    def has_room(self) -> bool:
        return True


def run(work: Callable[[Calls, Lines], Awaitable[None]], answer: Callable[[Call], Awaitable[dict[str, Any]]]) -> Lines:
    async def main() -> Lines:
        lines = Lines()
        await work(Calls(cast("Output", lines), answer), lines)
        return lines

    return asyncio.run(main())


def call(identity: int) -> Call:
    return Call(identity, "tools/call", {}, 1)


def test_a_call_leaves_no_context_variable_to_the_call_that_starts_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RUNNING", 1)

    async def answer(call: Call) -> dict[str, Any]:
        seen = LEFT.get()
        LEFT.set(f"of call {call.identity}")
        return {"seen": seen}

    async def work(calls: Calls, lines: Lines) -> None:
        for identity in range(3):
            calls.add(call(identity))
        await lines.wait_for(3)

    assert [line["result"] for line in run(work, answer).written] == [{"seen": ""}] * 3


@pytest.mark.parametrize("turns", [0, 1], ids=["before it starts", "while it runs"])
def test_a_cancelled_call_gets_no_response_and_makes_room(monkeypatch: pytest.MonkeyPatch, turns: int) -> None:
    monkeypatch.setattr(module, "MAX_RUNNING", 1)

    async def answer(call: Call) -> dict[str, Any]:
        await asyncio.sleep(30 if call.identity == 1 else 0)
        return {}

    async def work(calls: Calls, lines: Lines) -> None:
        calls.add(call(1))
        calls.add(call(2))
        for _ in range(turns):
            await asyncio.sleep(0)
        calls.cancel(1)
        await lines.wait_for(1)
        await calls.close()

    assert [line["id"] for line in run(work, answer).written] == [2]


@pytest.mark.parametrize("turns", [0, 1], ids=["before they start", "while they run"])
def test_calls_at_the_end_of_the_connection_get_an_error(turns: int) -> None:
    async def answer(_: Call) -> dict[str, Any]:
        await asyncio.sleep(30)
        return {}

    async def work(calls: Calls, _: Lines) -> None:
        for identity in range(3):
            calls.add(call(identity))
        for _turn in range(turns):
            await asyncio.sleep(0)
        await calls.close()

    lines = run(work, answer)

    assert sorted(line["id"] for line in lines.written) == [0, 1, 2]
    assert {line["error"]["message"] for line in lines.written} == {"Connection closed"}
