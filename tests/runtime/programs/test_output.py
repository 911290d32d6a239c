"""The text that a model is given of a run."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from toolmason_runtime.chunks.store import ChunkStore
from toolmason_runtime.programs.execute import Outcome
from toolmason_runtime.programs.output_buffer import Capture
from toolmason_runtime.programs.result_text import reply

pytestmark = pytest.mark.anyio


@pytest.fixture
async def store() -> AsyncIterator[ChunkStore]:
    store = ChunkStore(part_size=100)
    yield store
    await store.aclose()


def outcome(
    stdout: bytes = b"", stderr: bytes = b"", exit_code: int | None = 0, *, timeout_s: float = 30.0, most: int = 10_000
) -> Outcome:
    captures = [Capture(max_memory_bytes=10, max_file_bytes=most) for _ in range(2)]
    captures[0].write(stdout)
    captures[1].write(stderr)
    return Outcome(stdout=captures[0], stderr=captures[1], exit_code=exit_code, timeout_s=timeout_s)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        pytest.param(outcome(b"hello\n"), "hello", id="stdout"),
        pytest.param(outcome(), "(no output)", id="nothing"),
        pytest.param(outcome(b"\n", b" \n"), "(no output)", id="white space alone"),
        pytest.param(outcome(b" M file\n\tb\n\n"), " M file\n\tb\n", id="all other white space is kept"),
        pytest.param(outcome(b"one\r\n"), "one", id="line break of Windows"),
        pytest.param(outcome(b"\xc3\xa9\xff"), "\u00e9\ufffd", id="not all UTF-8"),
        pytest.param(outcome(b"out\n", b"warned\n"), "out\n[stderr]\nwarned", id="both streams"),
        pytest.param(outcome(b"", b"warned"), "[stderr]\nwarned", id="stderr"),
        pytest.param(outcome(b"out\n", b"bad\n", 2), "out\n[stderr]\nbad\n[exit code: 2]", id="failed"),
        pytest.param(outcome(b"", b"", 1), "[exit code: 1]", id="failed silently"),
        pytest.param(outcome(b"", b"", -9), "[exit code: -9]", id="ended by a signal"),
        pytest.param(outcome(exit_code=None), "Command timed out after 30s", id="timed out"),
        pytest.param(
            outcome(b"so far\n", b"so bad\n", None, timeout_s=0.5),
            "Command timed out after 0.5s\nso far\n[stderr]\nso bad",
            id="timed out with output",
        ),
        pytest.param(
            outcome(b"x" * 30, b"bad", most=10),
            f"{'x' * 20}\n[10 more bytes of stdout were not stored]\n[stderr]\nbad",
            id="more than is kept",
        ),
    ],
)
async def test_text_contains_output_and_exit_code(run: Outcome, text: str, store: ChunkStore) -> None:
    answer = await reply(run, store)

    assert answer.content == text


@pytest.mark.parametrize(("exit_code", "is_error"), [(0, False), (1, True), (-15, True), (None, True)])
async def test_any_end_but_success_is_an_error(exit_code: int | None, is_error: bool, store: ChunkStore) -> None:
    assert (await reply(outcome(b"x", b"", exit_code), store)).is_error is is_error


@pytest.mark.parametrize(("exit_code", "is_error"), [(0, False), (1, False), (2, True), (-1, True), (None, True)])
async def test_an_allowed_exit_code_is_not_an_error_and_is_shown(
    exit_code: int | None, is_error: bool, store: ChunkStore
) -> None:
    answer = await reply(outcome(b"x", b"", exit_code), store, ok_exit_codes=(0, 1))

    assert answer.is_error is is_error
    assert exit_code != 1 or answer.content == "x\n[exit code: 1]"


async def test_warnings_alone_are_not_an_error(store: ChunkStore) -> None:
    assert not (await reply(outcome(b"x", b"warned"), store)).is_error


async def test_text_of_exactly_one_part_is_whole(store: ChunkStore) -> None:
    text = "\u20ac" * 33

    assert (await reply(outcome(text.encode()), store)).content == text


@pytest.mark.parametrize(
    ("stdout", "text"), [("\U0001f600" * 25 + "\n", "\U0001f600" * 25), (" " * 500, "(no output)")]
)
async def test_many_bytes_of_few_characters_are_whole(stdout: str, text: str, store: ChunkStore) -> None:
    assert (await reply(outcome(stdout.encode()), store)).content == text


async def test_longer_text_is_cut_and_its_first_line_names_fetch_chunk(store: ChunkStore) -> None:
    answer = await reply(outcome(b"x" * 101, b"why", 3), store)

    assert isinstance(answer.content, str)
    first, beginning = answer.content.split("\n", 1)
    assert beginning == "x" * 100
    assert re.fullmatch(
        r"\[cut: 100 of 129 characters shown, exit code 3; "
        r'fetch_chunk\(cacheKey="cache_[0-9a-f]{32}", chunkIndex=2\) gives the next of 2 parts\]',
        first,
    )


async def test_text_that_was_not_stored_whole_is_reported_in_the_first_line(store: ChunkStore) -> None:
    answer = await reply(outcome(b"x" * 1500, b"y" * 1020, most=990), store)

    first = str(answer.content).partition("\n")[0]
    assert re.match(r"\[cut: 100 of 2,\d+ characters shown, 520 more bytes were not stored; fetch_chunk", first)


async def test_cut_text_can_be_fetched_to_its_end(store: ChunkStore) -> None:
    lines = "".join(f"{number} \u00e9\u20ac\U0001f600\n" for number in range(100))
    whole = f"{lines}[stderr]\nwhy\n[exit code: 3]"
    answer = await reply(outcome(lines.encode(), b"why\n", 3), store)

    first, _, read = str(answer.content).partition("\n")
    found = re.search(r'cacheKey="(\w+)", chunkIndex=2\) gives the next of (\d+) parts', first)
    assert found is not None
    for number in range(2, int(found[2]) + 1):
        read += (await store.fetch(found[1], number))["chunk"]["content"]
    assert read == whole


async def test_a_warning_of_the_store_is_above_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLE_STORE", "nowhere")
    store = ChunkStore("SAMPLE_STORE", part_size=100)
    answer = await reply(outcome(b"x" * 101), store)
    await store.aclose()

    first, second, text = str(answer.content).split("\n")
    assert first.startswith("[cut: 100 of 101 characters shown; fetch_chunk")
    assert second.startswith("[SAMPLE_STORE is not the URL of a Redis: ")
    assert text == "x" * 100


async def test_outcome_is_closed(store: ChunkStore) -> None:
    run = outcome(b"x" * 50)
    await reply(run, store)

    with pytest.raises(ValueError, match="closed"):
        list(run.stdout.texts())


async def test_text_that_cannot_be_kept_is_shown_as_far_as_it_goes(
    store: ChunkStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = outcome(b"x" * 500_000, most=600_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    answer = await reply(run, store)

    first, _, text = str(answer.content).partition("\n")
    assert first.startswith("[cut: the rest could not be stored: ")
    assert text == "x" * 100
