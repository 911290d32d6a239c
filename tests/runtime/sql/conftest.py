"""The same small shop in each database, and calls of tools on it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from quiet_context import QuietContext
from sql_servers import mysql_url, postgresql_url
from toolmason_runtime.calls.call import ToolCall
from toolmason_runtime.programs.settings import ProgramSettings
from toolmason_runtime.shared.specs.database import Database, SqlParam, SqlTool
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.sql.handler import SqlRun
from toolmason_runtime.sql.registry import Databases

__all__ = ["mysql_url", "postgresql_url"]

SHOP = (
    "create table orders (id integer primary key, customer varchar(2000) not null, total numeric(10, 2), day date)",
    """insert into orders values
    (1, 'Ada', 12.50, '2026-01-02'), (2, 'Bo', 7.00, '2026-02-03'), (3, 'O''Hara', null, null)""",
)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Shop:
    """A database with three orders, and calls of statements on it."""

    database: Database
    databases: Databases

    def tool(self, sql: str, *params: str | SqlParam, **options: Any) -> SqlTool:
        database = replace(self.database, **options.pop("limits", {}))
        declared = tuple(param if isinstance(param, SqlParam) else SqlParam(name=param) for param in params)
        return SqlTool(name="shop_tool", database=database, sql=sql, params=declared, **options)

    async def call(self, sql: str, arguments: dict[str, Any] | None = None, /, **options: Any) -> Any:
        """Call a tool whose parameters are those of the arguments."""
        arguments = arguments or {}
        params = options.pop("params", tuple(arguments))
        result = options.pop("result", "")
        run = SqlRun(self.tool(sql, *params, **options), result)
        return await run(
            arguments, ToolCall("shop_tool", QuietContext(), [self.databases, ProgramSettings(headless_approve=True)])
        )

    async def rows(self, sql: str, arguments: dict[str, Any] | None = None, /, **options: Any) -> list[dict[str, Any]]:
        reply = await self.call(sql, arguments, **options)
        rows: list[dict[str, Any]] = reply.structure["rows"]
        return rows

    async def write(self, sql: str, arguments: dict[str, Any] | None = None, /, **options: Any) -> Any:
        options = {"risk": Risk.WRITE, "limits": {"read_only": False}, **options}
        return await self.call(sql, arguments, **options)


def sqlite_database(folder: Path) -> Database:
    path = folder / "shop.db"
    connection = sqlite3.connect(path)
    for statement in SHOP:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return Database(name="shop", dialect="sqlite", url=f"sqlite:///{path}")


def duckdb_database(folder: Path) -> Database:
    import duckdb

    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in SHOP:
            connection.execute(statement)
    return Database(name="shop", dialect="duckdb", url=f"duckdb:///{path}")


def postgresql_database(url: str) -> Database:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("drop schema public cascade")
        connection.execute("create schema public")
        for statement in SHOP:
            connection.execute(statement)
    return Database(name="shop", dialect="postgresql", url=url)


def mysql_database(url: str) -> Database:
    from sqlalchemy import create_engine, make_url

    engine = create_engine(make_url(url).set(drivername="mysql+pymysql"))
    with engine.begin() as connection:
        for (table,) in connection.exec_driver_sql("show tables").fetchall():
            connection.exec_driver_sql("drop table " + engine.dialect.identifier_preparer.quote(table))
        for statement in SHOP:
            connection.exec_driver_sql(statement)
    engine.dispose()
    return Database(name="shop", dialect="mysql", url=url)


@pytest.fixture
async def open_shop() -> AsyncIterator[Callable[[Database], Shop]]:
    databases = Databases()
    yield lambda database: Shop(database, databases)
    await databases.aclose()


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """The shop in the database of the parameter."""
    match request.param:
        case "sqlite":
            return sqlite_database(tmp_path)
        case "duckdb":
            return duckdb_database(tmp_path)
        case "postgresql":
            return postgresql_database(request.getfixturevalue("postgresql_url"))
        case _:
            return mysql_database(request.getfixturevalue("mysql_url"))


@pytest.fixture
def shop(database: Database, open_shop: Callable[[Database], Shop]) -> Shop:
    return open_shop(database)
