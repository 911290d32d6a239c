"""Values of databases as JSON, in tables and in the fields of a result."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from ipaddress import ip_address
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.sql.results import fitting_rows
from toolmason_runtime.sql.table_text import table_text
from toolmason_runtime.sql.values import bound_value, column_names, json_value

UTC = dt.UTC


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (2**53 - 1, 2**53 - 1),
        (2**53, "9007199254740992"),
        (-(2**70), "-1180591620717411303424"),
        (1.5, 1.5),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (Decimal("12.50"), "12.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("NaN"), "NaN"),
        (dt.date(2026, 11, 28), "2026-11-28"),
        (dt.time(9, 30), "09:30:00"),
        (dt.datetime(2026, 11, 28, 9, 30, tzinfo=UTC), "2026-11-28T09:30:00+00:00"),
        (dt.timedelta(days=1, hours=2, minutes=30), "P1DT2H30M"),
        (dt.timedelta(seconds=-0.5), "-PT0.5S"),
        (dt.timedelta(), "PT0S"),
        (b"\x00\xff", "AP8="),
        (memoryview(b"a"), "YQ=="),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (ip_address("10.0.0.1"), "10.0.0.1"),
        ([1, Decimal("0.1"), [b"a"]], [1, "0.1", ["YQ=="]]),
        ({1: dt.date(2026, 1, 1), "b": {2}}, {"1": "2026-01-01", "b": [2]}),
        ("\ud800", "?"),
    ],
)
def test_each_value_has_a_form_in_json(value: Any, expected: Any) -> None:
    assert json_value(value) == expected


def test_deep_values_become_text() -> None:
    value: Any = []
    for _ in range(500):
        value = [value]
    assert "[" in str(json_value(value))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["id", "id", "id"], ("id", "id_2", "id_3")),
        (["id", "id_2", "id"], ("id", "id_2", "id_3")),
        (["", "a"], ("column_1", "a")),
    ],
)
def test_columns_have_distinct_names(names: list[str], expected: tuple[str, ...]) -> None:
    assert column_names(names) == expected


def test_a_cell_stays_in_its_cell() -> None:
    assert table_text(["a", "b"], [["x|y\nz", None], [{"k": 1}, True]]) == (
        '| a | b |\n| --- | --- |\n| x\\|y\\nz |  |\n| {"k": 1} | true |'
    )


def test_text_with_the_format_byte_is_bound_as_bytes() -> None:
    assert bound_value("data", "AP8=", "byte") == b"\x00\xff"
    assert bound_value("data", ["YQ==", None], "byte") == [b"a", None]
    with pytest.raises(ToolError, match="`data` must be base64"):
        bound_value("data", "%", "byte")


class Row(BaseModel):
    number: int
    ratio: float | None
    text: str
    flag: bool
    tags: list[str]


class Rows(BaseModel):
    items: list[Row]


def test_values_fit_the_fields_of_a_result() -> None:
    row = {"number": "9007199254740993", "ratio": "12.50", "text": 7, "flag": 1, "tags": '["a"]'}
    expected = {"number": 9007199254740993, "ratio": 12.5, "text": "7", "flag": True, "tags": ["a"]}
    assert fitting_rows([row], Row, is_list=False) == [expected]
    assert fitting_rows([row], Rows, is_list=True) == [expected]


def test_numbers_that_json_lacks_become_null_if_the_field_allows_it() -> None:
    assert fitting_rows([{"ratio": "NaN"}], Row, is_list=False) == [{"ratio": None}]
    assert fitting_rows([{"number": "NaN"}], Row, is_list=False) == [{"number": "NaN"}]
