"""Tools that run a statement in a database of `[databases]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from toolmason_runtime.shared.toml.reader import TableCheck, TableContext
from toolmason_runtime.shared.toml.tables import Table

from toolmason.kinds.kind import Kind, KindTool, Section
from toolmason.kinds.sql.tables import DatabaseTable, SqlKeys, SqlTables
from toolmason.manifest.tables import ToolTable

if TYPE_CHECKING:
    from toolmason.kinds.sql.implementation import SqlDatabase, SqlImplementation
    from toolmason.resolve.context import ResolveContext


class SqlKind(Kind):
    """Tools whose calls are statements."""

    name = "sql"
    key = "sql"
    tool_keys = SqlKeys
    hint = "`sql` with a statement"
    section = Section(
        name="databases",
        key="database",
        noun="database",
        suffix="DATABASE",
        defaults=("tier", "tags"),
        derived=frozenset({"hints"}),
    )
    decisive_keys = ("sql", "database")
    manifest_keys = SqlTables
    foreign_keys = {
        "hints": "remove them: they follow from the statement, or from `risk`",
        "ok_exit_codes": "remove it: an error of the database is an error of the tool",
        "output": "remove it: with `returns`, rows are objects",
        "input_schema": "write `params`: each is a parameter of the statement",
        "verbatim_schema": "write `params`: each is a parameter of the statement",
    }
    key_hints = {"database": "only tools with `sql` run a statement"}
    has_list_results = True
    input_keys = ("schema",)
    takes_schema = False

    @property
    def checks(self) -> Mapping[type[Table], TableCheck]:
        """Checks of databases."""
        return {DatabaseTable: _check_database_table}

    def check_tool(self, context: TableContext) -> None:
        """Report invalid keys."""
        from toolmason.kinds.sql.checks import check_sql_tool

        check_sql_tool(context)

    def has_pages(self, table: ToolTable) -> bool:  # noqa: ARG002  the interface
        """Return true: rows are limited."""
        return True

    def prepare(self, context: ResolveContext) -> None:
        """Resolve the databases."""
        from toolmason.kinds.sql.resolve import resolve_databases

        context.kinds[self.name] = resolve_databases(context)

    def resolve(self, context: ResolveContext, tool: KindTool) -> SqlImplementation | None:
        """Return the statement of a tool."""
        from toolmason.kinds.sql.resolve import sql_statement

        return sql_statement(context, tool)

    def groups(self, context: ResolveContext) -> tuple[SqlDatabase, ...]:
        """Return the databases of tools."""
        from toolmason.kinds.sql.resolve import sql_databases

        return sql_databases(context)


def _check_database_table(context: TableContext) -> None:
    # Imported here, as in the methods: most manifests have no database.
    from toolmason.kinds.sql.checks import check_database_table

    check_database_table(context)


KIND = SqlKind()
