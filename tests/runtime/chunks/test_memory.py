"""The store in this process: how long, how many and how much."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from toolmason_runtime import ToolError
from toolmason_runtime.chunks.memory import MAX_TEXTS, MemoryStore
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.chunks.text import MAX_BYTES_IN_MEMORY, LongText, write_text

pytestmark = pytest.mark.anyio

BEGAN = 1_767_843_000.0


class Clock:
    """A clock that is set by hand."""

    now = BEGAN

    def __call__(self) -> float:
        return self.now


def text_of(size: int = 20, expires: float = BEGAN + 3600) -> LongText:
    """A text of two parts; each character is a byte."""
    written = write_text(["x" * size], size=(size + 1) // 2, max_bytes=size)
    return LongText(chars=written.chars, starts=written.starts, file=written.file, expires=expires)


LARGE = MAX_BYTES_IN_MEMORY + 1


async def test_a_text_lives_to_the_second_and_reading_does_not_prolong_it() -> None:
    clock = Clock()
    store, text = MemoryStore(clock=clock), text_of()
    await store.add(text)
    for age in (1000, 2000, 3599):
        clock.now = BEGAN + age
        assert (await store.get(text.key, 1)).expires == BEGAN + 3600
    clock.now = BEGAN + 3600

    with pytest.raises(ToolError, match="expired"):
        await store.get(text.key, 1)
    assert text.file.closed


@pytest.mark.parametrize(
    ("limits", "size", "expected"),
    [
        pytest.param({"max_texts": 3}, 20, [True, False, True, True], id="too many small texts"),
        pytest.param({"max_files": 3}, LARGE, [True, False, True, True], id="too many files"),
        pytest.param({"max_file_bytes": 3 * LARGE}, LARGE, [True, False, True, True], id="too large files"),
        pytest.param({"max_file_bytes": 1}, LARGE, [False, False, False, True], id="the newest is kept"),
        pytest.param({"max_file_bytes": 1, "max_files": 0}, 20, [True] * 4, id="small texts do not count as files"),
    ],
)
async def test_the_least_recently_used_texts_make_room(limits: dict[str, Any], size: int, expected: list[bool]) -> None:
    store, texts = MemoryStore(clock=Clock(), **limits), [text_of(size) for _ in range(4)]
    for text in texts[:3]:
        await store.add(text)
    if texts[0].key in store:
        await store.get(texts[0].key, 1)
    await store.add(texts[3])

    assert [text.key in store for text in texts] == expected
    assert [not text.file.closed for text in texts] == expected
    await store.aclose()


async def test_expired_texts_make_room_first() -> None:
    clock = Clock()
    store = MemoryStore(max_texts=2, clock=clock)
    old, young, new = text_of(), text_of(expires=BEGAN + 7000), text_of(expires=BEGAN + 9000)
    await store.add(old)
    await store.add(young)
    await store.get(old.key, 1)
    clock.now = BEGAN + 3600
    await store.add(new)

    assert [text.key in store for text in (old, young, new)] == [False, True, True]
    await store.aclose()


async def test_many_texts_do_not_pile_up() -> None:
    store, texts = MemoryStore(clock=Clock()), [text_of() for _ in range(2 * MAX_TEXTS)]
    for text in texts:
        await store.add(text)

    assert [text.key in store for text in texts] == [False] * MAX_TEXTS + [True] * MAX_TEXTS
    await store.aclose()
    assert not [text for text in texts if text.key in store or not text.file.closed]


async def test_nothing_is_visible_in_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = ChunkStore(part_size=36_000)
    kept = await store.keep("secret" * LARGE)

    with os.scandir(tmp_path) as entries:
        assert list(entries) == []
    assert (await store.fetch(kept.key, kept.total))["chunk"]["content"].endswith("secret")
    await store.aclose()


async def test_small_texts_need_no_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    store = ChunkStore(part_size=36_000)

    assert (await store.keep("x" * MAX_BYTES_IN_MEMORY)).key
    with pytest.raises(OSError, match="missing"):
        await store.keep("x" * LARGE)
    await store.aclose()
