"""Answers in memory: how long, how many and how much."""

from __future__ import annotations

import pytest
from toolmason_runtime import ToolError
from workbench_handlers.answers.memory import MAX_ANSWERS, MemoryStore

pytestmark = pytest.mark.anyio


class Clock:
    """A clock that is set by hand."""

    now = 1_767_846_600.0

    def __call__(self) -> float:
        return self.now


async def test_answer_lives_for_an_hour_to_the_second() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    kept = await store.put(["a"])

    clock.now = kept.expires_at.timestamp() - 1
    assert (await store.get(kept.key, 1)).content == "a"
    clock.now = kept.expires_at.timestamp()
    with pytest.raises(ToolError, match="expired"):
        await store.get(kept.key, 1)


async def test_reading_does_not_lengthen_a_life() -> None:
    clock = Clock()
    store = MemoryStore(clock=clock)
    kept = await store.put(["a"])
    for _ in range(3):
        clock.now += 1000
        assert (await store.get(kept.key, 1)).expires_at == kept.expires_at
    clock.now += 1000

    with pytest.raises(ToolError, match="expired"):
        await store.get(kept.key, 1)


async def test_what_was_not_read_for_the_longest_time_makes_room() -> None:
    store = MemoryStore(most_answers=3)
    keys = [(await store.put([name])).key for name in "abc"]
    await store.get(keys[0], 1)
    keys.append((await store.put(["d"])).key)

    assert [store.has(key) for key in keys] == [True, False, True, True]


async def test_expired_answers_make_room_first() -> None:
    clock = Clock()
    store = MemoryStore(most_answers=2, clock=clock)
    old = await store.put(["old"])
    clock.now += 3000
    young = await store.put(["young"])
    await store.get(old.key, 1)
    clock.now += 1000
    new = await store.put(["new"])

    assert [store.has(kept.key) for kept in (old, young, new)] == [False, True, True]


async def test_bytes_are_bounded_not_characters() -> None:
    store = MemoryStore(most_bytes=30)
    keys = [(await store.put(["漢字", "漢"])).key for _ in range(4)]  # 9 bytes each

    assert [store.has(key) for key in keys] == [False, True, True, True]


async def test_many_answers_do_not_pile_up() -> None:
    store = MemoryStore()
    keys = [(await store.put(["a", "b"])).key for _ in range(2 * MAX_ANSWERS)]

    assert [store.has(key) for key in keys] == [False] * MAX_ANSWERS + [True] * MAX_ANSWERS


async def test_nothing_is_left_after_closing() -> None:
    store = MemoryStore()
    kept = await store.put(["a"])
    await store.aclose()

    assert not store.has(kept.key)
