"""The path at the beginning of a jq program, found in text: the same values as jq finds."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import jq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_handlers.workspace.json_path import (
    Step,
    documents,
    is_shallow,
    parse_path,
    program_of,
    select,
    shallow,
)

TEXT = st.text(alphabet="ab é\\\"'[]{},:\n\U0001f600", max_size=3)
SCALAR = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.sampled_from([0.5, -1e300]) | TEXT
JSON = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
BOUND = st.none() | st.integers(-3, 3)
PART = st.builds(slice, BOUND, BOUND).filter(lambda part: (part.start, part.stop) != (None, None))
STEP = st.none() | st.integers(-3, 3) | TEXT | PART


def written(step: Step) -> str:
    """Return one step of a path as jq has it."""
    if isinstance(step, slice):
        return f".[{'' if step.start is None else step.start}:{'' if step.stop is None else step.stop}]"
    return ".[]" if step is None else f".[{json.dumps(step)}]"


@pytest.mark.parametrize("key", ["a\nb", "\t", "\x01", "a\r\nb", "\x1f\x7f", "a # x\n|  b."])
def test_key_may_contain_control_characters_as_in_jq(key: str) -> None:
    program = f'.["{key}"]'

    assert parse_path(program) == ([key], ".")
    assert jq.compile(program).input_value({key: 1}).first() == 1


def found(text: str, program: str, small: int = 0) -> Any:
    """Return the results of a program that is a path, or its error; jq gets only parts of the text."""
    path, rest = parse_path(program)
    assert rest == "."
    data = text.encode()
    results = []
    try:
        for document in documents(data):
            for value, steps in select(document, path, small=small):
                results += jq.compile(f"({program_of(steps, rest)}) | tojson").input_text(bytes(value).decode())
    except ValueError as error:
        return str(error)
    return [json.loads(result) for result in results]


def of_jq(text: str, program: str) -> Any:
    try:
        return [json.loads(value) for value in jq.compile(f"({program}) | tojson").input_text(text)]
    except ValueError as error:
        return str(error)


@st.composite
def values_with_paths(draw: st.DrawFn) -> tuple[Any, list[Step]]:
    """Return a value and a path, of which most steps exist in it."""
    value: Any = draw(JSON)
    inner = value
    path: list[Step] = []
    for _ in range(draw(st.integers(0, 4))):
        existing: st.SearchStrategy[Step] = STEP
        if inner and isinstance(inner, list):
            existing = st.integers(-len(inner), len(inner) - 1) | PART | st.none()
        elif inner and isinstance(inner, dict):
            existing = st.sampled_from(sorted(inner)) | st.none()
        step = draw(existing | existing | STEP)
        path.append(step)
        if step is None and inner and isinstance(inner, list | dict):
            inner = draw(st.sampled_from(list(inner.values() if isinstance(inner, dict) else inner)))
        else:
            with suppress(LookupError, TypeError):
                inner = inner[step]
    return value, path


@given(
    chosen=values_with_paths(),
    others=st.lists(JSON, max_size=2),
    indent=st.none() | st.integers(0, 2),
    small=st.sampled_from([0, 5, 20]),
)
def test_a_path_gives_the_values_and_errors_of_jq(
    chosen: tuple[Any, list[Step]], others: list[Any], indent: int | None, small: int
) -> None:
    value, path = chosen
    text = "\n".join(json.dumps(each, indent=indent, ensure_ascii=False) for each in [value, *others])
    program = "|".join(map(written, path)) or "."
    assert found(text, program, small) == of_jq(text, program)


@given(value=JSON)
def test_keys_and_lengths_need_no_values(value: Any) -> None:
    text = json.dumps(value)
    for program in ("keys", "length", "type", "keys_unsorted | length"):
        assert is_shallow(program)
        assert of_jq(bytes(shallow(text.encode())).decode(), program) == of_jq(text, program)


@pytest.mark.parametrize(
    ("text", "program"),
    [
        ('{"a": 1, "b": 2, "a": 3}', ".a"),
        ('{"a": 1, "b": 2, "a": 3}', ".[]"),
        ('{"\\u0061": {"b c": [1]}}', '.a."b c"[0]'),
        ('{"a": "]}\\"{["}', '.["a"]'),
        ('{"a": [[], {}, [[]], {"b": {}}]}', ".a | .[]"),
        ('  [1 , [2 ] ]{"x":1}3 "y" ', "."),
        ("[]", ".[5]"),
        ("null", ".a[3].b"),
    ],
)
def test_odd_but_valid_text_is_read_as_jq_reads_it(text: str, program: str) -> None:
    assert found(text, program) == of_jq(text, program)


@pytest.mark.parametrize(
    ("program", "steps", "rest"),
    [
        (".", [], "."),
        (". | .a", ["a"], "."),
        (".a.b[0] | f", ["a", "b", 0], " f"),
        ('.["a b"]["c"]', ["a b", "c"], "."),
        ('."a"."\\u00e9"', ["a", "é"], "."),
        (".a[]|select(.b | .c)", ["a", None], "select(.b | .c)"),
        (".a[-1]", ["a", -1], "."),
        (".a[2:] | .[:3]", ["a", slice(2, None), slice(None, 3)], "."),
        (" .a | .b + 1", ["a"], " .b + 1"),
        (".a | . as $x | $x", ["a"], " . as $x | $x"),
        (".a |", ["a"], ""),
        *[
            (program, [], program)
            for program in (
                "keys",
                ".a, .b",
                ".a |= 3",
                ".a // .b",
                ".a as $x | $x",
                ".a?",
                ".a[.b]",
                '."\\(1)"',
                "..",
                ".a..b",
                ".5",
                ".[1.5]",
                "[.a]",
                ".a # comment | .b",
                ".a::b",
                "def f: .a; f",
            )
        ],
    ],
)
def test_only_a_path_that_is_a_stage_of_its_own_is_taken(program: str, steps: list[Step], rest: str) -> None:
    assert parse_path(program) == (steps, rest)


@pytest.mark.parametrize("text", ["[1, 2", '{"a": [1}', '{"a" 1}', '{"a": }', "[1 2]", '["a', "]", "{1: 2}", "[,]"])
def test_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="parse error"):
        documents(text.encode())
