"""Long answers: the limits of the environment, the first chunk, and the warnings."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import pytest
from quiet_context import QuietContext
from toolmason_runtime import ToolCall
from toolmason_runtime.chunks.cutting import truncated
from toolmason_runtime.chunks.store import ChunkStore

from workbench_research.delivery import Limits, deliver, limits, truncation_warning

pytestmark = pytest.mark.anyio

KB = 1024
CJK = "\u6f22\u5b57\u4eee\u540d\u4ea4\u3058\u308a\u6587\u3067\u3059\u3002\n\n" * 15_000
"""Half a megabyte."""


@pytest.fixture
async def call() -> AsyncIterator[ToolCall]:
    store = ChunkStore()
    yield ToolCall("quick_query", QuietContext(), [store])
    await store.aclose()


async def whole(call: ToolCall, key: str, total: int) -> str:
    store = call.state(ChunkStore)
    return "".join([(await store.fetch(key, index))["chunk"]["content"] for index in range(1, total + 1)])


async def test_a_short_answer_is_whole_and_not_stored(call: ToolCall) -> None:
    delivered = await deliver("short", call, environ={})

    assert (delivered.answer, delivered.chunks, delivered.is_truncated, delivered.warnings) == (
        "short",
        None,
        False,
        (),
    )


@pytest.mark.parametrize(
    ("environ", "chunk_kb"), [({}, 10), ({"RESPONSE_CHUNK_SIZE_KB": "1"}, 1)], ids=["default", "variable"]
)
async def test_a_long_answer_comes_in_chunks_of_the_size_of_the_environment(
    call: ToolCall, environ: dict[str, str], chunk_kb: int
) -> None:
    delivered = await deliver(CJK, call, environ={"RESPONSE_MAX_SIZE_KB": "6000", **environ})
    assert delivered.chunks is not None
    key, total = delivered.chunks["cacheKey"], delivered.chunks["total"]

    assert delivered.chunks == {"cacheKey": key, "current": 1, "total": total}
    assert chunk_kb * KB * 0.9 < len(delivered.answer.encode()) <= chunk_kb * KB
    assert await whole(call, key, total) == CJK
    assert (delivered.is_truncated, delivered.warnings) == (False, ())


async def test_an_answer_beyond_the_limit_is_truncated_with_a_warning(call: ToolCall) -> None:
    delivered = await deliver(CJK, call, environ={})
    assert delivered.chunks is not None

    assert await whole(call, delivered.chunks["cacheKey"], delivered.chunks["total"]) == truncated(CJK, 50 * KB)
    assert delivered.is_truncated
    assert delivered.warnings == (truncation_warning(CJK, truncated(CJK, 50 * KB), 50 * KB),)


async def test_a_chunk_fits_into_one_answer_of_every_client(call: ToolCall) -> None:
    delivered = await deliver(CJK, call, environ={"RESPONSE_CHUNK_SIZE_KB": "60", "RESPONSE_MAX_SIZE_KB": "60"})

    assert delivered.chunks is not None
    assert 20_000 < len(delivered.answer.encode()) < 34_500


async def test_a_warning_of_the_store_reaches_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLE_STORE", "nowhere")
    store = ChunkStore("SAMPLE_STORE")
    delivered = await deliver("word " * 20_000, ToolCall("ask", QuietContext(), [store]), environ={})
    await store.aclose()

    assert delivered.warnings[1].startswith("SAMPLE_STORE is not the URL of a Redis")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({}, Limits(10 * KB, 50 * KB), id="defaults"),
        pytest.param({"RESPONSE_CHUNK_SIZE_KB": "20"}, Limits(20 * KB, 50 * KB), id="chunks"),
        pytest.param({"RESPONSE_MAX_SIZE_KB": " 5000 "}, Limits(10 * KB, 5000 * KB), id="all"),
        pytest.param({"RESPONSE_CHUNK_SIZE_KB": "", "RESPONSE_MAX_SIZE_KB": " "}, Limits(10 * KB, 50 * KB), id="empty"),
        pytest.param(
            {"RESPONSE_CHUNK_SIZE_KB": "1", "RESPONSE_MAX_SIZE_KB": "65536"}, Limits(KB, 65536 * KB), id="both ends"
        ),
    ],
)
def test_sizes_are_kilobytes_of_the_environment(environ: dict[str, str], expected: Limits) -> None:
    assert limits(environ) == expected


@pytest.mark.parametrize("name", ["RESPONSE_CHUNK_SIZE_KB", "RESPONSE_MAX_SIZE_KB"])
@pytest.mark.parametrize(
    "value", ["0", "-1", "ten", "10KB", "1.5", "1_0", "65537", "9" * 5000, "nan", "inf", "\u0661\u0660", "0x10"]
)
def test_an_invalid_size_is_replaced_by_the_default_and_logged_once(
    name: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        assert limits({name: value}) == limits({})

    [message] = [record.getMessage() for record in caplog.records]
    assert message.startswith(f"{name} is ")
    assert "must be a whole number of KB from 1 to 65536" in message
    assert len(message) < 200


def test_the_environment_is_read_at_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESPONSE_CHUNK_SIZE_KB", "7")
    first = limits().chunk_bytes
    monkeypatch.setenv("RESPONSE_CHUNK_SIZE_KB", "8")

    assert (first, limits().chunk_bytes) == (7 * KB, 8 * KB)


def test_the_warning_has_the_missing_bytes_and_the_variable_to_raise() -> None:
    text = "\u6f22" * 40_000

    assert truncation_warning(text, truncated(text, 50 * KB), 50 * KB) == (
        "the answer was cut: 68,802 of its 120,000 bytes are missing. Ask for less at once, or ask the user to raise "
        "RESPONSE_MAX_SIZE_KB (now 50)"
    )
