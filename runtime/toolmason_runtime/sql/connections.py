"""Run one statement: in its own transaction, in a worker thread, with limits of rows, bytes and time.

Imported at the first call, because it imports SQLAlchemy.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from sqlalchemy import Connection
from sqlalchemy.engine import URL, make_url
from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.shared.specs.database import SqlTool
from toolmason_runtime.shared.specs.statement import Statement, render
from toolmason_runtime.sql.engines import DRIVERS, Output
from toolmason_runtime.sql.failures import ERRORS, failure, unavailable
from toolmason_runtime.sql.settings import DatabaseSettings, timed_out
from toolmason_runtime.sql.values import column_names, json_value

_T = TypeVar("_T")

_STREAMED: Final = frozenset({"select", "with", "values", "table"})
"""First words of statements whose rows can stay on the server until they are fetched."""
_RETRY_INTERRUPT_S: Final = 0.05
_MAX_INTERRUPTS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The result of a statement as JSON values.

    `has_more` is true if further rows exist, or if a parameter of `limit` may have cut them. `changed` is the number of
    changed rows of a statement without result.
    """

    columns: tuple[str, ...] = ()
    rows: list[list[Any]]
    cut: str = ""
    """The limit that cut the rows, such as `100 rows`; empty if all are here."""
    has_more: bool = False
    changed: int | None = None

    def as_objects(self) -> list[dict[str, Any]]:
        """Return each row by the names of its columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Connections:
    """The connections to one database in one mode."""

    def __init__(self, settings: DatabaseSettings, *, read_only: bool) -> None:
        self.settings = settings
        self.driver = DRIVERS[settings.database.dialect]
        self.engine = self.driver.engine(_url(settings), read_only=read_only)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self.engine.dispose()

    def quote(self, name: str) -> str:
        """Return a quoted identifier."""
        return self.driver.quote(self.engine, name)


def _url(settings: DatabaseSettings) -> URL:
    url = make_url(settings.url)
    dialect, driver = settings.database.dialect, DRIVERS[settings.database.dialect].name
    if "+" in url.drivername:
        return url
    return url.set(drivername=f"{dialect}+{driver}" if driver else dialect)


class Execution:
    """One call of a tool. `run` belongs to a worker thread; `interrupt` may be called from another one."""

    def __init__(self, connections: Connections, tool: SqlTool, statement: Statement) -> None:
        self._connections = connections
        self._tool = tool
        self._statement = statement
        self._lock = threading.Lock()
        self._raw: Any = None
        self._is_interrupted = False
        self._is_committing = False
        self._done = threading.Event()

    def run(self, values: Mapping[str, Any], finish: Callable[[Rows], _T]) -> _T:
        """Return what `finish` makes of the rows. A write is committed after it; a read is always rolled back.

        Raises:
            ToolError: the statement failed or was interrupted, and nothing was changed.
        """
        try:
            with self._connection() as connection:
                return self._run(connection, values, finish)
        finally:
            self._done.set()

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        settings = self._connections.settings
        try:
            connection = self._connections.engine.connect()
        except ERRORS as error:
            raise unavailable(error, settings) from None
        except ModuleNotFoundError as error:
            from toolmason_runtime.sql.packages import missing_package

            raise missing_package(settings.database.dialect, str(error.name)) from None
        with connection:
            yield connection

    def _run(self, connection: Connection, values: Mapping[str, Any], finish: Callable[[Rows], _T]) -> _T:
        tool, settings = self._tool, self._connections.settings
        try:
            self._connections.driver.begin(connection, read_only=tool.is_read, timeout_s=tool.time_limit_s)
            self._attach(connection)
            rows = self._execute(connection, values)
            result = finish(rows)
            self._detach()
            if tool.is_read:
                connection.rollback()
            else:
                self._commit(connection)
        except ERRORS as error:
            self._detach()
            self._discard(connection)
            if self._is_interrupted:
                raise timed_out(settings.database, tool.time_limit_s) from None
            raise failure(error, settings, tool.time_limit_s) from None
        except BaseException:
            self._detach()
            self._discard(connection)
            raise
        return result

    def _attach(self, connection: Connection) -> None:
        """Make the statement interruptible.

        Raises:
            ToolError: the call has already ended.
        """
        with self._lock:
            self._check()
            self._raw = connection.connection.dbapi_connection

    def _check(self) -> None:
        if self._is_interrupted:
            raise timed_out(self._tool.database, self._tool.time_limit_s)

    def _detach(self) -> None:
        with self._lock:
            self._raw = None

    def _commit(self, connection: Connection) -> None:
        with self._lock:
            self._check()
            self._is_committing = True
        connection.commit()

    @staticmethod
    def _discard(connection: Connection) -> None:
        """Roll back and return the connection, or close it if that fails."""
        with suppress(*ERRORS):
            connection.rollback()
            return
        with suppress(*ERRORS):
            connection.invalidate()

    def _execute(self, connection: Connection, values: Mapping[str, Any]) -> Rows:
        database, driver = self._connections.settings.database, self._connections.driver
        text, parameters = render(
            self._statement,
            values,
            dialect=database.dialect,
            style=driver.style,
            quote=self._connections.quote,
        )
        most = driver.max_values(connection.connection.dbapi_connection)
        if len(parameters) > most:
            message = f"The database {database.name} takes at most {most:,} values, and these are {len(parameters):,}: "
            raise ToolError(f"{message}send fewer", code=INVALID_ARGUMENT)
        is_stream = self._tool.is_read and self._statement.keywords[0] in _STREAMED
        with driver.execute(self._connections.engine, connection, text, parameters, is_stream=is_stream) as output:
            if output.changed is not None:
                return Rows(rows=[], changed=output.changed)
            is_change = not self._tool.is_read and "returning" not in self._statement.keywords
            if is_change and (count := driver.changed(output)) is not None:
                return Rows(rows=[], changed=count)
            return self._rows(output, values)

    def _rows(self, output: Output, values: Mapping[str, Any]) -> Rows:
        max_rows, max_bytes = self._tool.row_limit, self._connections.settings.database.max_bytes
        rows: list[list[Any]] = []
        cells: list[Any] = []
        size, cut = 0, ""
        for row in output.rows:
            cells = [json_value(value) for value in row]
            size += len(json.dumps(cells, ensure_ascii=False).encode())
            if len(rows) == max_rows:
                cut = f"{max_rows:,} rows"
            elif size > max_bytes:
                cut = f"{max_bytes:,} bytes"
            if cut:
                break
            rows.append(cells)
        columns = column_names(output.columns())
        if cut and not rows:
            raise self._too_large(columns, cells, max_bytes)
        output.is_cut = bool(cut)
        limit = values.get(self._statement.clause("limit"))
        has_more = bool(cut) or (isinstance(limit, int) and 0 < limit <= len(rows))
        return Rows(columns=columns, rows=rows, cut=cut, has_more=has_more)

    @staticmethod
    def _too_large(columns: Sequence[str], cells: Sequence[Any], max_bytes: int) -> ToolError:
        sizes = {name: len(json.dumps(cell, ensure_ascii=False)) for name, cell in zip(columns, cells, strict=True)}
        largest = max(sizes, key=lambda name: sizes[name])
        message = f"The first row exceeds {max_bytes:,} bytes, above all its column `{largest}`: select another row. "
        message += "The operator can raise `max_bytes`, or shorten the column in the statement"
        return ToolError(message, code="RESULT_SIZE")

    def interrupt(self) -> str:
        """End the statement, and return a clause about the changes of a write; empty for a read."""
        with self._lock:
            self._is_interrupted = True
            is_committing = self._is_committing
        threading.Thread(target=self._interrupt_until_done, daemon=True, name="sql-interrupt").start()
        if self._tool.is_read:
            return ""
        return "it may have been carried out, check before you repeat it" if is_committing else "nothing was changed"

    def _interrupt_until_done(self) -> None:
        # An interrupt has no effect on a statement that has not started yet.
        for _ in range(_MAX_INTERRUPTS):
            with self._lock:
                if self._raw is not None:
                    with suppress(Exception):
                        self._connections.driver.interrupt(self._connections.engine, self._raw)
            if self._done.wait(_RETRY_INTERRUPT_S):
                return
