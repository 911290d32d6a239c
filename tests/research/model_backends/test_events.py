"""Reading events from bytes, however they are cut and whatever stands between them."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_research.model_backends.events import (
    MAX_INVALID_BYTES,
    Event,
    EventReader,
    RunFinished,
    RunStarted,
    TextDelta,
    ToolFinished,
    ToolStarted,
    WarningEvent,
)

TOOL_USE = {"tool_id": "1", "tool_name": "read_file", "parameters": {"file_path": "a.py"}}
STATS = {"total_tokens": 12, "tool_calls": 3, "models": {"small": {"total_tokens": 2}, "big": {"total_tokens": 10}}}


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}, ensure_ascii=False).encode() + b"\n"


def read(*pieces: bytes, reader: EventReader | None = None) -> list[Event]:
    reader = reader or EventReader()
    return [event for piece in pieces for event in reader.feed(piece)] + reader.finish()


@pytest.mark.parametrize(
    ("data", "events"),
    [
        (line("init", session_id="1", model="m"), [RunStarted("m")]),
        (line("message", role="assistant", content="Hé 世", delta=True), [TextDelta("Hé 世")]),
        (line("message", role="user", content="the prompt"), []),
        (line("tool_use", **TOOL_USE), [ToolStarted("1", "read_file", {"file_path": "a.py"})]),
        (line("tool_result", tool_id="1", status="success", output="text"), [ToolFinished("1", ok=True)]),
        (
            line("tool_result", tool_id="1", status="error", error={"type": "t", "message": "no"}),
            [ToolFinished("1", ok=False, message="no")],
        ),
        (line("error", severity="warning", message="Loop detected"), [WarningEvent("Loop detected")]),
        (
            line("result", status="success", stats=STATS),
            [RunFinished(ok=True, tokens=12, tool_calls=3, models=("big", "small"))],
        ),
        (
            line("result", status="error", error={"type": "unknown", "message": "[API Error]"}),
            [RunFinished(ok=False, error="[API Error]", error_type="unknown")],
        ),
        (line("something_new", field=1), []),
    ],
    ids=lambda value: value.decode()[:40] if isinstance(value, bytes) else "",
)
def test_each_kind_of_line_has_its_meaning(data: bytes, events: list[Event]) -> None:
    reader = EventReader()

    assert read(data, reader=reader) == events
    assert reader.invalid_output == ""


JUNK = st.one_of(
    st.binary(max_size=60).map(lambda each: each + b"\n"),
    st.sampled_from(
        [b"\n", b"\r\n", b"{}\n", b"[1]\n", b"null\n", b'{"type": 1}\n', b'{"type": "init"\n', b"{" * 9_000]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda some: st.lists(some, max_size=3) | st.dictionaries(st.text(max_size=8), some, max_size=3),
        max_leaves=8,
    ).map(lambda each: json.dumps(each).encode() + b"\n"),
)
VALUE = (
    st.none() | st.integers() | st.text(max_size=9) | st.dictionaries(st.text(max_size=4), st.integers(), max_size=2)
)
EVENT = st.builds(
    line,
    st.sampled_from(["init", "message", "tool_use", "tool_result", "error", "result"]),
    model=VALUE,
    role=st.sampled_from(["assistant", "user"]),
    content=VALUE,
    tool_id=VALUE,
    parameters=VALUE,
    status=VALUE,
    stats=VALUE,
    error=VALUE,
)
STREAM = st.lists(EVENT | JUNK, max_size=8).map(b"".join)


@given(data=STREAM, cuts=st.lists(st.integers(min_value=0, max_value=400), max_size=12))
def test_events_are_the_same_wherever_the_bytes_are_cut(data: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    whole, cut = EventReader(max_line_bytes=120), EventReader(max_line_bytes=120)

    pieces = [data[start:end] for start, end in pairwise(places)]

    assert read(*pieces, reader=cut) == read(data, reader=whole)
    assert cut.invalid_output == whole.invalid_output


@given(data=STREAM)
def test_single_bytes_give_the_same_events(data: bytes) -> None:
    assert read(*(bytes([each]) for each in data)) == read(data)


@pytest.mark.parametrize(
    "invalid_output",
    [
        b"<html>\n",
        b"\xff\xfe\x00\n",
        b"{" * 100_000 + b"\n",
        b"[" * 100_000 + b"\n",
        b'{"type": "message", "role": "assistant", "content": "half\n',
        b'{"a": ' + b"9" * 10_000 + b"}\n",
        b"Loaded cached credentials.\n",
    ],
    ids=["html", "bytes", "deep object", "deep array", "half", "number", "notice"],
)
def test_garbage_is_skipped_and_its_beginning_kept(invalid_output: bytes) -> None:
    reader = EventReader()

    assert read(line("init", model="m"), invalid_output, line("init", model="n"), reader=reader) == [
        RunStarted("m"),
        RunStarted("n"),
    ]
    assert invalid_output.decode("utf-8", "replace").strip().startswith(reader.invalid_output[:10])
    assert len(reader.invalid_output) <= MAX_INVALID_BYTES


def test_line_without_end_counts_when_nothing_more_comes() -> None:
    assert read(line("init", model="m").rstrip(b"\n")) == [RunStarted("m")]


def test_answer_of_five_megabytes_in_one_line_is_whole() -> None:
    text = "世" * 1_700_000
    data = line("message", role="assistant", content=text)

    assert read(*(data[at : at + 65_536] for at in range(0, len(data), 65_536))) == [TextDelta(text)]


def test_line_of_twenty_megabytes_is_left_out_and_never_kept_whole() -> None:
    reader = EventReader()
    piece = b"x" * 1_000_000
    kept = 0
    for _ in range(20):
        assert reader.feed(piece) == []
        kept = max(kept, len(reader._line))

    assert kept <= 16 * 1024 * 1024
    assert len(reader._line) <= 1_000_000
    assert reader.feed(b"\n" + line("init", model="m")) == [
        WarningEvent("the program wrote a line of 20,000,000 bytes, which was skipped"),
        RunStarted("m"),
    ]


def test_a_line_with_too_many_values_is_skipped_before_it_is_parsed() -> None:
    reader = EventReader()

    events = reader.feed(b'{"type":"tool_use","parameters":[' + b"{}," * 500_001 + b"{}]}\n")

    assert events == [WarningEvent("the program wrote a line of more than 500,000 values, which was skipped")]
