"""A client that lost its connection gets what it missed, of its own stream and no more than is kept."""

from __future__ import annotations

import asyncio
import time

import pytest
from mcp.server.streamable_http import EventMessage
from mcp.types import JSONRPCNotification, JSONRPCResponse
from toolmason_runtime.transports import replay
from toolmason_runtime.transports.replay import RecentEvents


def notification(method: str) -> JSONRPCNotification:
    return JSONRPCNotification(jsonrpc="2.0", method=method)


async def missed(events: RecentEvents, last: str) -> tuple[str | None, list[tuple[str, str | None]]]:
    sent: list[tuple[str, str | None]] = []

    async def send(event: EventMessage) -> None:
        assert isinstance(event.message, JSONRPCNotification)
        sent.append((event.message.method, event.event_id))

    return await events.replay_events_after(last, send), sent


def test_later_events_of_the_same_stream_are_replayed_in_order() -> None:
    async def scenario() -> None:
        events = RecentEvents()
        first = await events.store_event("a", None)
        await events.store_event("b", notification("b/1"))
        second = await events.store_event("a", notification("a/1"))
        third = await events.store_event("a", notification("a/2"))

        assert await missed(events, first) == ("a", [("a/1", second), ("a/2", third)])
        assert await missed(events, third) == ("a", [])

    asyncio.run(scenario())


@pytest.mark.parametrize("unknown", ["", "99", "x", "-1"])
def test_an_event_nobody_knows_gives_nothing(unknown: str) -> None:
    async def scenario() -> None:
        events = RecentEvents()
        await events.store_event("a", notification("a/1"))

        assert await missed(events, unknown) == (None, [])

    asyncio.run(scenario())


def test_an_id_of_another_session_gives_nothing_though_their_requests_have_the_same_ids() -> None:
    async def scenario() -> None:
        ours, theirs = RecentEvents(), RecentEvents()
        opened = await ours.store_event("7", None)
        their_ids = [await theirs.store_event("7", each) for each in (None, notification("theirs"))]
        answer = await ours.store_event("7", notification("ours"))

        assert [await missed(ours, each) for each in their_ids] == [(None, []), (None, [])]
        assert await missed(ours, opened) == ("7", [("ours", answer)])

    asyncio.run(scenario())


def test_ids_of_events_cannot_be_guessed() -> None:
    async def scenario() -> None:
        events = RecentEvents()
        ids = {await events.store_event("a", None) for _ in range(100)}

        assert len(ids) == 100
        assert min(map(len, ids)) >= 22  # 128 bits in base64

    asyncio.run(scenario())


def test_old_events_are_forgotten() -> None:
    async def scenario() -> None:
        events = RecentEvents(max_events=2)
        first = await events.store_event("a", None)
        for number in range(2):
            await events.store_event("a", notification(f"a/{number}"))

        assert await missed(events, first) == (None, [])

    asyncio.run(scenario())


def response(identity: int) -> JSONRPCResponse:
    return JSONRPCResponse(jsonrpc="2.0", id=identity, result={})


def test_events_of_answered_requests_are_forgotten_after_a_time_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.monotonic()  # not 0: other tests have left events
    monkeypatch.setattr(time, "monotonic", lambda: now)

    async def scenario() -> None:
        nonlocal now
        events, others = RecentEvents(), RecentEvents()
        running, answered, reused = [await events.store_event(name, None) for name in ("0", "1", "2")]
        for identity in (1, 2):
            await events.store_event(str(identity), response(identity))
        again = await events.store_event("2", None)
        now += replay.ANSWERED_S
        await others.store_event("1", None)
        assert (await missed_ids(events, answered))[0] == "1"

        now += 1
        await others.store_event("1", None)
        found = [(await missed_ids(events, each))[0] for each in (running, answered, reused, again)]
        assert found == ["0", None, None, "2"]

    asyncio.run(scenario())


async def missed_ids(events: RecentEvents, last: str) -> tuple[str | None, list[str | None]]:
    sent: list[str | None] = []

    async def send(event: EventMessage) -> None:
        sent.append(event.event_id)

    return await events.replay_events_after(last, send), sent


def test_the_memory_of_a_session_with_many_requests_is_bounded() -> None:
    async def scenario() -> tuple[int, int]:
        events = RecentEvents(max_events=10)
        for number in range(100):
            await events.store_event("stream", notification("a"))
            await events.store_event(str(number), None)
        return len(events._events), len(events._unanswered)

    assert asyncio.run(scenario()) == (10, 6)
