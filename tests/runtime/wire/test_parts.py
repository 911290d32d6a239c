"""Large values as JSON in parts: the same text as in one piece, in parts of a limited size, within limited memory."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from toolmason_runtime.transports.stdio.encoding import encode_large_result, encode_result
from toolmason_runtime.wire import parts
from toolmason_runtime.wire.content import Noted, Reply, Text
from toolmason_runtime.wire.parts import PART_CHARS, is_ascii, is_large, joined_json, json_parts

LINE = 'A line with "quotes", a tab\t, \u00e9\u4e2d and \U0001f600, of about 100 characters.' + "." * 30 + "\n"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


class Page(BaseModel):
    text: str


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(VALUES, st.integers(1, 40))
def test_parts_are_the_json_of_the_whole(value: Any, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "PART_CHARS", size)
        patch.setattr(parts, "_MAX_TOGETHER", size)
        given_parts = list(json_parts(value))

    assert "".join(given_parts) == compact(value)


@given(VALUES)
def test_an_ascii_value_is_encodable_as_it_is_and_not_large(value: Any) -> None:
    if is_ascii(value):
        assert compact(value).isascii()
        assert not is_large(value)
    else:
        assert not json.dumps(value, ensure_ascii=False).isascii()


@pytest.mark.parametrize("value", ["x" * (PART_CHARS + 1), ["x" * 100] * 3_000, {"a": object()}, ("a",), "\ud800"])
def test_a_long_value_and_one_that_is_not_json_are_not_taken_for_ascii(value: Any) -> None:
    assert not is_ascii(value)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(LINE * 30_000, id="a text"),
        pytest.param({"content": [{"type": "text", "text": LINE * 30_000}]}, id="a text after short members"),
        pytest.param([{"number": n, "text": LINE} for n in range(30_000)], id="equal objects"),
        pytest.param({f"name {n}": [n] * 9 for n in range(100_000)}, id="members"),
        pytest.param([["x"] * 10_000] * 300, id="a matrix"),
        pytest.param([*[1] * 9000, LINE * 30_000, *[2] * 9000, [LINE] * 30_000], id="short, then long"),
        pytest.param((LINE,) * 30_000, id="a tuple"),
    ],
)
def test_no_part_is_much_longer_than_the_others(value: Any) -> None:
    given_parts = list(json_parts(value))

    assert "".join(given_parts) == compact(value)
    assert max(map(len, given_parts)) < 8 * PART_CHARS
    assert len(given_parts) > 5


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_number_that_json_lacks_becomes_null_in_a_message_and_is_refused_in_a_result(number: float) -> None:
    assert "".join(json_parts([1, {"a": number}])) == '[1,{"a":null}]'
    with pytest.raises(ValueError, match="not JSON compliant"):
        joined_json([1, {"a": number}])


@pytest.mark.parametrize("wrap", [str, Text, Reply, lambda text: Noted(text, "a note"), lambda text: Page(text=text)])
@pytest.mark.parametrize("around", [lambda value: value, lambda value: [value], lambda value: {"a": {"b": (value,)}}])
def test_large_is_what_contains_more_than_a_part(wrap: Any, around: Any) -> None:
    assert not is_large(around(wrap("x" * (PART_CHARS - 1000))))
    assert is_large(around(wrap("x" * (PART_CHARS + 1))))


@pytest.mark.parametrize("many", [[0] * PART_CHARS, {n: n for n in range(PART_CHARS)}, [[]] * PART_CHARS])
def test_large_are_many_small_values(many: Any) -> None:
    assert is_large(many)
    assert not is_large([many[0]])


def test_a_value_that_contains_itself_is_large_rather_than_endless() -> None:
    value: list[Any] = ["x"]
    value.append(value)

    assert is_large(value)


@pytest.mark.anyio
async def test_others_have_their_turns_while_a_large_result_is_encoded() -> None:
    result = {"content": [{"type": "text", "text": LINE * 100_000}]}
    encoding = asyncio.create_task(encode_large_result(7, result))
    turns = 0
    while not encoding.done():
        await asyncio.sleep(0)
        turns += 1

    assert b"".join(encoding.result()) == encode_result(7, result)
    assert turns >= len(encoding.result()) > 30


@pytest.mark.anyio
@pytest.mark.parametrize("megabytes", [10, 40])
async def test_encoding_needs_the_memory_of_its_bytes_and_a_few_parts(megabytes: int) -> None:
    result = {"content": [{"type": "text", "text": LINE * (10_000 * megabytes)}]}
    tracemalloc.start()
    try:
        encoded = await encode_large_result(7, result)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1.1 * sum(map(len, encoded)) + 80 * PART_CHARS
