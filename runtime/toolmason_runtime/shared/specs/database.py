"""Declarations of databases and their tools: plain data that generated code creates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from toolmason_runtime.shared.specs.program import Risk

Dialect = Literal["sqlite", "postgresql", "mysql", "duckdb"]
DIALECTS: Final[tuple[Dialect, ...]] = ("sqlite", "postgresql", "mysql", "duckdb")
SCHEMES: Final[dict[str, Dialect]] = {
    "sqlite": "sqlite",
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "duckdb": "duckdb",
}
"""Scheme of a URL, without a driver such as `+psycopg` -> the dialect of its database."""


def dialect_of(url: str) -> Dialect | None:
    """Return the dialect of a URL such as `postgresql+psycopg://...`; None if its scheme is unknown."""
    return SCHEMES.get(url.partition("://")[0].partition("+")[0].lower()) if "://" in url else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """`[databases.NAME]`: a database. The variable `url_env` replaces `url` if it is set and not empty.

    With `read_only`, no tool can write. The limits apply to each call.
    """

    name: str
    dialect: Dialect
    url: str = ""
    url_env: str = ""
    read_only: bool = True
    timeout_s: float = 30.0
    max_rows: int = 100
    max_bytes: int = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlParam:
    """A parameter of a statement.

    `choices` are the identifiers that `{name}` can stand for; empty for a bound value. `default` is the value of an
    absent argument (None: NULL). `format` is its format in JSON Schema: `byte` binds the bytes of base64.
    """

    name: str
    choices: tuple[str, ...] = ()
    default: Any = None
    format: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlTool:
    """A tool with `sql`: one statement. With `returns_list`, the model of the result has the rows as `items`."""

    name: str
    database: Database
    sql: str
    params: tuple[SqlParam, ...] = ()
    returns_list: bool = False
    max_rows: int | None = None
    """Limit of rows; None means that of the database."""
    timeout_s: float | None = None
    """Limit of a call in seconds; None means that of the database."""
    risk: Risk = Risk.READ
    confirm: str = ""
    """The question above the statement in an approval prompt; empty for the default question.

    `{name}` is replaced by the value of a parameter, `{{` and `}}` by a brace.
    """

    @property
    def is_read(self) -> bool:
        """Whether the statement runs in a read-only transaction."""
        return self.risk is Risk.READ

    @property
    def row_limit(self) -> int:
        """Maximum rows of a result."""
        return self.max_rows or self.database.max_rows

    @property
    def time_limit_s(self) -> float:
        """Seconds until a call is cancelled."""
        return self.timeout_s or self.database.timeout_s
