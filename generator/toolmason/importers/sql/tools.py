"""The tools of tables, views and saved queries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from toolmason_runtime.shared.specs.statement import ORDERS, Statement, StatementError, Value, split_statement
from toolmason_runtime.shared.toml.positions import Position

from toolmason.importers.names import MAX_DESCRIPTION_LENGTH, ToolNames, cut, one_line, snake, summary_of, unique
from toolmason.importers.sql.describe import Column, DescribedDatabase, DescribedTable
from toolmason.importers.sql.queries import Query
from toolmason.model.identifiers import class_name

MAX_FILTERS: Final = 8
MAX_ROWS: Final = 100
DEFAULT_ROWS: Final = 20
_NO_CHOICES: Final = ORDERS | {""}
"""Names that cannot be a choice of `order_by`."""
_OWN: Final = ("order_by", "direction", "limit", "offset")


class SqlTools:
    """The tools and types of one database, by their names in the manifest."""

    def __init__(self, server: str, database: str, described: DescribedDatabase) -> None:
        self.tables: dict[str, dict[str, Any]] = {}
        self.types: dict[str, dict[str, Any]] = {}
        self._names = ToolNames(server)
        self._database = database
        self._described = described
        self._notes = described.notes

    def add_table(self, table: DescribedTable) -> None:
        """Add the tool that lists the rows of a table or view."""
        columns = table.columns
        unknown = [column.name for column in columns if column.keys is None]
        if unknown:
            message = f"no `returns`: the types of these columns are unknown or too general: {', '.join(unknown)}"
            self._described.note(table.name, message)
        name, _ = self._names.add(f"list_{snake(table.name, 'table')}", group=self._database)
        noun = "view" if table.is_view else "table"
        filters = self._filters(table, columns)
        sortable = [column.name for column in columns if _is_scalar(column) and column.name.lower() not in _NO_CHOICES]
        tool: dict[str, Any] = {
            "summary": summary_of(table.comment) or cut(f"List rows of the {noun} {one_line(table.name)}", 80),
            "description": _table_description(table, noun, filters),
            "database": self._database,
            "sql": self._table_statement(table, columns, filters, bool(sortable)),
            "params": {name: keys for name, (_, keys) in filters.items()} | _page_params(table, sortable),
        }
        if not unknown:
            tool["returns"] = f"{self._add_type(table.name, table.comment, columns)}[]"
        self.tables[name] = tool

    def _filters(self, table: DescribedTable, columns: Sequence[Column]) -> dict[str, tuple[Column, dict[str, Any]]]:
        """Return the columns that rows can be filtered by, keys first, with the keys of their parameters."""
        usable = [column for column in columns if _is_scalar(column)]
        usable.sort(key=lambda column: (column.name not in table.primary_key, column.name not in table.foreign_keys))
        filters: dict[str, tuple[Column, dict[str, Any]]] = {}
        for column in usable[:MAX_FILTERS]:
            name = unique(snake(column.name, "value"), {*filters, *_OWN})
            text = cut(one_line(column.comment), MAX_DESCRIPTION_LENGTH) or f"Value of the column {column.name}"
            filters[name] = (column, {**(column.keys or {}), "description": text, "required": False})
        return filters

    def _table_statement(
        self,
        table: DescribedTable,
        columns: Sequence[Column],
        filters: Mapping[str, tuple[Column, dict[str, Any]]],
        is_sorted: bool,
    ) -> str:
        quote = self._described.quote
        selected = [
            quote(column.name)
            if (field := _field_name(column.name)) == column.name
            else f"{quote(column.name)} as {field}"
            for column in columns
        ]
        lines = [f"select {', '.join(selected)}", f"from {table.quoted}"]
        conditions = [f"(:{name} is null or {quote(column.name)} = :{name})" for name, (column, _) in filters.items()]
        if conditions:
            lines.append("where " + "\n  and ".join(conditions))
        if is_sorted:
            lines.append("order by {order_by} {direction}")
        return "\n".join([*lines, "limit :limit offset :offset"])

    def _add_type(self, name: str, comment: str, columns: Sequence[Column]) -> str:
        type_name = unique(class_name(snake(name, "row")) + "Row", self.types)
        fields: dict[str, dict[str, Any]] = {}
        for column in columns:
            text = cut(one_line(column.comment), MAX_DESCRIPTION_LENGTH) or f"Column {column.name}"
            keys = {key: value for key, value in (column.keys or {}).items() if key != "format"}
            fields[_field_name(column.name)] = {
                **keys,
                "description": text,
                **({"nullable": True} if column.nullable else {}),
            }
        text = cut(one_line(comment), MAX_DESCRIPTION_LENGTH) or f"Row of {one_line(name)}"
        self.types[type_name] = {"description": text, "fields": fields}
        return type_name

    def add_query(self, query: Query) -> None:
        """Add the tool of a saved query; one that a manifest cannot have becomes a note."""
        try:
            statement = split_statement(query.sql, self._described.dialect)
        except StatementError as error:
            self._notes.add(query.path.as_posix(), Position(query.line, 1), query.name, f"left out: {error}")
            return
        if statement.identifiers:
            message = "left out: `{name}` is an identifier, whose choices are unknown"
            self._notes.add(query.path.as_posix(), Position(query.line, 1), query.name, message)
            return
        name, _ = self._names.add(snake(query.name, "query"), group=self._database)
        first = query.comment.partition("\n\n")[0]
        tool: dict[str, Any] = {
            "summary": summary_of(first) or cut(f"Run the query {name}", 80),
            "description": cut(query.comment, MAX_DESCRIPTION_LENGTH),
            "database": self._database,
            "sql": query.sql,
            "params": self._query_params(query, statement),
        }
        columns = self._described.query_columns(statement) if query.has_rows else ()
        if (
            columns
            and all(column.keys for column in columns)
            and len({column.name for column in columns}) == len(columns)
        ):
            tool["returns"] = self._add_type(name, "", columns) + ("" if query.is_one else "[]")
        elif query.has_rows:
            message = "no `returns`: the database does not tell the types of all columns"
            self._notes.add(query.path.as_posix(), Position(query.line, 1), name, message)
        self.tables[name] = {key: value for key, value in tool.items() if value}

    def _query_params(self, query: Query, statement: Statement) -> dict[str, dict[str, Any]]:
        params: dict[str, dict[str, Any]] = {}
        before = ""
        for part in statement.parts:
            if isinstance(part, str):
                before = part
                continue
            if isinstance(part, Value) and part.name not in params:
                params[part.name] = self._query_param(query, part, before)
        return params

    def _query_param(self, query: Query, value: Value, before: str) -> dict[str, Any]:
        text = f"Value of `{value.name}`"
        if value.clause == "limit":
            keys: dict[str, Any] = {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": DEFAULT_ROWS}
            return {**keys, "description": "Maximum number of rows"}
        if value.clause == "offset":
            return {"type": "integer", "minimum": 0, "default": 0, "description": "Number of rows to skip"}
        column = self._compared_column(before)
        is_list = bool(value.operator) and not value.is_parenthesized
        if column is None:
            message = f"the type of `{value.name}` is a guess: no column with one type is compared with it"
            self._notes.add(query.path.as_posix(), Position(query.line, 1), query.name, message)
            return {"type": "string[]" if is_list else "string", "description": text}
        keys = dict(column.keys or {})
        if is_list:
            keys = {"type": f"{keys['type']}[]"}
        return {**keys, "description": one_line(column.comment) or text}

    def _compared_column(self, before: str) -> Column | None:
        """Return the column at the end of a text such as `where b.title =`, if its type is the same in all tables."""
        match = _COMPARED.search(before)
        if match is None:
            return None
        name = match["name"].strip('"`[]').lower()
        found = [column for table in self._described.tables for column in table.columns if column.name.lower() == name]
        kinds = {str(column.keys) for column in found}
        return found[0] if len(kinds) == 1 and found[0].keys and _is_scalar(found[0]) else None


_COMPARED: Final = re.compile(
    r"(?P<name>(?<!\w)\w++|\"[^\"]++\"|`[^`]++`)\s*+(?:=|<>|!=|<=?|>=?|\b(?:i?like|between)\b)?\s*+\(?\s*+$",
    re.IGNORECASE,
)


def _field_name(column: str) -> str:
    """Return the name of a column in results: its own, unless providers reject it."""
    return column if re.fullmatch(r"[A-Za-z_]\w*", column, re.ASCII) else snake(column, "column")


def _is_scalar(column: Column) -> bool:
    keys = column.keys or {}
    return "[" not in keys.get("type", "[") and keys.get("format") != "byte"


def _table_description(table: DescribedTable, noun: str, filters: Iterable[str]) -> str:
    head = cut(table.comment.strip(), MAX_DESCRIPTION_LENGTH) or f"Rows of the {noun} `{one_line(table.name)}`"
    end = "" if head.endswith((".", "!", "?")) else "."
    key = ", ".join(f"`{name}`" for name in table.primary_key)
    rest = f" Its primary key is {key}." if key else ""
    rest += " Only rows with the given values are returned." if [*filters] else ""
    return f"{head}{end}{rest}"


def _page_params(table: DescribedTable, sortable: Sequence[str]) -> dict[str, dict[str, Any]]:
    params: dict[str, dict[str, Any]] = {}
    if sortable:
        order = next((name for name in table.primary_key if name in sortable), sortable[0])
        params["order_by"] = {
            "type": "string",
            "enum": [*sortable],
            "default": order,
            "description": "Column to sort by",
        }
        params["direction"] = {"type": "string", "enum": ["asc", "desc"], "default": "asc", "description": "Order"}
    limit = {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": DEFAULT_ROWS}
    params["limit"] = {**limit, "description": "Maximum number of rows"}
    params["offset"] = {"type": "integer", "minimum": 0, "default": 0, "description": "Number of rows to skip"}
    return params
