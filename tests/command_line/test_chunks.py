"""Long texts in parts: the parts are equal, and together they are the text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime import ToolError
from toolmason_runtime.programs.chunks import ChunkStore
from toolmason_runtime.programs.output_buffer import Capture
from toolmason_runtime.protocol.answer_size import size_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def store() -> Iterator[ChunkStore]:
    store = ChunkStore(part_size=10, most_chunks=3, most_bytes=100)
    yield store
    store.close()


def split(texts: list[str], part_size: int) -> list[str]:
    """The parts of a text, taken one by one."""
    import anyio  # the store works in a thread of an event loop

    store = ChunkStore(part_size=part_size)

    async def add() -> list[str]:
        chunk = await store.add(texts)
        return [store.get(chunk.id, number) for number in range(1, chunk.parts + 1)]

    try:
        return anyio.run(add)
    finally:
        store.close()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.integers(1, 60))
def test_parts_fill_their_size_and_together_are_the_text(texts: list[str], part_size: int) -> None:
    parts = split(texts, part_size)

    assert "".join(parts) == "".join(texts)
    assert all(len(part) == 1 or size_of(part) <= part_size + 4 for part in parts)
    assert all(sum(map(size_of, part + following[:1])) > part_size for part, following in pairwise(parts))
    assert len(parts) >= 1


async def test_parts_can_be_read_in_any_order_and_again(store: ChunkStore) -> None:
    chunk = await store.add(["\u20ac" * 8])

    assert chunk.parts == 3
    assert [store.get(chunk.id, number) for number in (3, 1, 3, 2)] == ["\u20ac" * each for each in (2, 3, 2, 3)]


@pytest.mark.parametrize("part", [0, -1, 3, 10**30])
async def test_part_that_does_not_exist_is_answered_with_those_that_do(store: ChunkStore, part: int) -> None:
    chunk = await store.add(["x" * 20])

    with pytest.raises(ToolError, match=f'part {part} does not exist: chunk "{chunk.id}" has the parts 1 to 2'):
        store.get(chunk.id, part)


async def test_unknown_id_is_answered_with_what_an_id_is(store: ChunkStore) -> None:
    with pytest.raises(ToolError, match=r'"never".*output that was cut names its cacheKey') as raised:
        store.get("never", 1)

    assert raised.value.code == "CACHE_EXPIRED"


async def test_id_of_any_length_is_not_repeated_whole(store: ChunkStore) -> None:
    with pytest.raises(ToolError) as raised:
        store.get("x" * 1_000_000, 1)

    assert len(raised.value.message) < 300


async def test_oldest_goes_when_there_are_too_many(store: ChunkStore) -> None:
    chunks = [await store.add([str(number)]) for number in range(4)]

    with pytest.raises(ToolError, match="Run the command again"):
        store.get(chunks[0].id, 1)
    assert [store.get(each.id, 1) for each in chunks[1:]] == ["1", "2", "3"]
    assert chunks[0].file.closed


async def test_oldest_go_when_all_together_are_too_large(store: ChunkStore) -> None:
    first = await store.add(["a" * 60])
    second = await store.add(["b" * 60])

    assert first.file.closed
    assert store.get(second.id, 6) == "b" * 10


async def test_newest_is_kept_whatever_its_size(store: ChunkStore) -> None:
    chunk = await store.add(["x" * 1000])

    assert store.get(chunk.id, 100) == "x" * 10


async def test_ids_cannot_be_told_from_one_another(store: ChunkStore) -> None:
    ids = {(await store.add(["same"])).id for _ in range(50)}

    assert len(ids) == 50
    assert all(len(each) == 16 for each in ids)


async def test_text_that_cannot_be_taken_leaves_nothing(store: ChunkStore) -> None:
    def failing() -> Iterator[str]:
        yield "begun"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        await store.add(failing())


async def test_nothing_lies_in_the_temporary_folder(
    store: ChunkStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    await store.add(["secret"])

    with os.scandir(tmp_path) as found:
        assert list(found) == []


async def test_closed_store_keeps_nothing(store: ChunkStore) -> None:
    chunk = await store.add(["x"])
    store.close()

    assert chunk.file.closed
    with pytest.raises(ToolError):
        store.get(chunk.id, 1)


@given(st.binary(max_size=60), st.integers(0, 20), st.integers(1, 7))
def test_capture_decodes_alike_however_it_was_fed(data: bytes, most_in_memory: int, step: int) -> None:
    capture = Capture(most_in_memory=most_in_memory, most_in_file=100)
    for start in range(0, len(data), step):
        capture.feed(data[start : start + step])
    text = "".join(capture.texts())
    capture.close()

    assert text == data.decode("utf-8", "replace")
    assert capture.size == len(data)
    assert capture.dropped == 0
    assert capture.is_blank is not bool(data.strip())


def test_capture_counts_what_it_drops_and_splits_no_character_where_it_begins_to() -> None:
    capture = Capture(most_in_memory=4, most_in_file=4)
    capture.feed("\u20ac\u20ac\u20ac\u20ac".encode())
    text = "".join(capture.texts())
    capture.close()

    assert text == "\u20ac\u20ac"
    assert capture.size == 12
    assert capture.dropped == 4


def test_capture_without_a_place_for_files_keeps_what_is_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    capture = Capture(most_in_memory=4, most_in_file=100)
    capture.feed(b"123456")
    capture.feed(b"78")

    assert "".join(capture.texts()) == "1234"
    assert capture.dropped == 4


def test_capture_that_is_closed_takes_nothing_more() -> None:
    capture = Capture()
    capture.close()
    capture.feed(b"late")

    assert capture.size == 0
