"""A statement that changes rows, locks them or writes a file is no read, whether or not it can be parsed."""

from __future__ import annotations

import pytest
from toolmason_runtime.shared.specs.database import Dialect
from toolmason_runtime.shared.specs.statement import split_statement

from toolmason.kinds.sql.statement_checks import SqlCheckError, changes_data, parse_statement

WRITES: list[tuple[Dialect, str]] = [
    ("mysql", "select * from t into outfile '/tmp/x'"),
    ("mysql", "select * into dumpfile '/tmp/x' from t"),
    ("mysql", "select a into @b from t"),
    ("mysql", "select * from t for update"),
    ("mysql", "select * from t lock in share mode"),
    ("mysql", "(select * from t) into outfile '/tmp/x'"),
    ("mysql", "explain analyze replace t values (1)"),
    ("postgresql", "select * into u from t"),
    ("postgresql", "select * from t for update"),
    ("postgresql", "select * from t for no key update skip locked"),
    ("postgresql", "select * from t for share"),
    ("postgresql", "select * from t for key share"),
    ("postgresql", "with gone as (delete from t returning a) select a from gone"),
    ("postgresql", "explain analyze delete from t"),
    ("postgresql", "explain (analyze, buffers) insert into t values (1)"),
    ("postgresql", "explain (costs off, analyse) update t set a = 1"),
    ("postgresql", "explain analyze create table u as select 1"),
    ("postgresql", "explain analyze select * into u from t"),
    ("duckdb", "explain analyze delete from t"),
    ("sqlite", "with a as (select 1) insert into t select * from a"),
    ("sqlite", "with a as (select 1) replace into t select * from a"),
]
READS: list[tuple[Dialect, str]] = [
    ("mysql", "select replace(a, 'b', 'c'), insert(a, 1, 2, 'd'), truncate(b, 1) from t"),
    ("mysql", "select `update`, 'into outfile' from t -- for update"),
    ("postgresql", 'select "into", $$for update$$ from t'),
    ("postgresql", "select replace (a, 'b', 'c'), substring(a from 1 for 2) from t"),
    ("postgresql", "explain delete from t"),
    ("postgresql", "explain analyze select a from t"),
    ("sqlite", "explain query plan delete from t"),
    ("duckdb", "from t select a"),
    ("duckdb", "describe select a from t"),
    ("sqlite", "with a as (select 1) select replace(b, 'c', 'd') from a"),
]


@pytest.mark.parametrize("is_parsed", [True, False], ids=["parsed", "not parsed"])
@pytest.mark.parametrize(
    ("dialect", "sql", "expected"), [*((*row, True) for row in WRITES), *((*row, False) for row in READS)]
)
def test_the_effect_of_a_statement(dialect: Dialect, sql: str, expected: bool, is_parsed: bool) -> None:
    statement = split_statement(sql, dialect)
    tree = None
    if is_parsed:
        try:
            tree = parse_statement(statement, dialect, ())
        except SqlCheckError:
            pytest.skip("the parser does not know it")
    assert changes_data(statement, tree) is expected
