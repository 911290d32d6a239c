"""What both stores do: real Redis and this process pass the same tests."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toolmason_runtime import ToolError
from toolmason_runtime.calls.text_store import KeptText
from toolmason_runtime.chunks.store import ChunkStore

pytestmark = pytest.mark.anyio

PATIENCE_S = 30.0
TEN = "x" * 10
"""A text that fills a part."""
UNKNOWN = "cache_" + "0" * 32

Stores = Callable[..., ChunkStore]


async def content(store: ChunkStore, kept: KeptText) -> list[str]:
    """Fetch all parts of a text."""
    results = [await store.fetch(kept.key, index) for index in range(1, kept.total + 1)]
    return [result["chunk"]["content"] for result in results]


async def fetch_until_it_fails(store: ChunkStore, key: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await store.fetch(key, 1):  # noqa: ASYNC110  nothing announces the end
            await asyncio.sleep(0)


async def test_short_text_is_whole_and_not_stored(stores: Stores) -> None:
    store = stores()
    kept = await store.keep(TEN)
    await store.aclose()

    assert (kept.first, kept.key, kept.total, kept.chars, kept.next_call) == (TEN, "", 1, 10, "")


async def test_a_part_is_fetched_as_the_specification_of_the_proxy_has_it(stores: Stores) -> None:
    store = stores()
    before = time.time()
    kept = await store.keep(TEN * 3)
    after = time.time()
    result = await store.fetch(kept.key, 2)
    await store.aclose()

    expires_at = result["meta"].pop("expiresAt")
    assert result == {
        "tool": "fetch_chunk",
        "cacheKey": kept.key,
        "chunk": {"index": 2, "total": 3, "content": TEN},
        "meta": {"contentLength": 10, "next": f'fetch_chunk(cacheKey="{kept.key}", chunkIndex=3)'},
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", expires_at)
    assert before + 3600 - 0.002 <= datetime.fromisoformat(expires_at).timestamp() <= after + 3600 + 0.002
    assert kept.next_call == f'fetch_chunk(cacheKey="{kept.key}", chunkIndex=2)'
    assert (kept.first, kept.total, kept.chars, kept.warnings) == (TEN, 3, 30, ())


async def test_parts_come_in_any_order_and_again(stores: Stores) -> None:
    store = stores()
    kept = await store.keep("\u20ac" * 8)
    parts = [(await store.fetch(kept.key, index))["chunk"]["content"] for index in (3, 1, 3, 2)]
    await store.aclose()

    assert parts == ["\u20ac" * count for count in (2, 3, 2, 3)]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters()), min_size=1, max_size=5))
def test_any_text_comes_back(stores: Stores, pieces: list[str]) -> None:
    async def there_and_back() -> list[str]:
        store = stores()
        try:
            kept = await store.keep(iter([TEN, *pieces, TEN]))
            return await content(store, kept)
        finally:
            await store.aclose()

    assert "".join(asyncio.run(there_and_back())) == "".join([TEN, *pieces, TEN])


@pytest.mark.parametrize("size", [300_000, 5_000_000], ids=["a small file", "five megabytes"])
async def test_a_large_text_is_stored(stores: Stores, size: int) -> None:
    store = stores(part_size=36_000)
    text = "\u6f22\u5b57 " * (size // 7)
    kept = await store.keep(text)
    parts = await content(store, kept)
    await store.aclose()

    assert "".join(parts) == text
    assert kept.warnings == ()


async def test_keys_cannot_be_guessed(stores: Stores) -> None:
    store = stores()
    keys = {(await store.keep("the same text")).key for _ in range(50)}
    await store.aclose()

    assert len(keys) == 50
    assert all(re.fullmatch(r"cache_[0-9a-f]{32}", key) for key in keys)


@pytest.mark.parametrize("key", [UNKNOWN, "", "cache_", "*", "cache_abc\r\nFLUSHALL\r\n", "k" * 100_000, "\ud800"])
async def test_an_unknown_key_has_the_advice_to_call_again(stores: Stores, key: str) -> None:
    store = stores()
    other = await store.keep(TEN + "yyy")

    with pytest.raises(ToolError, match="Run the original query again, or the command") as caught:
        await store.fetch(key, 1)
    assert await content(store, other) == [TEN, "yyy"]
    await store.aclose()

    assert caught.value.code == "CACHE_EXPIRED"
    assert len(caught.value.message) < 400


@pytest.mark.parametrize("index", [0, -1, 4, 2**70])
async def test_an_index_out_of_range_is_answered_with_the_range(stores: Stores, index: int) -> None:
    store = stores()
    kept = await store.keep(TEN * 3)

    with pytest.raises(ToolError, match=rf"chunk {index} does not exist: there are the chunks 1 to 3") as caught:
        await store.fetch(kept.key, index)
    await store.aclose()

    assert caught.value.code == "INVALID_CHUNK_INDEX"
    assert caught.value.details == {"chunkIndex": index, "total": 3}


async def test_a_text_is_gone_after_its_time(stores: Stores) -> None:
    store = stores(ttl_s=0.1)
    kept = await store.keep(TEN + "yyy")
    with pytest.raises(ToolError) as caught:
        await fetch_until_it_fails(store, kept.key)
    await store.aclose()

    assert caught.value.code == "CACHE_EXPIRED"


async def test_forty_texts_at_once_stay_apart(stores: Stores) -> None:
    store = stores(part_size=500)

    async def there_and_back(number: int) -> None:
        text = f"{number}. " * 2_000
        assert "".join(await content(store, await store.keep(text))) == text

    await asyncio.gather(*map(there_and_back, range(40)))
    await store.aclose()


async def test_a_store_in_order_has_no_problem_and_closes_twice(stores: Stores) -> None:
    store = stores()
    await store.keep(TEN + "yyy")

    assert await store.check() == ""
    await store.aclose()
    await store.aclose()


async def test_the_text_is_in_no_representation(stores: Stores) -> None:
    store = stores()
    kept = await store.keep("the answer to all")
    shown: list[Any] = [kept, store]
    await store.aclose()

    assert "answer" not in repr(shown)


async def test_a_text_that_cannot_be_read_leaves_nothing(stores: Stores) -> None:
    def failing() -> Iterator[str]:
        yield "begun"
        raise OSError(28, "No space left on device")

    store = stores()
    with pytest.raises(OSError, match="No space left"):
        await store.keep(failing())
    await store.aclose()
