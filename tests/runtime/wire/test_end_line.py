"""The last line of a long text says that it is the last, and repeats how to continue."""

from __future__ import annotations

import tracemalloc
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.wire import end_line
from toolmason_runtime.wire.end_line import MIN_CHARS, with_end_line

LONG = "a line of text\n" * (MIN_CHARS // 10)
NOTES = (
    "==> a.py (lines 1-338 of 3000; cut here, continue with start_line=339) <==",
    "[to read in another call: b.py from start_line=20]",
    "[cut: 6,000 of 9,000 characters shown; fetch_chunk(cacheKey='x', chunkIndex=2) gives the next of 2 parts]",
    "[the first 12 results, more exist; narrow the expression]",
    "==> a.py (line 7 is cut after 5,000 characters) <==",
    "==> b.py (3000 lines; not shown: the result is full; call read_files again with start_line=1) <==",
    "[18 matching lines in 3 files; more matches exist: narrow `pattern` or `search_path`]",
    "[2 matching lines in 2 files; stopped at the time limit of one search: narrow `search_path`]",
    "[cut after 123 lines: use a deeper `path` or a smaller `max_depth`]",
    "[1200 more entries are not shown: find them with search_files]",
    "[more pages exist]",
)


def reply(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts], **more}


def texts(result: dict[str, Any]) -> list[str]:
    return [block["text"] for block in result["content"]]


@pytest.mark.parametrize("note", NOTES)
@pytest.mark.parametrize("text", ["short", LONG])
def test_the_last_line_of_a_part_repeats_the_first(note: str, text: str) -> None:
    *above, last = texts(with_end_line(reply(f"{note}\n{text}")))

    assert above == [f"{note}\n{text}"]
    assert note in last
    assert f"of {1 + len(text.splitlines()):,} lines" in last


def test_a_note_after_the_first_one_counts() -> None:
    notes = "[76 ignored entries omitted]\n[stopped at the time limit: use a deeper `path`]\n"

    assert "say: [stopped at the time limit: use a deeper `path`]" in texts(with_end_line(reply(f"{notes}src/")))[-1]
    assert with_end_line(reply("src/\n[more pages exist]\n")) == reply("src/\n[more pages exist]\n")


def test_a_long_whole_text_has_the_number_of_its_lines_at_its_end() -> None:
    *above, last = texts(with_end_line(reply(LONG, LONG)))

    assert above == [LONG, LONG]
    assert f"of {2 * len(LONG.splitlines()):,} lines" in last
    assert "first line" not in last


@pytest.mark.parametrize(
    "result",
    [
        reply("short"),
        reply("[not a note of a part]\nshort"),
        reply(LONG, structuredContent={}),
        reply(),
        {"content": [{"type": "image", "data": "", "mimeType": "image/png"}]},
    ],
    ids=["short", "a note", "a structure", "empty", "a picture"],
)
def test_other_results_stay(result: dict[str, Any]) -> None:
    assert with_end_line(result) == result


def test_the_long_text_of_another_server_stays_unless_it_was_cut() -> None:
    assert with_end_line(reply(LONG), is_whole=True) == reply(LONG)
    assert len(texts(with_end_line(reply(f"{NOTES[2]}\n{LONG}"), is_whole=True))) == 2


def test_a_long_first_line_is_shortened() -> None:
    last = texts(with_end_line(reply(f"[cut: {'x' * 5000}]\ntext")))[-1]

    assert len(last) < 1_000


ENDS = ("\n", "\r\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")


@given(st.lists(st.sampled_from([*ENDS, "a", "[b]", "[cut: c]", "x" * 30, ""]), max_size=30))
def test_lines_are_those_of_python_however_they_end(pieces: list[str]) -> None:
    text = "".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(end_line, "_LOOKED_AT", 7)
        count, notes = end_line._line_count(text), list(end_line._notes(text))

    lines = text.splitlines()
    assert count == len(lines)
    assert notes == list(takewhile(lambda line: line.startswith("[") and line.endswith("]"), lines))


def test_memory_for_the_last_line_does_not_grow_with_the_text() -> None:
    result = reply("a line of text\n" * 1_000_000)
    tracemalloc.start()
    try:
        with_end_line(result)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 500_000
