from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_research.analysis.answer_json import (
    Parsed,
    find_object,
    parse_choice,
    parse_int,
    parse_object,
    parse_objects,
    parse_text,
    parse_texts,
)

DATA = {"files": [{"path": "a.py", "reason": 'says "hi" {there}, [ok]'}]}
JSON = json.dumps(DATA)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


@pytest.mark.parametrize(
    "text",
    [
        JSON,
        json.dumps(DATA, indent=4),
        f"```json\n{JSON}\n```",
        f"Here is what I found:\n\n```\n{JSON}\n```\nTell me if you need more.",
        f"Of {{braces}} and {{}} there are many. {JSON} That is all {{really}}.",
        f'An example of the form is {{"path": "x"}}; the answer: {JSON}',
        JSON.replace("}]", ",}, ]"),
        f"\ufeff  \n{JSON}",
    ],
    ids=["bare", "indented", "fenced", "prose and fence", "braces in prose", "another object", "commas", "mark"],
)
def test_an_object_is_found_in_any_text(text: str) -> None:
    assert find_object(text, {"files"}) == Parsed(DATA)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"files": "a \d+ b"}', r"a \d+ b"),
        (r'{"files": "C:\src\app",}', r"C:\src" + "\\app"),
        ('{"files": "two\nlines"}', "two\nlines"),
        (r'{"files": "a \"word\", ]"}', 'a "word", ]'),
        (r'{"files": "\u00e9\\n"}', "é\\n"),
    ],
    ids=["expression", "backslashes", "raw line end", "comma in a text", "escapes that are right"],
)
def test_stray_backslashes_and_line_ends_are_taken_as_they_are_meant(text: str, value: str) -> None:
    assert find_object(text, {"files"}) == Parsed({"files": value})


def test_a_fence_inside_a_text_does_not_end_the_object() -> None:
    data = {"files": "```py\nprint({})\n```"}
    assert find_object(f"```json\n{json.dumps(data)}\n```", {"files"}) == Parsed(data)


@pytest.mark.parametrize("end", range(len('{"files": [') + 2, len(JSON)))
def test_an_object_that_ends_early_is_reported(end: int) -> None:
    parsed = find_object(f"```json\n{JSON[:end]}", {"files"})
    assert parsed is not None
    assert parsed.is_cut
    assert parsed.data.keys() == {"files"}


@pytest.mark.parametrize(
    "text",
    ["", "{", "no object", '{"other": 1}', '["files"]', '"files"', '{"a": {"files": 1}}', '{"files": [1 2], "x": oh}'],
)
def test_a_text_without_an_object_has_none(text: str) -> None:
    assert find_object(text, {"files"}) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"files":' + "[" * 200_000,
        '{"files":' + "9" * 5_000 + "}",
        "{" * 200_000,
        '{"files": "' + '\\"' * 200_000,
        '{"files": [' + " ," * 200_000,
        '{"a":"' * 100_000,
    ],
    ids=["deep", "digits", "braces", "quotes", "commas", "openings"],
)
def test_hostile_text_takes_little_time(text: str) -> None:
    began = time.process_time()
    find_object(text, {"files"})
    assert time.process_time() - began < 10


@given(st.text())
def test_arbitrary_text_never_raises(text: str) -> None:
    for each in (text, f'{{"files": {text}', f'{{"files": "{text}"}}', f"```json\n{{{text}}}\n```"):
        parsed = find_object(each, {"files"})
        assert parsed is None or "files" in parsed.data


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.text(alphabet="ab `\n.:"))
def test_every_object_that_json_can_say_comes_back(data: dict[str, Any], prose: str) -> None:
    text = json.dumps({**data, "files": 1})
    expected = json.loads(text, parse_constant=lambda _: None)
    assert find_object(f"{prose}{text}{prose}", {"files"}) == Parsed(expected)


@given(VALUES)
def test_a_value_of_any_type_is_read_without_an_error(value: Any) -> None:
    text = parse_text(value)
    text.encode("utf-8")
    assert "\0" not in text
    assert all(isinstance(each, dict) for each in parse_objects(value))
    assert isinstance(parse_object(value), dict)
    assert all(each.strip() for each in parse_texts(value))
    number = parse_int(value)
    assert number is None or abs(number) < 10**7
    assert parse_choice(value, ("a", "b")) in {None, "a", "b"}


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), (3.0, 3), (" 12 ", 12), (True, None), (3.5, None), ("3-4", None), ("٣", None), (10**9, None), ("", None)],
)
def test_a_number_is_read_as_it_is_meant_or_not_at_all(value: Any, number: int | None) -> None:
    assert parse_int(value) == number


def test_half_a_character_becomes_a_question_mark_and_a_long_text_is_cut() -> None:
    assert parse_text("a\ud800b") == "a?b"
    assert parse_text("x" * 20, max_chars=10) == "x" * 9 + "…"
    assert parse_text(["one", "two"]) == "one\ntwo"
    assert parse_choice("High", ("high",)) == "high"
