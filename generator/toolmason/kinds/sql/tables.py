"""The tables of databases, and the keys of tools that run statements in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolmason_runtime.shared.toml.tables import PartialTable, Table, key

from toolmason.manifest.rules import PATH, SUMMARY, TEXT, VARIABLE, param_name
from toolmason.manifest.tables import TierDefaultsTable

_NO_DEFAULTS: Final = TierDefaultsTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTable(PartialTable):
    """`[databases.NAME]`: a database, and the limits of all statements in it."""

    url: str = ""
    """URL of the database without a password, such as `sqlite:///books.db` or `duckdb:////srv/sales.duckdb`.

    The path of a file is relative to the working directory of the server.
    """
    url_env: str = key(VARIABLE, default="")
    """Environment variable with the URL, such as `postgresql://USER:PASSWORD@HOST/NAME`. If set, it replaces `url`."""
    dialect: Literal["", "sqlite", "postgresql", "mysql", "duckdb"] = ""
    """Dialect of its statements; required without `url`. MariaDB has that of MySQL."""
    schema: str = key(PATH, default="")
    """SQL file with the tables of a SQLite database, such as `books.sql`, in which `generate` prepares statements."""
    summary: str = key(SUMMARY, default="")
    """Purpose of the database in one line."""
    category: str = ""
    """Default category of its tools."""
    tags: tuple[str, ...] = ()
    """Labels shown when tools are searched and browsed."""
    read_only: bool = True
    """Whether all tools only read. With false, tools with risk `write` and `destructive` are allowed."""
    timeout: float = key({"minimum": 0.1}, default=30)
    """Seconds until a statement is ended."""
    max_rows: int = key({"minimum": 1, "maximum": 100_000}, default=100)
    """Maximum number of rows of a result."""
    max_bytes: int = key({"minimum": 100, "maximum": 16_777_216}, default=100_000)
    """Maximum bytes of a result as JSON."""
    defaults: TierDefaultsTable = _NO_DEFAULTS
    """Values for its tools that do not set them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlKeys(Table):
    """The keys of `[tools.NAME]` for a tool that runs a statement."""

    sql: str = key(TEXT | param_name(r"(?:(?<![:\w]):|\{)(?P<name>[A-Za-z_]\w*)"), default="")
    """Statement of the tool. `:name` is the bound value of a parameter, and `in :name` that of an array.

    `{name}` is an identifier, one of the `enum` of its parameter; with the choices `asc` and `desc`, the order.
    """
    database: str = ""
    """Database of `[databases]` in which the statement of the tool runs."""
    max_rows: int | None = key({"minimum": 1, "maximum": 100_000}, default=None)
    """Maximum number of rows of the result; by default that of its database."""
    check_syntax: bool = True
    """Whether `generate` parses the statement; false for syntax that the parser does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTables(Table):
    """The top-level tables of databases."""

    databases: Mapping[str, DatabaseTable] = key(default={})
    """Databases in which tools run statements."""
