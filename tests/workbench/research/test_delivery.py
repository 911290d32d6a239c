"""An answer of any length on its way: the first chunk, the others, and what was left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from toolmason_runtime import ToolError
from workbench_handlers.answers.delivery import delivered, fetched
from workbench_handlers.answers.limits import truncate
from workbench_handlers.answers.memory import MemoryStore
from workbench_handlers.answers.store import AnswerStore

pytestmark = pytest.mark.anyio

CJK = "漢字仮名交じり文です。\n\n" * 150_000
"""Five megabytes."""


async def test_short_answer_is_whole_and_not_kept() -> None:
    given = await delivered("short", MemoryStore(), environ={})

    assert (given.answer, given.chunks, given.is_truncated, given.warnings) == ("short", None, False, ())


async def test_long_answer_is_fetched_chunk_by_chunk(stores: Callable[..., AnswerStore]) -> None:
    store = stores()
    environ = {"RESPONSE_MAX_SIZE_KB": "6000"}
    first = await delivered(CJK, store, environ=environ)
    assert first.chunks is not None
    key, total = first.chunks["cacheKey"], first.chunks["total"]
    rest = [(await fetched(store, key, index))["chunk"]["content"] for index in range(2, total + 1)]
    again = await fetched(store, key, 1)
    await store.aclose()

    assert "".join([first.answer, *rest]) == CJK
    assert first.chunks == {"cacheKey": key, "current": 1, "total": total}
    assert again["chunk"] == {"index": 1, "total": total, "content": first.answer}
    assert max(len(each.encode()) for each in (first.answer, *rest)) <= 10 * 1024
    assert (first.is_truncated, first.warnings) == (False, ())


async def test_answer_beyond_the_limit_is_cut_with_a_warning() -> None:
    store = MemoryStore()
    first = await delivered(CJK, store, environ={})
    assert first.chunks is not None
    parts = [
        (await fetched(store, first.chunks["cacheKey"], index))["chunk"]["content"]
        for index in range(1, first.chunks["total"] + 1)
    ]

    assert "".join(parts) == truncate(CJK, 50 * 1024)[0]
    assert first.is_truncated
    assert "RESPONSE_MAX_SIZE_KB (now 50)" in first.warnings[0]


async def test_chunk_size_is_that_of_the_environment() -> None:
    first = await delivered("word " * 1000, MemoryStore(), environ={"RESPONSE_CHUNK_SIZE_KB": "1"})

    assert first.chunks is not None
    assert first.chunks["total"] == 5
    assert len(first.answer) <= 1024


async def test_tokens_bound_a_chunk_too() -> None:
    first = await delivered(CJK, MemoryStore(), environ={"RESPONSE_CHUNK_SIZE_KB": "60", "RESPONSE_MAX_SIZE_KB": "60"})

    assert first.chunks is not None
    assert 20_000 < len(first.answer.encode()) < 40_000


async def test_warning_of_the_store_reaches_the_answer() -> None:
    first = await delivered("word " * 20_000, MemoryStore(problem="no Redis"), environ={})

    assert first.warnings[1:] == ("no Redis",)


async def test_fetched_chunk_is_as_the_contract_says() -> None:
    store = MemoryStore(clock=lambda: 1_767_843_000.25)
    kept = await store.put(["one", "two", "three"])

    assert await fetched(store, kept.key, 2) == {
        "tool": "fetch_chunk",
        "cacheKey": kept.key,
        "chunk": {"index": 2, "total": 3, "content": "two"},
        "meta": {"expiresAt": "2026-01-08T04:30:00.250Z"},
    }


async def test_time_without_a_fraction_is_written_like_any_other() -> None:
    store = MemoryStore(clock=lambda: 1_767_843_000.0)
    kept = await store.put(["one"])

    assert (await fetched(store, kept.key, 1))["meta"] == {"expiresAt": "2026-01-08T04:30:00.000Z"}


@pytest.mark.parametrize(
    ("key", "index", "code"), [("cache_gone", 1, "CACHE_EXPIRED"), (None, 4, "INVALID_CHUNK_INDEX")]
)
async def test_errors_carry_the_codes_of_the_contract(key: str | None, index: int, code: str) -> None:
    store = MemoryStore()
    kept = await store.put(["one", "two", "three"])

    with pytest.raises(ToolError) as caught:
        await fetched(store, key or kept.key, index)

    assert caught.value.code == code
