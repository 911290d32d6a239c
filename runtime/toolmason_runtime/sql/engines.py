"""Connections of each dialect through SQLAlchemy: read-only transactions, time limits, interrupts.

Imported at the first call, because it imports SQLAlchemy.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import quote

from sqlalchemy import create_engine, event
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.database import Dialect
from toolmason_runtime.shared.specs.statement import Style
from toolmason_runtime.sql.failures import UNAVAILABLE

if TYPE_CHECKING:
    from sqlalchemy import Connection, CursorResult, Engine

CONNECT_TIMEOUT_S: Final = 10
BUSY_TIMEOUT_S: Final = 5.0
"""Seconds that SQLite waits for another writer."""
MAX_CONNECTIONS: Final = 5
"""Connections per database that stay open; as many more are closed after use."""
MAX_VALUE_BYTES: Final = 64 * 1024 * 1024
"""Maximum bytes of a value and of a row in SQLite."""
FETCHED: Final = 50
"""Rows that are fetched at once."""


@dataclass(slots=True, kw_only=True)
class Output:
    """The rows of a statement, or the number of rows that it changed. `columns` are known after the first row."""

    rows: Iterator[Sequence[Any]] = field(default_factory=lambda: iter(()))
    columns: Callable[[], Sequence[str]] = tuple
    changed: int | None = None
    is_cut: bool = False
    """Whether rows remain that nobody reads."""


class Driver:
    """The connections of one dialect. The methods run in worker threads."""

    name: ClassVar[str]
    """Driver of a URL without one."""
    style: ClassVar[Style] = "pyformat"

    def engine(self, url: URL, *, read_only: bool) -> Engine:
        """Return an engine whose connections cannot write if `read_only` and the database has such a mode."""
        return _engine(url, connect_args=self.options(read_only=read_only))

    def options(self, *, read_only: bool) -> dict[str, Any]:
        """Return the arguments of the driver's `connect`."""
        return {"connect_timeout": CONNECT_TIMEOUT_S}

    def begin(self, connection: Connection, *, read_only: bool, timeout_s: float) -> None:
        """Begin a transaction, in which statements end after `timeout_s` if the database has such a limit."""
        raise NotImplementedError  # each dialect begins in its own way

    def max_values(self, raw: Any) -> int:
        """Return the maximum number of bound values of a statement on the connection `raw` of the driver."""
        return sys.maxsize

    def interrupt(self, engine: Engine, raw: Any) -> None:
        """End the statement that another thread runs on the connection `raw` of the driver."""
        raw.interrupt()

    @contextlib.contextmanager
    def execute(
        self,
        engine: Engine,
        connection: Connection,
        text: str,
        parameters: tuple[Any, ...] | dict[str, Any],
        *,
        is_stream: bool,
    ) -> Iterator[Output]:
        """Run a statement. With `is_stream`, rows stay on the server until they are fetched, where that is possible."""
        options = {"stream_results": is_stream, "max_row_buffer": FETCHED, "no_parameters": False}
        result = connection.exec_driver_sql(text, parameters, execution_options=options)
        if not result.returns_rows:
            yield Output(changed=max(0, result.rowcount))
            return
        output = Output(rows=_fetched(result), columns=lambda: tuple(result.keys()))
        yield output
        if output.is_cut and is_stream:
            self.drop_rest(engine, connection.connection.dbapi_connection)
        with contextlib.suppress(SQLAlchemyError):  # the statement may just have been ended
            result.close()

    def drop_rest(self, engine: Engine, raw: Any) -> None:
        """Prepare to close a cursor that has further rows."""

    def changed(self, output: Output) -> int | None:
        """Return the number of changed rows that a write returns as its only row; None if these are its rows."""
        return None

    def quote(self, engine: Engine, name: str) -> str:
        """Return a quoted identifier. SQLAlchemy would also double each `%`, as `render` does for its driver."""
        mark = engine.dialect.identifier_preparer.initial_quote
        return f"{mark}{name.replace(mark, mark * 2)}{mark}"


def _fetched(result: CursorResult[Any]) -> Iterator[Sequence[Any]]:
    while fetched := result.fetchmany(FETCHED):
        yield from fetched


def _engine(url: URL, **options: Any) -> Engine:
    pool = {"poolclass": QueuePool, "pool_size": MAX_CONNECTIONS, "max_overflow": MAX_CONNECTIONS, "pool_timeout": 10}
    # Errors of SQLAlchemy would contain the statement and its parameters.
    return create_engine(url, hide_parameters=True, **{**pool, "pool_pre_ping": True, **options})


def _existing_file(name: str, product: str) -> Path:
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        message = f"The file of the {product} database does not exist: {path.name}. Do not retry: tell the user"
        raise ToolError(message, code=UNAVAILABLE)
    return path


class SqliteDriver(Driver):
    """SQLite files. A reading connection has `mode=ro`, `query_only` and an authorizer that allows only reads."""

    name = "pysqlite"
    style = "qmark"

    def engine(self, url: URL, *, read_only: bool) -> Engine:
        """Return an engine for an existing file, or for empty databases in memory."""
        if not url.database or url.database == ":memory:":
            return _engine(url.set(query={}), creator=lambda: _sqlite(":memory:", read_only=read_only))
        path = _existing_file(url.database, "SQLite")
        address = f"file:{quote(path.as_posix())}?mode={'ro' if read_only else 'rw'}"
        return _engine(url.set(query={}), creator=lambda: _sqlite(address, read_only=read_only))

    def begin(self, connection: Connection, *, read_only: bool, timeout_s: float) -> None:
        """Begin a transaction, for a write as the only writer."""
        connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

    def max_values(self, raw: Any) -> int:
        """Return the limit of this build of SQLite."""
        limit: int = raw.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        return limit

    def quote(self, engine: Engine, name: str) -> str:
        """Return an identifier in backticks: in double quotes, SQLite reads an unknown one as a text."""
        return f"`{name.replace('`', '``')}`"


def _sqlite(address: str, *, read_only: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    connection.execute("PRAGMA foreign_keys = ON")
    if read_only:
        connection.execute("PRAGMA query_only = ON")
    connection.set_authorizer(_authorize_read if read_only else _authorize_write)
    return connection


_READS: Final = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_RECURSIVE,
    }
)
_PRAGMAS: Final = frozenset(
    {
        *("data_version", "foreign_key_list", "index_info", "index_list", "index_xinfo", "table_info", "table_xinfo"),
        *("read_uncommitted", "table_list"),
    }
)
"""Pragmas that read. Full-text tables use the first one, SQLAlchemy the last one when it connects."""


def _authorize_read(action: int, first: str | None, second: str | None, _schema: Any, _source: Any) -> int:
    if action == sqlite3.SQLITE_FUNCTION and str(second).lower() == "load_extension":
        return sqlite3.SQLITE_DENY
    is_read = action in _READS or (action == sqlite3.SQLITE_PRAGMA and str(first).lower() in _PRAGMAS)
    # Opening a virtual table, such as one of FTS5, parses `create table`, which asks for this. SQLite itself refuses a
    # statement that updates its schema.
    declares = action == sqlite3.SQLITE_UPDATE and first == "sqlite_master"
    return sqlite3.SQLITE_OK if is_read or declares else sqlite3.SQLITE_DENY


def _authorize_write(action: int, first: str | None, second: str | None, _schema: Any, _source: Any) -> int:
    """Deny what leaves the database, or ends its protection."""
    if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA or (
        action == sqlite3.SQLITE_FUNCTION and str(second).lower() == "load_extension"
    ):
        return _authorize_read(action, first, second, None, None)
    return sqlite3.SQLITE_OK


class PostgresqlDriver(Driver):
    """PostgreSQL with psycopg: `SET TRANSACTION READ ONLY` and `statement_timeout`."""

    name = "psycopg"

    def engine(self, url: URL, *, read_only: bool) -> Engine:
        """Return an engine whose connections read times that Python has no value for, such as `infinity`, as text."""
        from toolmason_runtime.sql.postgresql_times import register

        engine = super().engine(url, read_only=read_only)
        event.listen(engine, "connect", lambda raw, _record: register(raw))
        return engine

    def max_values(self, raw: Any) -> int:
        """Return the limit of the protocol, which counts them in two bytes."""
        return 65_535

    def begin(self, connection: Connection, *, read_only: bool, timeout_s: float) -> None:
        """Begin a transaction. Its settings end with it."""
        if read_only:
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        connection.exec_driver_sql(
            "SELECT set_config('statement_timeout', %(limit)s, true)", {"limit": f"{_milliseconds(timeout_s)}ms"}
        )

    @contextlib.contextmanager
    def execute(
        self,
        engine: Engine,
        connection: Connection,
        text: str,
        parameters: tuple[Any, ...] | dict[str, Any],
        *,
        is_stream: bool,
    ) -> Iterator[Output]:
        """Run a statement; a stream sends its rows one by one.

        SQLAlchemy would declare a cursor, which cannot infer the types of parameters from their second use.
        """
        if not is_stream:
            with super().execute(engine, connection, text, parameters, is_stream=False) as output:
                yield output
            return
        raw: Any = connection.connection.dbapi_connection
        base: Any = engine.dialect.loaded_dbapi.Error
        try:
            with raw.cursor() as cursor, contextlib.closing(cursor.stream(text, parameters)) as rows:
                yield Output(rows=rows, columns=lambda: [column.name for column in cursor.description or ()])
        except base as error:
            raise DBAPIError.instance(None, None, error, base, dialect=engine.dialect) from error

    def interrupt(self, engine: Engine, raw: Any) -> None:
        """Cancel the statement over a second connection."""
        raw.cancel_safe(timeout=CONNECT_TIMEOUT_S) if hasattr(raw, "cancel_safe") else raw.cancel()


class MysqlDriver(Driver):
    """MySQL and MariaDB with PyMySQL: `START TRANSACTION READ ONLY`, and a limit of time for reads."""

    name = "pymysql"

    def begin(self, connection: Connection, *, read_only: bool, timeout_s: float) -> None:
        """Begin a transaction. MySQL limits the time of reads alone, MariaDB that of all statements."""
        if getattr(connection.dialect, "is_mariadb", False):
            connection.exec_driver_sql("SET SESSION max_statement_time = %(limit)s", {"limit": timeout_s})
        else:
            connection.exec_driver_sql(
                "SET SESSION max_execution_time = %(limit)s", {"limit": _milliseconds(timeout_s)}
            )
        # A statement such as CREATE TABLE ends the transaction and runs in the mode of the session.
        connection.exec_driver_sql(
            "SET SESSION TRANSACTION READ ONLY" if read_only else "SET SESSION TRANSACTION READ WRITE"
        )
        connection.exec_driver_sql("START TRANSACTION READ ONLY" if read_only else "START TRANSACTION READ WRITE")

    def interrupt(self, engine: Engine, raw: Any) -> None:
        """Kill the statement over a second connection."""
        arguments, options = engine.dialect.create_connect_args(engine.url)
        other: Any = engine.dialect.connect(*arguments, **options, connect_timeout=CONNECT_TIMEOUT_S)
        with contextlib.closing(other):
            other.cursor().execute("KILL QUERY %s", (raw.thread_id(),))

    def drop_rest(self, engine: Engine, raw: Any) -> None:
        """End the statement: PyMySQL would read all remaining rows."""
        self.interrupt(engine, raw)


class DuckdbDriver(Driver):
    """DuckDB files, opened with `read_only` unless a tool of the database may write."""

    name = ""
    style = "qmark"

    def options(self, *, read_only: bool) -> dict[str, Any]:
        """Return the mode, and fixed settings that a statement cannot change."""
        return {"read_only": read_only, "config": {"autoinstall_known_extensions": "false"}}

    def engine(self, url: URL, *, read_only: bool) -> Engine:
        """Return an engine for an existing file, or for a database in memory, which cannot be opened read-only."""
        is_memory = not url.database or url.database.startswith(":memory:")
        if is_memory:
            return create_engine(url, hide_parameters=True, connect_args=self.options(read_only=False))
        path = _existing_file(str(url.database), "DuckDB")
        return _engine(url.set(database=str(path)), connect_args=self.options(read_only=read_only), pool_pre_ping=False)

    def begin(self, connection: Connection, *, read_only: bool, timeout_s: float) -> None:
        """Begin a transaction. DuckDB has no limit of time: the caller interrupts it."""
        connection.exec_driver_sql("ROLLBACK")  # duckdb-engine begins one by itself
        connection.exec_driver_sql("BEGIN TRANSACTION READ ONLY" if read_only else "BEGIN TRANSACTION READ WRITE")

    def changed(self, output: Output) -> int | None:
        """Return the only value of the column `Count`; `create table` returns this column without a row."""
        if tuple(output.columns()) != ("Count",):
            return None
        return sum(int(count) for (count,) in output.rows)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


DRIVERS: Final[Mapping[Dialect, Driver]] = {
    "sqlite": SqliteDriver(),
    "postgresql": PostgresqlDriver(),
    "mysql": MysqlDriver(),
    "duckdb": DuckdbDriver(),
}
