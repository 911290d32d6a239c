"""Read the tables, views and query columns of a database, in read-only transactions."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.specs.database import Database, Dialect, dialect_of
from toolmason_runtime.shared.specs.statement import Identifier, Statement, Value, render
from toolmason_runtime.shared.toml.positions import Position
from toolmason_runtime.toolkit import open_connections

from toolmason.importers.notes import ImporterError, Notes
from toolmason.importers.sql.column_types import Keys, manifest_type

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from toolmason_runtime.toolkit import Connections

TIMEOUT_S: Final = 30.0
MAX_TABLES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column; `keys` is None if a manifest has no type for it."""

    name: str
    keys: Keys | None
    nullable: bool = True
    comment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedTable:
    """A table or view. `quoted` is its name in a statement, `primary_key` the names of its columns."""

    name: str
    quoted: str
    is_view: bool
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    foreign_keys: frozenset[str] = frozenset()
    comment: str = ""


@dataclass(slots=True)
class DescribedDatabase:
    """An open database: its tables, and the columns of queries in it."""

    database: Database
    connections: Connections
    notes: Notes
    tables: list[DescribedTable] = field(default_factory=list)

    @property
    def dialect(self) -> Dialect:
        """Its dialect."""
        return self.database.dialect

    def quote(self, name: str) -> str:
        """Return an identifier for a statement, in quotes if it needs them."""
        is_plain = self.connections.engine.dialect.identifier_preparer.quote(name) == name
        return name if is_plain else self.connections.quote(name)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a read-only transaction, which is rolled back."""
        with self.connections.engine.connect() as connection:
            self.connections.driver.begin(connection, read_only=True, timeout_s=TIMEOUT_S)
            yield connection
            connection.rollback()

    def note(self, about: str, message: str) -> None:
        """Add a note about a part of the database."""
        self.notes.add("database", Position(0, 0), about, message)

    def query_columns(self, statement: Statement) -> tuple[Column, ...]:
        """Return the columns of a query; none if the database does not tell them. The query is not run."""
        try:
            with self.read() as connection:
                found = _DESCRIBERS[self.dialect](self, connection, statement)
        except Exception:  # noqa: BLE001  drivers raise errors of their own; without columns, a tool has a table as result
            return ()
        return tuple(Column(name=name, keys=manifest_type(kind, self.dialect)) for name, kind in found)


@contextmanager
def open_database(url: str, schema: str, notes: Notes) -> Iterator[DescribedDatabase]:
    """Open the database of a URL and list its tables and views. `schema` is empty for the default one.

    Tables that cannot be read, and schemas that are not listed, become notes.

    Raises:
        ImporterError: it cannot be opened or read; the message contains no password.
    """
    dialect = dialect_of(url)
    if dialect is None:
        raise ImporterError("the URL must begin with sqlite:, postgresql:, mysql: or duckdb:")
    database = Database(name="database", dialect=dialect, url=url)
    try:
        connections = open_connections(database, os.environ, read_only=True)
    except ToolError as error:
        raise ImporterError(error.message) from None
    described = DescribedDatabase(database, connections, notes)
    try:
        described.tables = [table for table in _tables(described, schema) if _has_columns(described, table)]
        yield described
    finally:
        connections.close()


def _tables(described: DescribedDatabase, schema: str) -> list[DescribedTable]:
    from sqlalchemy import inspect
    from toolmason_runtime.toolkit import ERRORS, reason

    try:
        with described.read() as connection:
            if described.dialect == "duckdb":
                return _duckdb_tables(described, connection, schema)
            inspector = inspect(connection)
            _note_other_schemas(described, inspector, schema)
            return [*_reflected(described, connection, inspector, schema)]
    except ERRORS as error:
        raise ImporterError(f"the database cannot be read: {reason(error, described.connections.settings)}") from None
    except ModuleNotFoundError as error:
        from toolmason_runtime.toolkit import missing_package

        raise ImporterError(missing_package(described.dialect, str(error.name)).message) from None


def _has_columns(described: DescribedDatabase, table: DescribedTable) -> bool:
    if not table.columns:
        described.note(table.name, "left out: it has no columns")
    return bool(table.columns)


def _note_other_schemas(described: DescribedDatabase, inspector: Any, schema: str) -> None:
    """Name the schemas of PostgreSQL with further tables. Those of MySQL are databases of their own."""
    if schema or described.dialect != "postgresql":
        return
    own = {inspector.default_schema_name, "information_schema"}
    others = [name for name in inspector.get_schema_names() if name not in own and not name.startswith("pg_")]
    found = [name for name in others if _table_names(described, inspector, name)]
    if found:
        described.note("", f"tables of other schemas are left out; import each with `--schema`: {', '.join(found)}")


def _table_names(described: DescribedDatabase, inspector: Any, schema: str) -> list[tuple[str, bool]]:
    """Return the name of each table and view, and whether it is a view."""
    within = schema or None
    tables = [*inspector.get_table_names(within)]
    views = [*inspector.get_view_names(within)]
    if described.dialect == "postgresql":
        tables += inspector.get_foreign_table_names(within)
        views += inspector.get_materialized_view_names(within)
    return sorted([*((name, False) for name in tables), *((name, True) for name in views)])


def _reflected(
    described: DescribedDatabase, connection: Connection, inspector: Any, schema: str
) -> Iterator[DescribedTable]:
    from toolmason_runtime.toolkit import ERRORS, reason

    hidden = _shadow_tables(connection) if described.dialect == "sqlite" else set()
    names = [(name, is_view) for name, is_view in _table_names(described, inspector, schema) if name not in hidden]
    if len(names) > MAX_TABLES:
        described.note("", f"only the first {MAX_TABLES} of {len(names):,} tables and views are imported")
    for name, is_view in names[:MAX_TABLES]:
        try:
            table = _table(described, inspector, name, schema, is_view)
        except ERRORS as error:
            described.note(name, f"left out: it cannot be read: {reason(error, described.connections.settings)}")
            connection.rollback()  # an error ends the transaction of PostgreSQL
            described.connections.driver.begin(connection, read_only=True, timeout_s=TIMEOUT_S)
        else:
            yield table


def _shadow_tables(connection: Connection) -> set[str]:
    """Return the tables in which virtual tables, such as those of FTS5, keep their data."""
    rows = connection.exec_driver_sql("select name from pragma_table_list where type = 'shadow'")
    return {str(name) for (name,) in rows}


def _table(described: DescribedDatabase, inspector: Any, name: str, schema: str, is_view: bool) -> DescribedTable:
    within = schema or None
    columns = tuple(
        Column(
            name=column["name"],
            keys=_column_type(column["type"], described.dialect),
            nullable=bool(column.get("nullable", True)),
            comment=column.get("comment") or "",
        )
        for column in inspector.get_columns(name, within)
    )
    key = [] if is_view else inspector.get_pk_constraint(name, within).get("constrained_columns") or []
    foreign = [] if is_view else inspector.get_foreign_keys(name, within)
    quoted = described.quote(name)
    return DescribedTable(
        name=name,
        quoted=f"{described.quote(schema)}.{quoted}" if schema else quoted,
        is_view=is_view,
        columns=tuple(replace(column, nullable=column.nullable and column.name not in key) for column in columns),
        primary_key=tuple(key),
        foreign_keys=frozenset(column for each in foreign for column in each["constrained_columns"]),
        comment=_comment(inspector, name, within),
    )


def _duckdb_tables(described: DescribedDatabase, connection: Connection, schema: str) -> list[DescribedTable]:
    """Read DuckDB's own catalogue: SQLAlchemy asks for tables of PostgreSQL that it lacks."""
    within = (schema or "main",)
    tables = connection.exec_driver_sql(_DUCKDB_TABLES, (*within, *within)).fetchall()[:MAX_TABLES]
    columns: dict[str, list[Column]] = {}
    for table, name, kind, nullable, comment in connection.exec_driver_sql(_DUCKDB_COLUMNS, within).fetchall():
        keys = manifest_type(kind, "duckdb")
        columns.setdefault(table, []).append(Column(name=name, keys=keys, nullable=nullable, comment=comment or ""))
    keys_of = {
        (table, kind): tuple(names)
        for table, kind, names in connection.exec_driver_sql(_DUCKDB_KEYS, within).fetchall()
    }
    return [
        DescribedTable(
            name=name,
            quoted=f"{described.quote(schema)}.{described.quote(name)}" if schema else described.quote(name),
            is_view=is_view,
            columns=tuple(columns.get(name, ())),
            primary_key=keys_of.get((name, "PRIMARY KEY"), ()),
            foreign_keys=frozenset(keys_of.get((name, "FOREIGN KEY"), ())),
            comment=comment or "",
        )
        for name, is_view, comment in tables
    ]


_DUCKDB_TABLES: Final = """
select table_name, false, comment from duckdb_tables() where schema_name = ? and not internal
union all select view_name, true, comment from duckdb_views() where schema_name = ? and not internal
order by 1
"""
_DUCKDB_COLUMNS: Final = """
select table_name, column_name, data_type, is_nullable, comment from duckdb_columns()
where schema_name = ? and not internal order by table_name, column_index
"""
_DUCKDB_KEYS: Final = """
select table_name, constraint_type, constraint_column_names from duckdb_constraints()
where schema_name = ? and constraint_type in ('PRIMARY KEY', 'FOREIGN KEY')
"""


def _comment(inspector: Any, name: str, schema: str | None) -> str:
    try:
        return str(inspector.get_table_comment(name, schema).get("text") or "")
    except Exception:  # noqa: BLE001  not every database has comments
        return ""


def _column_type(kind: Any, dialect: Dialect) -> Keys | None:
    choices = getattr(kind, "enums", None)
    if choices:
        return {"type": "string", "enum": [*choices]}
    timezone = getattr(kind, "timezone", False) and "timestamp" in str(kind).lower()
    try:
        return manifest_type("timestamptz" if timezone else str(kind), dialect)
    except Exception:  # noqa: BLE001  a type of a dialect may have no text
        return None


Described = Sequence[tuple[str, str]]
"""The name and the type of each column."""


def _describe_postgresql(described: DescribedDatabase, connection: Connection, statement: Statement) -> Described:  # noqa: ARG001  as for all dialects
    raw: Any = connection.connection.dbapi_connection
    numbers: dict[str, int] = {}
    text = ""
    for part in statement.parts:
        if isinstance(part, Identifier):
            return ()
        if isinstance(part, Value):
            number = numbers.setdefault(part.name, len(numbers) + 1)
            mark = f"${number}"
            text += f"{part.operator} ({mark})" if part.operator and not part.is_parenthesized else mark
        else:
            text += part
    raw.pgconn.prepare(b"", text.encode())
    result = raw.pgconn.describe_prepared(b"")
    registry = raw.adapters.types
    found = []
    for index in range(result.nfields):
        kind, oid = registry.get(result.ftype(index)), result.ftype(index)
        name = f"{kind.name}[]" if kind and kind.array_oid == oid and kind.oid != oid else kind.name if kind else ""
        found.append((result.fname(index).decode(), name))
    return found


def _nulls(statement: Statement) -> dict[str, Any]:
    return dict.fromkeys((part.name for part in statement.values), None)


def _describe_duckdb(described: DescribedDatabase, connection: Connection, statement: Statement) -> Described:
    if statement.identifiers:
        return ()
    text, values = render(
        Statement(("describe ", *statement.parts), statement.keywords),
        _nulls(statement),
        dialect="duckdb",
        style="qmark",
        quote=described.quote,
    )
    return [(row[0], str(row[1])) for row in connection.exec_driver_sql(text, values).fetchall()]


def _describe_sqlite(described: DescribedDatabase, connection: Connection, statement: Statement) -> Described:
    """Create a view of the query in a copy of the schema in memory: it has the declared types of plain columns."""
    if statement.identifiers:
        return ()
    scripts = connection.exec_driver_sql(
        "select sql from sqlite_master where sql is not null order by rowid"
    ).fetchall()
    parts = tuple(part if isinstance(part, str) else _sqlite_null(part) for part in statement.parts)
    copy = sqlite3.connect(":memory:")
    try:
        for (script,) in scripts:
            if not script.lower().startswith("create virtual"):
                copy.execute(script)
        view = Statement(("create temp view described as ", *parts), statement.keywords)
        text, values = render(view, {}, dialect="sqlite", style="qmark", quote=described.quote)
        copy.execute(text, values)
        return [(row[1], row[2]) for row in copy.execute("pragma table_info(described)").fetchall()]
    finally:
        copy.close()


def _sqlite_null(part: Value | Identifier) -> str:
    is_list = isinstance(part, Value) and part.operator and not part.is_parenthesized
    return f"{part.operator} (null)" if is_list and isinstance(part, Value) else "null"


def _not_described(*_: object) -> Described:
    return ()


_DESCRIBERS: Final[Mapping[Dialect, Any]] = {
    "sqlite": _describe_sqlite,
    "postgresql": _describe_postgresql,
    "mysql": _not_described,
    "duckdb": _describe_duckdb,
}
