"""Statements are split into text and parameters, and values never become text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toolmason_runtime.shared.specs.database import DIALECTS, Dialect
from toolmason_runtime.shared.specs.statement import StatementError, render, split_statement


def names(sql: str, dialect: Dialect) -> list[str]:
    statement = split_statement(sql, dialect)
    return [*(part.name for part in statement.values), *(part.name for part in statement.identifiers)]


@pytest.mark.parametrize(
    ("dialect", "sql", "expected"),
    [
        ("sqlite", "select ':a', [b:c], `d:e`, \":f\" -- :g\n, :h /* :i */", ["h"]),
        ("postgresql", "select a::text, E'\\':b', $q$ :c $q$, $$:d$$ /* /* :e */ :f */ where a = :g", ["g"]),
        ("mysql", "select 'a\\':b', \":c\", 5--3, :d # :e\n", ["d"]),
        ("duckdb", "select l[1:n], {'a': :b}, {c}", ["b", "c"]),
        ("sqlite", "select 1 -- in\n:a", ["a"]),
    ],
)
def test_only_marks_outside_of_texts_are_parameters(dialect: Dialect, sql: str, expected: list[str]) -> None:
    assert names(sql, dialect) == expected


@pytest.mark.parametrize(
    ("dialect", "sql", "message"),
    [
        ("sqlite", "select 1; select 2", "more than one statement"),
        ("sqlite", "select 1; -- end\n;", ""),
        ("postgresql", "select $1", "`$1` is not a parameter; write `:name`"),
        ("duckdb", "select $name", "`$name` is not a parameter"),
        ("mysql", "select ?", "`?` is not a parameter"),
        ("mysql", "select 1 /*! :a */", "a comment that MySQL executes"),
        ("sqlite", "select [a", "a quoted name is not closed"),
        ("postgresql", "select /* /* */ 1", "a comment is not closed"),
        ("sqlite", "select 1 /* a", "a comment is not closed"),
        ("sqlite", " -- nothing", "it is empty"),
    ],
)
def test_statements_that_cannot_be_split_name_the_reason(dialect: Dialect, sql: str, message: str) -> None:
    if not message:
        assert split_statement(sql, dialect).values == ()
        return
    with pytest.raises(StatementError) as caught:
        split_statement(sql, dialect)
    assert message in str(caught.value)


@pytest.mark.parametrize("dialect", DIALECTS)
@given(text=st.text(), items=st.lists(st.text(), min_size=1, max_size=3))
def test_the_text_for_the_driver_does_not_depend_on_values(dialect: Dialect, text: str, items: list[str]) -> None:
    statement = split_statement("select a from t where b = :b and c in :c and d not in :d", dialect)

    def rendered(values: dict[str, Any]) -> tuple[str, Any]:
        return render(statement, values, dialect=dialect, style="pyformat", quote=lambda name: name)

    sql, parameters = rendered({"b": text, "c": items, "d": []})
    plain, _ = rendered({"b": "x", "c": ["x"] * len(items), "d": []})
    assert sql == plain
    assert list(parameters.values()) == [text, *items]
