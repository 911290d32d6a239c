"""JSON over many lines is the text that the standard library prints."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmason.render.indented_json import indent_json

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
)


@given(VALUES)
def test_indented_json_equals_that_of_the_standard_library(value: Any) -> None:
    assert indent_json(value) == json.dumps(value, indent=2, ensure_ascii=False)


def test_nesting_beyond_the_stack_is_an_error_and_no_crash() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(RecursionError):
        indent_json(value)
