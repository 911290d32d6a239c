"""What every store does, wherever it keeps the answers."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolmason_runtime import ToolError
from workbench_handlers.answers.store import MAX_ANSWER_BYTES, AnswerStore

pytestmark = pytest.mark.anyio

PATIENCE_S = 30.0
UNKNOWN = "cache_" + "0" * 32

Stores = Callable[..., AnswerStore]


async def read_until_it_fails(store: AnswerStore, key: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await store.get(key, 1):  # noqa: ASYNC110  nobody tells of an end
            await asyncio.sleep(0)


async def test_parts_come_back_exactly(stores: Stores) -> None:
    store = stores()
    parts = ["first\r\n", "", "漢字 \U0001f469\u200d\U0001f467 e\u0301", "\x00\ud800half", "last"]

    kept = await store.put(parts)
    fetched = [await store.get(kept.key, index) for index in range(1, kept.total + 1)]
    await store.aclose()

    assert [part.content for part in fetched] == parts
    assert [(part.index, part.total) for part in fetched] == [(index, 5) for index in range(1, 6)]
    assert {part.expires_at for part in fetched} == {kept.expires_at}
    assert kept.warnings == ()


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters()), min_size=1, max_size=5))
def test_any_text_comes_back(stores: Stores, parts: list[str]) -> None:
    async def there_and_back() -> list[str]:
        store = stores()
        kept = await store.put(parts)
        fetched = [(await store.get(kept.key, index)).content for index in range(1, kept.total + 1)]
        await store.aclose()
        return fetched

    assert asyncio.run(there_and_back()) == parts


async def test_answers_are_promised_for_an_hour(stores: Stores) -> None:
    store = stores()
    before = time.time()
    kept = await store.put(["a"])
    after = time.time()
    await store.aclose()

    assert kept.expires_at.tzinfo is UTC
    assert before + 3600 - 1e-3 <= kept.expires_at.timestamp() <= after + 3600 + 1e-3


async def test_keys_cannot_be_guessed(stores: Stores) -> None:
    store = stores()
    keys = {(await store.put(["the same"])).key for _ in range(50)}
    await store.aclose()

    assert len(keys) == 50
    assert all(re.fullmatch(r"cache_[0-9a-f]{32}", key) for key in keys)


@pytest.mark.parametrize("key", [UNKNOWN, "", "cache_", "*", "cache_abc\r\nFLUSHALL\r\n", "k" * 100_000, "\ud800"])
async def test_unknown_key_says_to_ask_again(stores: Stores, key: str) -> None:
    store = stores()
    other = await store.put(["a"])

    with pytest.raises(ToolError, match="Run the original query again") as caught:
        await store.get(key, 1)
    assert (await store.get(other.key, 1)).content == "a"
    await store.aclose()

    assert caught.value.code == "CACHE_EXPIRED"
    assert len(caught.value.message) < 400


@pytest.mark.parametrize("index", [0, -1, 4, 2**70])
async def test_index_out_of_range_says_which_there_are(stores: Stores, index: int) -> None:
    store = stores()
    kept = await store.put(["a", "b", "c"])

    with pytest.raises(ToolError, match=rf"chunk {index} does not exist: there are the chunks 1 to 3") as caught:
        await store.get(kept.key, index)
    await store.aclose()

    assert caught.value.code == "INVALID_CHUNK_INDEX"
    assert caught.value.details == {"chunkIndex": index, "total": 3}


async def test_answer_is_gone_when_its_time_is_over(stores: Stores) -> None:
    store = stores(life_s=0.1)
    kept = await store.put(["a"])

    with pytest.raises(ToolError) as caught:
        await read_until_it_fails(store, kept.key)
    ended = datetime.now(UTC)
    await store.aclose()

    assert caught.value.code == "CACHE_EXPIRED"
    # A Redis counts for itself, in whole milliseconds.
    assert (kept.expires_at - ended).total_seconds() < 0.01


async def test_forty_answers_at_once_stay_apart(stores: Stores) -> None:
    store = stores()

    async def there_and_back(number: int) -> None:
        parts = [f"{number}.{index} " * 500 for index in range(10)]
        kept = await store.put(parts)
        assert not kept.warnings
        assert [(await store.get(kept.key, index)).content for index in range(1, 11)] == parts

    await asyncio.gather(*map(there_and_back, range(40)))
    await store.aclose()


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        pytest.param([], "without parts", id="none"),
        pytest.param(["x" * (MAX_ANSWER_BYTES // 2 + 1)] * 2, "are the most", id="too large"),
    ],
)
async def test_what_cannot_be_an_answer_is_refused(stores: Stores, parts: list[str], said: str) -> None:
    store = stores()

    with pytest.raises(ValueError, match=said):
        await store.put(parts)
    await store.aclose()


async def test_a_large_answer_is_kept(stores: Stores) -> None:
    store = stores()
    parts = ["漢字" * 1_700] * 500  # 5 MB

    kept = await store.put(parts)
    last = await store.get(kept.key, 500)
    await store.aclose()

    assert (last.content, last.total, kept.warnings) == (parts[-1], 500, ())


async def test_store_in_order_has_nothing_to_tell_and_closes_twice(stores: Stores) -> None:
    store = stores()
    await store.put(["a"])

    assert await store.check() == ""
    await store.aclose()
    await store.aclose()


async def test_neither_keys_nor_parts_show_the_answer(stores: Stores) -> None:
    store = stores()
    kept = await store.put(["the answer"])
    shown: list[Any] = [kept, await store.get(kept.key, 1), store]
    await store.aclose()

    assert "the answer" not in repr(shown)
