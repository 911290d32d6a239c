"""Databases and the tools that run statements in them: parameters, risk, checks of the statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolmason_runtime.shared.specs.database import Database, SqlParam, SqlTool, dialect_of
from toolmason_runtime.shared.specs.program import Risk
from toolmason_runtime.shared.specs.statement import ORDERS, Statement, StatementError, split_statement

from toolmason.kinds.kind import KindTool
from toolmason.kinds.sql.implementation import SqlDatabase, SqlImplementation
from toolmason.kinds.sql.statement_checks import (
    SqlCheckError,
    SqliteSchema,
    changes_data,
    check_session,
    inferred_risk,
    parse_statement,
)
from toolmason.kinds.sql.tables import DatabaseTable, SqlKeys, SqlTables
from toolmason.manifest.checks import RISKS
from toolmason.manifest.input_files import read_input
from toolmason.model.from_table import copied
from toolmason.model.identifiers import group_constant_name
from toolmason.model.implementation import Hints
from toolmason.model.types import ArrayType, PrimitiveType, Property
from toolmason.resolve.context import ResolveContext
from toolmason.resolve.results import list_type


@dataclass(frozen=True, slots=True)
class ResolvedDatabase:
    """A database, and the tables of its schema; None without one."""

    database: Database
    schema: SqliteSchema | None


def resolve_databases(context: ResolveContext) -> dict[str, ResolvedDatabase]:
    """Resolve `[databases]`. Schemas that cannot be used are reported."""
    tables = context.tables.own(SqlTables).databases
    return {
        name: ResolvedDatabase(database, _schema(context, table))
        for name, table in tables.items()
        if (database := _database(name, table))
    }


def _database(name: str, table: DatabaseTable) -> Database | None:
    dialect = table.dialect or dialect_of(table.url)
    if not dialect:
        return None  # reported by its check
    return copied(Database, table, name=name, dialect=dialect, timeout_s=table.timeout)


def _schema(context: ResolveContext, table: DatabaseTable) -> SqliteSchema | None:
    if not table.schema:
        return None
    try:
        return SqliteSchema(read_input(context.root / table.schema, context.root).decode())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        message = f"cannot read `{table.schema}`: {str(reason).lower()}"
        context.error("TM366", message, (*table.at, "schema"))
    except SqlCheckError as error:
        context.error("TM366", f"`{table.schema}` is not a schema of SQLite: {error}", (*table.at, "schema"))
    return None


def sql_databases(context: ResolveContext) -> tuple[SqlDatabase, ...]:
    """Return the databases of tools, in the order of the manifest."""
    used = {tool.own(SqlKeys).database for tool in context.tables.tools.values()}
    resolved: Mapping[str, ResolvedDatabase] = context.kinds["sql"]
    return tuple(
        SqlDatabase(
            name=name,
            table=table,
            variables=(table.url_env,) if table.url_env else (),
            dialect=resolved[name].database.dialect,
        )
        for name, table in context.tables.own(SqlTables).databases.items()
        if name in used and name in resolved
    )


def sql_statement(context: ResolveContext, tool: KindTool) -> SqlImplementation | None:
    """Return the statement of a tool, or None with its errors reported."""
    table, own = tool.table, tool.table.own(SqlKeys)
    resolved: ResolvedDatabase | None = context.kinds["sql"].get(own.database)
    if resolved is None:
        if not context.is_known("databases", own.database):
            known = context.tables.own(SqlTables).databases
            context.report_unknown("TM362", "database", own.database, known, (*table.at, "database"))
        return None
    database = resolved.database
    try:
        statement = split_statement(own.sql, database.dialect)
    except StatementError as error:
        context.error("TM364", f"invalid statement: {error}", (*table.at, "sql"))
        return None
    problems = list(_param_problems(statement, tool.params))
    for message, at, hint in problems:
        context.error("TM363", message, (*table.at, *at), hint=hint, value=at == ("sql",))
    if problems:
        return None
    try:
        tree = _checked_tree(statement, resolved, tool)
    except SqlCheckError as error:
        context.error("TM364", f"invalid statement: {error}", (*table.at, "sql"), hint=error.hint)
        return None
    risk = Risk(table.risk) if table.risk in RISKS else inferred_risk(statement, tree)
    if not _check_effect(context, tool, risk, database, is_change=changes_data(statement, tree)):
        return None
    spec = SqlTool(
        name=tool.name,
        database=database,
        sql=own.sql.strip(),
        params=tuple(_spec(statement, param) for param in tool.params),
        returns_list=list_type(table) is not None,
        max_rows=own.max_rows,
        timeout_s=table.timeout,
        risk=risk,
        confirm=table.confirm.strip(),
    )
    return SqlImplementation(
        hints=_hints(spec),
        group_name=own.database,
        tool=spec,
        database_constant=group_constant_name(own.database, "DATABASE"),
    )


def _checked_tree(statement: Statement, resolved: ResolvedDatabase, tool: KindTool) -> Any:
    """Return the syntax tree of a statement, None if it is not to be parsed. Raises SqlCheckError."""
    check_session(statement)
    lists = {param.name for param in tool.params if isinstance(param.type, ArrayType)}
    is_parsed = tool.table.own(SqlKeys).check_syntax
    tree = parse_statement(statement, resolved.database.dialect, lists) if is_parsed else None
    if resolved.schema:
        names = {part.name for part in statement.identifiers}
        choices = {param.name: _choices(param) for param in tool.params if param.name in names}
        resolved.schema.prepare(statement, choices, lists)
    return tree


Problem = tuple[str, tuple[str, ...], str]
"""A message, the keys below the tool, and a hint."""


def _param_problems(statement: Statement, params: tuple[Property, ...]) -> Iterator[Problem]:
    known = {param.name: param for param in params}
    used = [*(part.name for part in statement.values), *(part.name for part in statement.identifiers)]
    for name in dict.fromkeys(used):
        if name not in known:
            yield f"`sql` uses the unknown parameter `{name}`", ("sql",), f"add `params.{name}`"
    for name in known:
        if name not in used:
            yield f"`{name}` is not in the statement", ("params", name), f"write `:{name}` in `sql`, or remove it"
    for part in statement.identifiers:
        if part.name in known:
            yield from _identifier_problems(known[part.name])
    for value in statement.values:
        param = known.get(value.name)
        is_list = param is not None and isinstance(param.type, ArrayType)
        if param and value.is_parenthesized and is_list:
            yield f"`{value.name}` is an array in parentheses", ("sql",), f"write `{value.operator} :{value.name}`"
        elif param and value.operator and not value.is_parenthesized and not is_list:
            hint = f"write `{value.operator} (:{value.name})`, or give it an array type such as `string[]`"
            yield f"`{value.operator} :{value.name}` requires an array", ("sql",), hint


def _identifier_problems(param: Property) -> Iterator[Problem]:
    at = ("params", param.name)
    if param.type != PrimitiveType("string") or not _choices(param):
        hint = 'add `enum` with the names that it may have: `enum = ["title", "year"]`'
        yield f"`{param.name}` is an identifier without `enum`", at, hint
    elif param.nullable or not (param.required or param.has_default):
        yield f"`{param.name}` is an identifier, but optional", at, "add `default`, or remove `required = false`"
    elif not _is_order(param) and any(choice.lower() in ORDERS for choice in _choices(param)):
        yield f"`{param.name}` mixes `asc` or `desc` with names", at, "use a parameter of its own for the order"


def _is_order(param: Property) -> bool:
    return all(choice.lower() in ORDERS for choice in _choices(param))


def _choices(param: Property) -> tuple[str, ...]:
    return tuple(param.constraints.get("enum", ()))


def _check_effect(context: ResolveContext, tool: KindTool, risk: Risk, database: Database, *, is_change: bool) -> bool:
    """Return whether the effect of a statement agrees with its risk and its database; report it if not."""
    at = (*tool.table.at, "risk") if tool.table.risk else (*tool.table.at, "sql")
    if risk is Risk.READ and is_change:
        message = f"the risk of `{tool.name}` is `read`, but its statement changes data"
        context.error("TM365", message, at, hint="write `write` or `destructive`, or remove `risk`")
        return False
    if risk is not Risk.READ and database.read_only:
        message = f"`{tool.name}` changes data, but the database `{database.name}` is read-only"
        context.error("TM365", message, at, hint=f"add `read_only = false` to [databases.{database.name}]")
        return False
    return True


def _spec(statement: Statement, param: Property) -> SqlParam:
    is_identifier = any(part.name == param.name for part in statement.identifiers)
    return SqlParam(
        name=param.name,
        choices=_choices(param) if is_identifier else (),
        default=param.default if param.has_default else None,
        format="byte" if param.constraints.get("format") == "byte" else "",
    )


def _hints(tool: SqlTool) -> Hints:
    return Hints(
        read_only=tool.is_read,
        destructive=tool.risk is Risk.DESTRUCTIVE,
        idempotent=tool.is_read,
        open_world=False,
    )
