"""JSON of others is parsed within a budget, with one meaning for what parsers disagree about."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.remote.parse import RemoteDataError, count_values, mask_text, parse
from toolmason_runtime.shared.budget import Budget

SECRET = "s3cret/täken\U0001f511"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(',[{"\\a'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(',[{"'), inner),
)


def count(value: Any) -> int:
    """Return the number of values of a document."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + sum(map(count, parts))


@given(VALUES)
def test_the_count_is_at_least_the_number_of_values_and_at_most_twice_that(value: Any) -> None:
    exact = count_values(json.dumps(value), 0)

    assert exact == 1 or count(value) > 0
    counted = count_values(json.dumps(value), 10_000)
    assert counted >= count(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\ufeff [1] ", [1]),
        ("[NaN, Infinity, -Infinity, 1e999, -1e999, 1e300]", [None, None, None, None, None, 1e300]),
        ("9" * 4_001, None),
        ("9" * 4_000, int("9" * 4_000)),
        ("1." + "0" * 5_000, 1.0),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ('["\\ud800", {"\\udc00": "\\ud83d\\ude00"}]', ["?", {"?": "😀"}]),
        ('"a,[{b"', "a,[{b"),
        ("[" * 200 + "]" * 200, json.loads("[" * 200 + "]" * 200)),
    ],
)
def test_unusual_json_has_one_interpretation(text: str, value: Any) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 201 + "]" * 201, "it has more than 200 levels"),
        ("[" * 50_000 + "]" * 50_000, "it has more than 200 levels"),
        ('{"a":' * 300 + "1" + "}" * 300, "it has more than 200 levels"),
        ("[" + "{}," * 1_000 + "{}]", "it has more than 1,000 values"),
        ("[" + "1," * 1_000 + "1]", "it has more than 1,000 values"),
        ("[" + '"",' * 1_000 + '""]', "it has more than 1,000 values"),
        ('"' * 5_000 + "," * 1_000, "it has more than 1,000 values"),
        ("", "not JSON: Expecting value"),
        ("<html>", "not JSON"),
        ("[1,]", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("[1] [2]", "not JSON: Extra data"),
    ],
)
def test_text_beyond_the_budget_and_other_text_is_refused(text: str, reason: str) -> None:
    with pytest.raises(RemoteDataError, match=reason):
        parse(text, Budget(values=1_000 if "," in text else 500_000))


def test_separators_inside_of_strings_are_not_counted() -> None:
    text = json.dumps([",[{" * 10_000, '\\",[{' * 1_000])

    assert parse(text, Budget(values=3)) == json.loads(text)


@pytest.mark.parametrize(
    "form",
    [
        json.dumps(SECRET),
        json.dumps(SECRET, ensure_ascii=False),
        json.dumps(SECRET).replace("/", "\\/"),
        json.dumps(SECRET).replace("s", "\\u0073", 1),
        json.dumps(SECRET).replace("\\ud83d", "\\uD83D"),
        '"' + "".join(f"\\u{ord(unit):04X}" for unit in SECRET[:-1]) + '\\ud83d\\udd11"',
    ],
)
def test_a_secret_is_masked_in_all_of_its_json_forms(form: str) -> None:
    assert parse(f'{{"a": [{form}], {form}: 1}}', secrets=[SECRET]) == {"a": ["[secret]"], "[secret]": 1}
    assert mask_text(f"error: {form}", [SECRET]) == 'error: "[secret]"'


def test_a_secret_of_digits_is_masked_as_a_number() -> None:
    assert parse('[123456789, 12345678, true, "x123456789"]', secrets=["123456789"]) == [
        *("[secret]", 12345678, True, "x[secret]"),
    ]
