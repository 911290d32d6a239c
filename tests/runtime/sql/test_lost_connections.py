"""The database ends connections: while they are idle, and during a call."""

from __future__ import annotations

import time
from typing import Any

import anyio
import pytest
from toolmason_runtime.shared.errors import ToolError

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("database", ["postgresql", "mysql"], indirect=True)]


def end_connections(url: str) -> int:
    """End all other connections of the database, as a restart or a proxy does; return their number."""
    if url.startswith("postgresql"):
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            others = "from pg_stat_activity where pid <> pg_backend_pid() and usename = 'author'"
            return len(connection.execute(f"select pg_terminate_backend(pid) {others}").fetchall())
    from sqlalchemy import create_engine, make_url

    engine = create_engine(make_url(url).set(drivername="mysql+pymysql"))
    with engine.connect() as connection:
        (own,) = connection.exec_driver_sql("select connection_id()").one()
        numbers = [row[0] for row in connection.exec_driver_sql("show processlist") if row[0] != own]
        for number in numbers:
            connection.exec_driver_sql(f"kill {number}")
    engine.dispose()
    return len(numbers)


async def test_an_idle_connection_that_was_cut_costs_no_call(shop: Any) -> None:
    assert await shop.rows("select count(*) as n from orders") == [{"n": 3}]
    assert end_connections(shop.database.url) > 0

    assert await shop.rows("select count(*) as n from orders") == [{"n": 3}]


async def test_a_cut_during_a_call_is_an_error_without_the_password(shop: Any) -> None:
    sleep = "select pg_sleep(60)" if shop.database.dialect == "postgresql" else "select sleep(60)"
    errors: list[ToolError] = []

    async def call() -> None:
        with pytest.raises(ToolError) as caught:
            await shop.call(sleep, timeout_s=50)
        errors.append(caught.value)

    started = time.monotonic()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await anyio.sleep(1)
        while not errors:
            await anyio.to_thread.run_sync(end_connections, shop.database.url)
            await anyio.sleep(0.2)

    assert time.monotonic() - started < 30
    assert "s3cret" not in errors[0].message
    assert "Traceback" not in errors[0].message
    assert await shop.rows("select count(*) as n from orders") == [{"n": 3}]


async def test_a_write_that_was_cut_changed_nothing(shop: Any) -> None:
    wait = "pg_sleep(60) is not null" if shop.database.dialect == "postgresql" else "sleep(20) = 0"
    done = anyio.Event()

    async def call() -> None:
        with pytest.raises(ToolError):
            await shop.write(f"update orders set total = 0 where {wait}", timeout_s=50)
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        await anyio.sleep(1)
        while not done.is_set():
            await anyio.to_thread.run_sync(end_connections, shop.database.url)
            await anyio.sleep(0.2)

    rows = await shop.rows("select id from orders where total = 0", limits={"read_only": False})
    assert rows == []
