"""The asynchronous phase prepares the first call: once, while nothing is received or answered, and before a call."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from toolmason_runtime.transports.stdio import async_phase
from toolmason_runtime.transports.stdio.idle_time import IDLE_S


@pytest.mark.parametrize(
    ("states", "has_called"),
    [
        ([(1, False)], False),
        ([(1, True), (1, True), (1, False)], False),
        ([(2, False), (3, False), (3, False)], False),
        ([(2, True), (2, False)], True),
    ],
    ids=["quiet", "a request runs", "messages arrive", "a tool is called"],
)
def test_the_first_call_is_prepared_when_nothing_runs(
    states: list[tuple[int, bool]], has_called: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`states` are the number of messages, and whether a request runs, after each pause."""
    is_busy = True
    connection: Any = SimpleNamespace(received=1, has_called=False, is_busy=lambda: is_busy)
    rest = iter(states)
    prepared = threading.Event()

    async def pause(seconds: float) -> None:
        nonlocal is_busy
        assert seconds == IDLE_S
        assert not prepared.is_set()
        connection.received, is_busy = next(rest)
        connection.has_called = has_called

    monkeypatch.setattr(async_phase, "asyncio", SimpleNamespace(sleep=pause))
    asyncio.run(async_phase._prepare_when_quiet(connection, prepared.set))

    assert list(rest) == []
    assert prepared.wait(0.2 if has_called else 30) is not has_called
