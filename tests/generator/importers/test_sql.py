"""`toolmason import sql` on real databases: tables, views, saved queries, and the server of the result."""

from __future__ import annotations

import sqlite3
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolmason.commands import toolmason
from toolmason.importers.notes import Notes
from toolmason.importers.sql.column_types import manifest_type
from toolmason.importers.sql.queries import MAX_FILE_BYTES, read_queries

sys.path.insert(0, str(Path(__file__).parents[2] / "runtime" / "support"))
from sql_servers import PASSWORD, mysql_url, postgresql_url

__all__ = ["mysql_url", "postgresql_url"]

TABLES = (
    "create table customers (id integer primary key, name varchar(80) not null, photo {blob})",
    """create table orders (id integer primary key, customer_id integer references customers(id),
    total numeric(10, 2), "Odd Name" varchar(10), day date)""",
    "create view daily as select day, customer_id from orders",
)
QUERIES = """
-- name: OrdersOfCustomer :many
-- List the orders of a customer. The newest first.
select id, total from orders where customer_id = :customer and day > :day limit :limit;

-- name: get_customer^
select id, name from customers where name = :name and id in :ids;

-- name: other_marks
select id from orders where id = ?;
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(toolmason, ["import", "sql", *arguments])


Execute = Callable[..., None]


def _execute(url: str, *statements: str) -> None:
    """Run statements in a database, without parameters."""
    from sqlalchemy import create_engine, make_url

    scheme, _, _ = url.partition(":")
    drivers = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql"}
    engine = create_engine(make_url(url).set(drivername=drivers.get(scheme, scheme)))
    with engine.begin() as transaction:
        for statement in statements:
            transaction.exec_driver_sql(statement, execution_options={"no_parameters": True})
    engine.dispose()


def _clear(url: str) -> None:
    """Drop all tables of the tests before."""
    if url.startswith("postgresql"):
        _execute(
            url, "drop schema if exists public cascade", "drop schema if exists extra cascade", "create schema public"
        )
    else:
        _execute(url, "drop database shop", "create database shop character set utf8mb4")


@pytest.fixture
def execute(shop_url: str) -> Execute:
    """A function that runs statements in the database."""
    return lambda *statements: _execute(shop_url, *statements)


@pytest.fixture
def shop_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with the tables."""
    tables = [table.format(blob="bytea" if request.param == "postgresql" else "blob") for table in TABLES]
    if request.param in ("sqlite", "duckdb"):
        url = f"{request.param}:///{tmp_path / 'shop.db'}"
        if request.param == "sqlite":
            sqlite3.connect(tmp_path / "shop.db").close()
        else:
            import duckdb

            duckdb.connect(str(tmp_path / "shop.db")).close()
    else:
        url = request.getfixturevalue(f"{request.param}_url")
        _clear(url)
    _execute(url, *(table.replace('"', "`") if request.param == "mysql" else table for table in tables))
    if request.param == "postgresql":
        _execute(url, "comment on table orders is 'Orders of customers. Since 2020.'")
        _execute(url, "comment on column orders.total is 'Sum in euros'")
    return url


EACH = pytest.mark.parametrize("shop_url", ["sqlite", "postgresql", "mysql", "duckdb"], indirect=True)


@EACH
def test_each_table_and_view_becomes_a_tool(
    shop_url: str, run: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", shop_url)
    result = run("$SHOP_URL", "--name", "shop")
    assert result.exit_code == 0, result.stderr
    assert PASSWORD not in result.output
    manifest = tomllib.loads(result.stdout)
    assert manifest["databases"]["shop"]["url_env"] == "SHOP_URL"
    assert list(manifest["tools"]) == ["list_customers", "list_daily", "list_orders"]
    orders = manifest["tools"]["list_orders"]
    assert list(orders["params"]) == [
        *("id", "customer_id", "total", "odd_name", "day", "order_by", "direction", "limit", "offset")
    ]
    assert orders["params"]["id"] | {"description": ""} == {"type": "integer", "description": "", "required": False}
    assert orders["params"]["day"]["format"] == "date"
    assert orders["returns"] == "OrdersRow[]"
    fields = manifest["types"]["OrdersRow"]["fields"]
    assert list(fields) == ["id", "customer_id", "total", "odd_name", "day"]
    assert "nullable" not in fields["id"]
    assert fields["total"]["nullable"]
    assert all(len(tool["summary"]) <= 80 for tool in manifest["tools"].values())
    assert manifest["types"]["CustomersRow"]["fields"]["photo"]["type"] == "string"
    assert "photo" not in manifest["tools"]["list_customers"]["params"]


@EACH
def test_names_with_percent_signs_are_kept(shop_url: str, run: Callable[..., Result], execute: Execute) -> None:
    mark = "`" if shop_url.startswith("mysql") else '"'
    execute(f"create table {mark}50% of{mark} ({mark}share%s{mark} integer, {mark}a%%b{mark} integer)")
    result = run(shop_url, "--name", "shop", "--include", "50*")
    assert result.exit_code == 0, result.stderr
    [tool] = tomllib.loads(result.stdout)["tools"].values()
    mark = "`" if shop_url.startswith(("mysql", "sqlite")) else '"'
    assert f"from {mark}50% of{mark}" in tool["sql"]
    assert f"{mark}share%s{mark} as share_s, {mark}a%%b{mark} as a_b" in tool["sql"]
    assert tool["params"]["order_by"]["enum"] == ["share%s", "a%%b"]


@pytest.mark.parametrize("shop_url", ["sqlite", "mysql"], indirect=True)
def test_a_view_that_cannot_be_read_is_a_note(shop_url: str, run: Callable[..., Result], execute: Execute) -> None:
    execute(
        "create table gone (a integer)",
        "create view broken as select a from gone",
        "create view broken_too as select a from broken",
        "drop table gone",
    )
    result = run(shop_url, "--name", "shop")
    assert result.exit_code == 0, result.stderr
    assert list(tomllib.loads(result.stdout)["tools"]) == ["list_customers", "list_daily", "list_orders"]
    for name in ("broken", "broken_too"):
        assert f"database: {name}: left out: it cannot be read: " in result.stderr


@pytest.mark.parametrize("shop_url", ["duckdb"], indirect=True)
def test_a_view_of_duckdb_that_cannot_be_read_is_a_note(
    shop_url: str, run: Callable[..., Result], execute: Execute
) -> None:
    execute("create table gone (a integer)", "create view broken as select a from gone", "drop table gone")
    result = run(shop_url, "--name", "shop")
    assert result.exit_code == 0, result.stderr
    tools = tomllib.loads(result.stdout)["tools"]
    assert [name for name in tools if name != "list_broken"] == ["list_customers", "list_daily", "list_orders"]


@pytest.mark.parametrize("shop_url", ["postgresql"], indirect=True)
def test_further_relations_and_schemas_of_postgresql(
    shop_url: str, run: Callable[..., Result], execute: Execute
) -> None:
    execute(
        "create materialized view totals as select customer_id, sum(total) as total from orders group by 1",
        "create table empty ()",
        "create schema extra",
        "create table extra.parts (id integer)",
        "create view extra.part_ids as select id from extra.parts",
    )
    result = run(shop_url, "--name", "shop", "--include", "totals", "--include", "empty")
    assert result.exit_code == 0, result.stderr
    tools = tomllib.loads(result.stdout)["tools"]
    assert [*tools] == ["list_totals"]
    assert [*tools["list_totals"]["params"]][:2] == ["customer_id", "total"]
    assert "database: empty: left out: it has no columns\n" in result.stderr
    other = "tables of other schemas are left out; import each with `--schema`: extra\n"
    assert f"database: {other}" in result.stderr
    result = run(shop_url, "--name", "shop", "--schema", "extra")
    assert [*tomllib.loads(result.stdout)["tools"]] == ["list_part_ids", "list_parts"]
    assert "other schemas" not in result.stderr


@pytest.mark.parametrize(
    "column",
    ["asc", "DESC", "", " ", "a\nb", "limit", "order_by", "class", "model_config", "1st", "é", 'a"b', ":a", "{a}"],
)
def test_a_table_with_any_name_of_a_column_can_be_generated(
    column: str, run: Callable[..., Result], tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "odd.db") as connection:
        quoted = column.replace('"', '""')
        connection.execute(f'create table odd ("{quoted}" integer, id integer)')
        connection.execute(f'create table single ("{quoted}" integer)')
    connection.close()
    manifest = tmp_path / "manifest" / "odd.toml"
    result = run("sqlite:///odd.db", "-o", str(manifest))
    assert result.exit_code == 0, result.stderr
    assert list(tomllib.loads(manifest.read_text("utf-8"))["tools"]) == ["list_odd", "list_single"], result.stderr
    checked = CliRunner().invoke(toolmason, ["lint", "--manifest", str(manifest)])
    assert "error" not in checked.output


def test_a_file_of_queries_that_cannot_be_read_is_a_note(run: Callable[..., Result], tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "books.db").close()
    (tmp_path / "latin.sql").write_bytes("-- Bücher\nselect 1 as a".encode("latin-1"))
    (tmp_path / "utf16.sql").write_bytes("select 1 as a".encode("utf-16"))
    (tmp_path / "large.sql").write_bytes(b" " * (MAX_FILE_BYTES + 1))
    (tmp_path / "good.sql").write_text("select 1 as a", encoding="utf-8")
    result = run("sqlite:///books.db", "--queries", ".")
    assert result.exit_code == 0, result.stderr
    assert list(tomllib.loads(result.stdout)["tools"]) == ["good"]
    assert "latin.sql:1:1: left out: not UTF-8 at byte 4\n" in result.stderr
    assert "utf16.sql:1:1: left out: not UTF-8 at byte 0\n" in result.stderr
    assert "large.sql:1:1: left out: more than 1,048,576 bytes\n" in result.stderr


def test_a_full_text_table_becomes_one_tool(run: Callable[..., Result], tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "books.db") as connection:
        connection.execute("create virtual table pages using fts5(title, body)")
    connection.close()

    result = run("sqlite:///books.db", "--name", "books")

    assert result.exit_code == 0, result.stderr
    assert list(tomllib.loads(result.stdout)["tools"]) == ["list_pages"]


def test_a_file_of_another_format_is_reported(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "books.db").write_text("books\n" * 1000)

    result = run("sqlite:///books.db", "--name", "books")

    assert result.exit_code == 1
    assert result.stderr == "the database cannot be read: file is not a database\n"


@pytest.mark.parametrize("shop_url", ["postgresql"], indirect=True)
def test_comments_become_descriptions(shop_url: str, run: Callable[..., Result]) -> None:
    manifest = tomllib.loads(run(shop_url, "--name", "shop", "--include", "orders").stdout)
    assert list(manifest["tools"]) == ["list_orders"]
    tool = manifest["tools"]["list_orders"]
    assert tool["summary"] == "Orders of customers. Since 2020"
    assert tool["description"].startswith("Orders of customers. Since 2020. Its primary key is `id`.")
    assert tool["params"]["total"]["description"] == "Sum in euros"
    assert manifest["databases"]["shop"] == {"url_env": "SHOP_URL", "dialect": "postgresql", "category": "shop"}


@EACH
def test_saved_queries_become_tools(shop_url: str, run: Callable[..., Result], tmp_path: Path) -> None:
    queries = tmp_path / "queries"
    queries.mkdir()
    (queries / "orders.sql").write_text(QUERIES, encoding="utf-8")
    result = run(shop_url, "--name", "shop", "--exclude", "*", "--queries", "queries")
    assert result.exit_code == 0, result.stderr
    tools: dict[str, Any] = tomllib.loads(result.stdout)["tools"]
    assert [*tools][:2] == ["orders_of_customer", "get_customer"]
    many, one = [*tools.values()][:2]
    assert many["summary"] == "List the orders of a customer. The newest first"
    assert many["params"]["customer"]["type"] == "integer"
    assert many["params"]["day"] == {"type": "string", "format": "date", "description": "Value of `day`"}
    assert many["params"]["limit"]["default"] == 20
    assert one["params"]["ids"]["type"] == "integer[]"
    if shop_url.startswith("sqlite"):
        problem = "left out: `?` is not a parameter; write `:name`"
        assert f"queries/orders.sql:9:1: other_marks: {problem}" in result.stderr
    if not shop_url.startswith("mysql"):
        assert (many["returns"], one["returns"]) == ("OrdersOfCustomerRow[]", "GetCustomerRow")


@pytest.mark.parametrize("shop_url", ["sqlite"], indirect=True)
def test_the_result_generates_a_server(shop_url: str, run: Callable[..., Result], tmp_path: Path) -> None:
    manifest = tmp_path / "manifest" / "shop.toml"
    assert run(shop_url, "-o", str(manifest)).exit_code == 0
    generated = CliRunner().invoke(toolmason, ["generate", "--manifest", str(manifest)])
    assert generated.exit_code == 0, generated.output
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("insert into customers values (1, 'Ada', x'00ff')")
    connection.close()
    called = CliRunner().invoke(toolmason, ["call", "list_customers", '{"name": "Ada"}'])
    assert called.stdout.strip() == '{"items":[{"id":1,"name":"Ada","photo":"AP8="}],"has_more":false}'


def test_an_unknown_scheme_and_a_missing_variable_are_errors(run: Callable[..., Result]) -> None:
    assert "the URL must begin with sqlite:" in run("oracle://host/x").stderr
    result = run("$NO_SUCH_URL")
    assert result.exit_code == 2
    assert "the variable NO_SUCH_URL is not set" in result.stderr


def test_a_database_that_cannot_be_reached_is_one_line_without_password(run: Callable[..., Result]) -> None:
    result = run("postgresql://ada:hidden-word@/x?host=/no/such/directory")
    assert result.exit_code == 1
    assert result.stderr.startswith("the database cannot be read: connection is bad")
    assert result.stderr.count("\n") == 1
    assert "hidden-word" not in result.output


def test_a_file_without_names_is_one_query(tmp_path: Path) -> None:
    (tmp_path / "count-orders.sql").write_text("-- How many.\n\nselect 1;\n", encoding="utf-8")
    [query] = read_queries(tmp_path, Notes())
    assert (query.name, query.comment, query.sql) == ("count_orders", "How many.", "select 1")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("BIGINT", "integer"),
        ("int4", "integer"),
        ("double precision", "number"),
        ("numeric(10, 2)", "string"),
        ("VARCHAR(20)", "string"),
        ("timestamp without time zone", "string"),
        ("_text", "string[]"),
        ("INTEGER[]", "integer[]"),
        ("tinyint(1)", "boolean"),
        ("jsonb", None),
        ("", None),
        ("point", None),
    ],
)
def test_types_of_columns_become_types_of_manifests(name: str, expected: str | None) -> None:
    keys = manifest_type(name, "postgresql")
    assert (keys and keys["type"]) == expected
