"""Calls of statements on real databases: values, lists, identifiers, transactions, limits."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.database import SqlParam
from toolmason_runtime.shared.specs.program import Risk

pytestmark = pytest.mark.anyio

EACH = pytest.mark.parametrize("database", ["sqlite", "postgresql", "mysql", "duckdb"], indirect=True)
SLOW = {
    "sqlite": "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n",
    "postgresql": "select pg_sleep(60)",
    "mysql": "select count(*) from information_schema.columns a, information_schema.columns b, "
    "information_schema.columns c",
    "duckdb": "select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = 7",
}


@EACH
async def test_values_are_bound(shop: Any) -> None:
    assert await shop.rows(
        "select id, customer from orders where id = :id and customer = :name", {"id": 1, "name": "Ada"}
    ) == [{"id": 1, "customer": "Ada"}]


@EACH
async def test_an_absent_argument_is_null(shop: Any) -> None:
    sql = "select id from orders where (:name is null or customer = :name) order by id"
    assert len(await shop.rows(sql, params=("name",))) == 3
    assert await shop.rows(sql, {"name": "Bo"}) == [{"id": 2}]


@EACH
async def test_an_absent_argument_has_its_default(shop: Any) -> None:
    sql = "select id from orders order by id limit :limit"
    assert await shop.rows(sql, params=(SqlParam(name="limit", default=1),)) == [{"id": 1}]


@EACH
@pytest.mark.parametrize(("ids", "expected"), [([1, 3], [1, 3]), ([2], [2]), ([], []), ([99], [])])
async def test_a_list_expands_after_in(shop: Any, ids: list[int], expected: list[int]) -> None:
    rows = await shop.rows("select id from orders where id in :ids order by id", {"ids": ids})
    assert [row["id"] for row in rows] == expected


@EACH
async def test_an_empty_list_excludes_nothing(shop: Any) -> None:
    assert len(await shop.rows("select id from orders where customer not in :names", {"names": []})) == 3
    assert await shop.rows("select id from orders where customer in :names", {"names": []}) == []


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("interval '1 month'", "P1M"),
        ("interval '1 year 2 mons 3 days 04:05:06.5'", "P1Y2M3DT4H5M6.5S"),
        ("interval '-1 month +2 days -00:00:01'", "P-1M2DT-1S"),
        ("interval '0'", "PT0S"),
        ("interval '100 hours'", "PT100H"),
        ("array[interval '1 day', interval '1 month']", ["P1D", "P1M"]),
        ("timestamp 'infinity'", "infinity"),
        ("timestamptz '-infinity'", "-infinity"),
        ("date 'infinity'", "infinity"),
        ("date '0044-03-15 BC'", "0044-03-15 BC"),
        ("timestamp '20000-01-01'", "20000-01-01 00:00:00"),
        ("date '2026-11-28'", "2026-11-28"),
        ("timestamp '2026-11-28 09:30'", "2026-11-28T09:30:00"),
        ("timestamptz '2026-11-28 09:30+00'", "2026-11-28T09:30:00+00:00"),
        ("tsrange('2026-11-28', 'infinity')::text", '["2026-11-28 00:00:00",infinity)'),
    ],
)
async def test_times_of_postgresql_without_a_python_value_are_kept(shop: Any, literal: str, expected: Any) -> None:
    [row] = await shop.rows(f"select {literal} as value")
    assert row["value"] == expected


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
async def test_too_many_items_of_a_list_are_an_error_of_the_argument(shop: Any) -> None:
    with pytest.raises(
        ToolError, match=r"shop takes at most [\d,]+ values, and these are 270,000: send fewer"
    ) as caught:
        await shop.rows("select id from orders where id in :ids", {"ids": [*range(270_000)]})
    assert caught.value.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
async def test_the_time_limit_does_not_count_the_import(shop: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connections = shop.databases.connections

    def slow(*arguments: Any, **options: Any) -> Any:
        time.sleep(0.3)
        return connections(*arguments, **options)

    monkeypatch.setattr(shop.databases, "connections", slow)
    assert await shop.rows("select 1 as a", timeout_s=0.2) == [{"a": 1}]


@EACH
async def test_a_column_count_of_a_read_is_a_result(shop: Any) -> None:
    mark = "`" if shop.database.dialect == "mysql" else '"'
    assert await shop.rows(f"select id as {mark}Count{mark} from orders where id < 3 order by id") == [
        {"Count": 1},
        {"Count": 2},
    ]


@EACH
async def test_dates_are_sent_as_text(shop: Any) -> None:
    assert await shop.rows("select id from orders where day > :day", {"day": "2026-01-15"}) == [{"id": 2}]


@EACH
async def test_an_identifier_is_one_of_its_choices(shop: Any) -> None:
    params = (
        SqlParam(name="column", choices=("id", "customer", "total")),
        SqlParam(name="direction", choices=("asc", "desc"), default="asc"),
    )
    sql = "select id from orders order by {column} {direction}"
    rows = await shop.rows(sql, {"column": "customer", "direction": "desc"}, params=params)
    assert [row["id"] for row in rows] == [3, 2, 1]
    with pytest.raises(ToolError, match="`column` must be one of id, customer, total"):
        await shop.rows(sql, {"column": "id; drop table orders"}, params=params)
    with pytest.raises(ToolError, match="`column` must be one of"):
        await shop.rows(sql, params=params)


@EACH
async def test_an_identifier_is_quoted(shop: Any) -> None:
    params = (SqlParam(name="column", choices=('no"such`col',)),)
    with pytest.raises(ToolError, match="shop reported an error"):
        await shop.rows("select {column} from orders", {"column": 'no"such`col'}, params=params)


ODD_NAMES = ('odd "col%s', "100%", "a%%b", "%(p0)s", "x`y%", "{id}", ":id", "中文%d", "%")


@EACH
async def test_an_identifier_may_have_any_character(shop: Any) -> None:
    mark = "`" if shop.database.dialect == "mysql" else '"'
    quoted = [f"{mark}{name.replace(mark, mark * 2)}{mark}" for name in ODD_NAMES]
    await shop.write(f"create table odd ({', '.join(f'{name} integer' for name in quoted)})")
    await shop.write(f"insert into odd values ({', '.join(map(str, range(len(ODD_NAMES))))})")
    for number, name in enumerate(ODD_NAMES):
        params = (SqlParam(name="column", choices=ODD_NAMES), SqlParam(name="id"))
        sql = "select {column} from odd where {column} = :id"
        rows = await shop.rows(sql, {"column": name, "id": number}, params=params, limits={"read_only": False})
        assert rows == [{name: number}]


@EACH
async def test_percent_signs_and_colons_of_the_statement_are_kept(shop: Any) -> None:
    sql = "select '100%' as a, ':b' as b, '%(p0)s' as c from orders where customer like 'A%' and id = :id -- :no"
    assert await shop.rows(sql, {"id": 1}) == [{"a": "100%", "b": ":b", "c": "%(p0)s"}]


INJECTIONS = [
    "'; drop table orders; --",
    "' or '1'='1",
    '" or ""="',
    "\\' or 1=1 -- ",
    "\\",
    "%' or 1=1 #",
    "1; delete from orders",
    "1 union select id, customer from orders",
    "/* */ or 1=1",
    "$$; drop table orders; $$",
    ":id",
    "{id}",
    "%(p0)s %s ?",
    "`; drop table orders",
    "\u02bc or 1=1",
    "\uff07 or 1=1",
    "\r\n; drop table orders",
    "中文' or 1=1",
    "\U0001f600'",
    "a" * 1500 + "'",
    "0x27 or 1=1",
    "char(39)||'x",
    "x' and pg_sleep(10)--",
    "load_extension('/tmp/x')",
    "';copy (select 1) to program 'touch /tmp/x'--",
]


@EACH
async def test_texts_of_injections_are_only_values(shop: Any) -> None:
    for text in INJECTIONS:
        sql = "select id from orders where customer = :name or customer in :names"
        arguments = {"name": text, "names": [text, text]}
        assert await shop.rows(sql, arguments, limits={"read_only": False}) == [], text
        added = await shop.write("insert into orders (id, customer) values (:id, :name)", {"id": 9, "name": text})
        assert added.structure == {"changed": 1}
        stored = await shop.rows("select customer from orders where id = :id", {"id": 9}, limits={"read_only": False})
        assert stored == [{"customer": text}]
        await shop.write("delete from orders where id = :id", {"id": 9})
    assert len(await shop.rows("select id from orders", limits={"read_only": False})) == 3


@EACH
async def test_a_read_tool_cannot_write(shop: Any) -> None:
    for sql in ("insert into orders (id, customer) values (7, 'x')", "delete from orders", "create table t (a int)"):
        with pytest.raises(ToolError) as caught:
            pytest.fail(f"{sql}: {await shop.call(sql)}")
        assert caught.value.code == "READ_ONLY", caught.value.message
        assert "refused a write" in caught.value.message
    assert len(await shop.rows("select id from orders")) == 3


@EACH
async def test_a_write_is_committed(shop: Any) -> None:
    reply = await shop.write("update orders set total = :total where id in :ids", {"total": 5, "ids": [1, 2]})
    assert reply.content == "2 rows changed"
    rows = await shop.rows("select total from orders where id = 1", limits={"read_only": False})
    assert rows == [{"total": 5 if shop.database.dialect == "sqlite" else "5.00"}]


@EACH
async def test_a_failed_write_changes_nothing(shop: Any) -> None:
    with pytest.raises(ToolError, match="change the arguments so that they fit the existing rows") as caught:
        await shop.write("insert into orders (id, customer) values (:a, 'x'), (1, 'y')", {"a": 8})
    assert caught.value.code == "INVALID_ARGUMENT"
    assert len(await shop.rows("select id from orders", limits={"read_only": False})) == 3


@EACH
async def test_a_write_whose_result_does_not_fit_is_rolled_back(shop: Any) -> None:
    if shop.database.dialect == "mysql":
        pytest.skip("it has no RETURNING for updates")
    with pytest.raises(ModuleNotFoundError):
        await shop.write("update orders set total = 0 returning id", result="no_such_module:Model")
    rows = await shop.rows("select id from orders where total = 0", limits={"read_only": False})
    assert rows == []


@EACH
async def test_rows_are_limited_with_the_way_to_the_rest(shop: Any) -> None:
    reply = await shop.call("select id from orders order by id", limits={"max_rows": 2})
    assert reply.structure == {"rows": [{"id": 1}, {"id": 2}], "has_more": True}
    assert reply.content.startswith(
        "[2 rows shown, limit 2 rows; for further ones send arguments that select fewer rows]"
    )
    sql = "select id from orders order by id limit :limit offset :offset"
    reply = await shop.call(sql, {"limit": 2, "offset": 0})
    assert "call again with `offset` higher by 2" in reply.content
    reply = await shop.call(sql, {"limit": 2, "offset": 2})
    assert reply.structure == {"rows": [{"id": 3}], "has_more": False}


@EACH
async def test_a_huge_result_is_cut_soon(shop: Any) -> None:
    sql = "select a.id, b.customer from orders a, orders b, orders c, orders d, orders e, orders f, orders g, orders h"
    reply = await shop.call(
        f"{sql}, orders i, orders j, orders k, orders l", limits={"max_bytes": 500, "max_rows": 1000}
    )
    assert reply.structure["has_more"]
    assert len(reply.structure["rows"]) < 60
    assert await shop.rows("select 1 as a") == [{"a": 1}]


@EACH
async def test_a_row_over_the_limit_names_its_column(shop: Any) -> None:
    sql = "select id, customer from orders where id = :id"
    with pytest.raises(ToolError, match="above all its column `customer`") as caught:
        await shop.call(sql, {"id": 3}, limits={"max_bytes": 8}, timeout_s=20)
    assert caught.value.code == "RESULT_SIZE"


@EACH
async def test_a_statement_ends_at_its_time_limit(shop: Any) -> None:
    await shop.rows("select 1 as a")
    begin = time.monotonic()
    with pytest.raises(ToolError, match=r"did not answer within 0\.5 s: send arguments") as caught:
        await shop.call(SLOW[shop.database.dialect], timeout_s=0.5)
    assert caught.value.code == "TIMEOUT"
    assert time.monotonic() - begin < 5
    assert await shop.rows("select count(*) as n from orders") == [{"n": 3}]


@EACH
async def test_a_cancelled_call_ends_its_statement(shop: Any) -> None:
    await shop.rows("select 1 as a")
    with anyio.move_on_after(0.3) as scope:
        await shop.call(SLOW[shop.database.dialect], timeout_s=60)
    assert scope.cancelled_caught
    connections = shop.databases.connections(shop.database, read_only=True)
    with anyio.fail_after(10):
        while connections.engine.pool.checkedout():  # noqa: ASYNC110  a thread sets no event
            await anyio.sleep(0.02)


@EACH
async def test_a_write_that_times_out_changes_nothing(shop: Any) -> None:
    slow = SLOW[shop.database.dialect]
    condition = "pg_sleep(60) is not null" if slow == SLOW["postgresql"] else f"exists ({slow})"
    with pytest.raises(ToolError, match="nothing was changed"):
        await shop.write(f"update orders set total = 0 where {condition}", timeout_s=0.5)
    await anyio.sleep(0.3)
    rows = await shop.rows("select id from orders where total = 0", limits={"read_only": False})
    assert rows == []


@EACH
async def test_columns_with_one_name_are_numbered(shop: Any) -> None:
    reply = await shop.call("select id, id, customer as id from orders where id = 1")
    assert reply.structure["rows"] == [{"id": 1, "id_2": 1, "id_3": "Ada"}]
    assert reply.content == "| id | id_2 | id_3 |\n| --- | --- | --- |\n| 1 | 1 | Ada |"


@EACH
async def test_an_error_of_the_database_names_the_fix(shop: Any) -> None:
    with pytest.raises(ToolError, match=r"do not retry, tell the user|try again later; if it remains") as caught:
        await shop.call("select nosuch from orders")
    assert "nosuch" in caught.value.message
    assert "from orders" not in caught.value.message
    assert "Traceback" not in caught.value.message


@EACH
async def test_destructive_tools_may_write(shop: Any) -> None:
    reply = await shop.write("delete from orders where id = :id", {"id": 1}, risk=Risk.DESTRUCTIVE)
    assert reply.content == "1 row changed"


@EACH
async def test_an_empty_result_is_the_text_no_rows(shop: Any) -> None:
    reply = await shop.call("select id from orders where id = 99")
    assert reply.content == "No rows"
    assert reply.structure == {"rows": [], "has_more": False}
