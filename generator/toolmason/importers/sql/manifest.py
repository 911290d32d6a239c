"""The manifest of a database."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, Final

from toolmason_runtime.shared.specs.database import Dialect
from toolmason_runtime.shared.toml.positions import Position, dotted
from toolmason_runtime.toolkit import url_secrets

from toolmason.importers.inline_toml import inline_key, inline_value
from toolmason.importers.manifest_writer import remove_invalid, toml_text
from toolmason.importers.names import server_package, snake
from toolmason.importers.notes import ImporterError, Notes
from toolmason.importers.sql.describe import DescribedDatabase, open_database
from toolmason.importers.sql.queries import read_queries
from toolmason.importers.sql.tools import SqlTools
from toolmason.resolve import RESERVED_MODULES
from toolmason.scaffold import MAX_NAME_LENGTH

_INLINE: Final = ("params", "fields")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlImportOptions:
    """The options of `toolmason import sql`. Empty values are derived from the URL."""

    name: str = ""
    url_env: str = ""
    schema: str = ""
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    queries: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedDatabase:
    """A manifest as TOML, and the number of its tools."""

    text: str
    tools: int
    dialect: Dialect


def import_sql(url: str, notes: Notes, *, options: SqlImportOptions) -> ImportedDatabase:
    """Return the manifest for a database. Parts that it cannot express become notes.

    Raises:
        ImporterError: the database cannot be read, or no tool can be imported.
    """
    name = snake(options.name or _database_name(url), "database")[:MAX_NAME_LENGTH].strip("_")
    queries = read_queries(options.queries, notes) if options.queries else []
    with open_database(url, options.schema, notes) as described:
        tools = SqlTools(name.replace("_", "-"), name, described)
        for table in described.tables:
            if _is_selected(table.name, options):
                tools.add_table(table)
        for query in queries:
            tools.add_query(query)
        data = _tables(url, name, described, tools, options)
    for part, message in remove_invalid(data):
        notes.add("database", Position(0, 0), dotted(part), f"left out, since it is invalid in a manifest: {message}")
    if not data["tools"]:
        raise ImporterError("the database has no table, view or query that can be imported")
    used = {str(tool.get("returns", "")).removesuffix("[]") for tool in data["tools"].values()}
    data["types"] = {key: value for key, value in data["types"].items() if key in used}
    text = _manifest_text(data, f"Imported from the {described.dialect} database {name}. Review each tool.")
    return ImportedDatabase(text=text, tools=len(data["tools"]), dialect=described.dialect)


def _is_selected(name: str, options: SqlImportOptions) -> bool:
    is_included = not options.include or any(fnmatchcase(name, pattern) for pattern in options.include)
    return is_included and not any(fnmatchcase(name, pattern) for pattern in options.exclude)


def _database_name(url: str) -> str:
    path = url.partition("://")[2].partition("?")[0].rstrip("/")
    stem = PurePosixPath(path.rpartition("/")[2]).stem if "/" in path else ""
    return stem if re.search(r"[A-Za-z]", stem) else "database"


def _tables(
    url: str, name: str, described: DescribedDatabase, tools: SqlTools, options: SqlImportOptions
) -> dict[str, Any]:
    category = f"{name}_tools" if name in RESERVED_MODULES else name
    is_file = described.dialect in ("sqlite", "duckdb") and not url_secrets(url)
    variable = options.url_env or ("" if is_file else f"{name.upper()}_URL")
    address: dict[str, Any] = {"url_env": variable, "dialect": described.dialect} if variable else {"url": url}
    return {
        "edition": 1,
        "server": {"name": name.replace("_", "-"), "package": server_package(name, "database")},
        "categories": {category: {"summary": f"Rows of the database {name}"}},
        "databases": {name: {**address, "category": category}},
        "types": tools.types,
        "tools": tools.tables,
    }


def _manifest_text(data: Mapping[str, Any], *comments: str) -> str:
    head = {key: value for key, value in data.items() if key not in ("types", "tools")}
    lines = (
        line for kind in ("types", "tools") for name, table in data[kind].items() for line in _lines(kind, name, table)
    )
    return toml_text(head, *comments) + "".join(f"{line}\n" for line in lines)


def _lines(kind: str, name: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table: a line for each parameter and field, and statements over several lines."""
    yield ""
    yield f"[{kind}.{inline_key(name)}]"
    for key, value in table.items():
        if key in _INLINE:
            yield from (f"{key}.{inline_key(inner)} = {inline_value(keys)}" for inner, keys in value.items())
        elif isinstance(value, str) and "\n" in value and "'''" not in value and "\r" not in value:
            yield f"{key} = '''\n{value}\n'''"
        else:
            yield f"{key} = {inline_value(value)}"
