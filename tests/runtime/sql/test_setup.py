"""Databases that are not set up, cannot be reached or lack a package: one clear line without passwords."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sql_servers import PASSWORD
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.database import Database, Dialect
from toolmason_runtime.sql.settings import url_secrets

pytestmark = pytest.mark.anyio


def database(dialect: Dialect = "postgresql", **options: Any) -> Database:
    return Database(name="shop", dialect=dialect, **options)


async def failure(shop: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await shop.call("select 1 as a")
    assert caught.value.__cause__ is None
    return caught.value


async def test_a_missing_variable_is_named(open_shop: Callable[[Database], Any]) -> None:
    error = await failure(open_shop(database(url_env="NO_SUCH_URL")))
    assert error.message == (
        "This tool is not set up: the variable NO_SUCH_URL is not set, in the settings of the database `shop`"
    )


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("secret-text", "the variable SHOP_URL must be a URL such as postgresql://"),
        ("sqlite:///shop.db", "the variable SHOP_URL is the URL of a sqlite database, not of postgresql"),
        ("postgresql://ada:hidden-word@host:port/x", "the URL of the database `shop` is invalid"),
        ("postgresql+nosuch://ada:hidden-word@host/x", "the module of its driver needs an extra"),
    ],
)
async def test_an_invalid_url_is_described_without_it(
    url: str, message: str, open_shop: Callable[[Database], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", url)
    error = await failure(open_shop(database(url_env="SHOP_URL")))
    assert message in error.message
    assert "secret-text" not in error.message
    assert "hidden-word" not in error.message


async def test_a_variable_replaces_the_url(
    open_shop: Callable[[Database], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_URL", "sqlite://")
    shop = open_shop(database("sqlite", url="sqlite:////no/such/file.db", url_env="SHOP_URL"))
    assert await shop.rows("select 1 as a") == [{"a": 1}]


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
async def test_a_missing_file_is_not_created(
    dialect: Dialect, tmp_path: Path, open_shop: Callable[[Database], Any]
) -> None:
    path = tmp_path / "none.db"
    shop = open_shop(database(dialect, url=f"{dialect}:///{path}", read_only=False))
    assert "does not exist: none.db" in (await failure(shop)).message
    assert not path.exists()


async def test_a_wrong_password_is_not_shown(postgresql_url: str, open_shop: Callable[[Database], Any]) -> None:
    error = await failure(open_shop(database(url=postgresql_url.replace(PASSWORD, "wrong-secret"))))
    assert error.code == "DATABASE_UNAVAILABLE"
    assert "cannot be reached" in error.message
    assert "wrong-secret" not in error.message


@pytest.mark.parametrize(
    ("dialect", "module", "extra"),
    [
        ("sqlite", "sqlalchemy", "sql"),
        ("postgresql", "psycopg", "postgresql"),
        ("mysql", "pymysql", "mysql"),
        ("duckdb", "duckdb", "duckdb"),
    ],
)
async def test_a_missing_package_is_one_line(
    dialect: Dialect, module: str, extra: str, open_shop: Callable[[Database], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sqlalchemy.dialects import registry

    monkeypatch.setattr(registry, "impls", {})  # dialects that are loaded
    for name in [name for name in sys.modules if name.partition(".")[0] in (module, f"{module}_engine")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "toolmason_runtime.sql.connections", raising=False)
    error = await failure(open_shop(database(dialect, url=f"{dialect}:///:memory:")))
    assert f"the module `{module}" in error.message
    assert error.message.endswith(
        f" needs an extra: pip install 'toolmason[{extra}]'; in a project, add it to pyproject.toml"
    )


def test_secrets_of_a_url_are_its_passwords() -> None:
    assert url_secrets("postgresql://ada:p%40ss@host/x?sslpassword=other") == ("p%40ss", "p@ss", "other")
    assert url_secrets("sqlite:///books.db") == ()


async def test_a_read_cannot_leave_a_sqlite_file(tmp_path: Path, open_shop: Callable[[Database], Any]) -> None:
    import sqlite3

    path = tmp_path / "a.db"
    sqlite3.connect(path).close()
    shop = open_shop(database("sqlite", url=f"sqlite:///{path}"))
    for sql in (
        f"attach database '{tmp_path / 'b.db'}' as b",
        "pragma query_only = off",
        "select load_extension('x')",
    ):
        with pytest.raises(ToolError, match="not authorized"):
            await shop.call(sql)
    assert not (tmp_path / "b.db").exists()
