"""Tools and requests from directories with `tools.jsonl` and `queries.jsonl`.

A line of the first has `name`, `description` and `parameters`, and optionally `id` and `category`; one of the second
has `query`, and `relevant`, the ids of the tools that it needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

GARDEN: Final = Path(__file__).parent / "garden"
"""The set of this repository: 30 tools and 24 requests."""
FILES: Final = ("tools.jsonl", "queries.jsonl")
_TYPES: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
}
"""Names of Python types in data sets, and those of JSON Schema."""


class DataError(Exception):
    """A directory or a line that cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as all contestants serve it."""

    name: str
    description: str
    category: str
    parameters: dict[str, Any]

    @property
    def definition(self) -> dict[str, Any]:
        """Its entry in `tools/list`."""
        return {"name": self.name, "description": self.description, "inputSchema": self.parameters}


@dataclass(frozen=True, slots=True)
class Task:
    """A request, and the names of the tools that it needs."""

    request: str
    tools: frozenset[str]


@dataclass(frozen=True, slots=True)
class TaskSet:
    """A catalogue and its tasks."""

    name: str
    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...]


def load_sets(directory: Path, limit: int) -> tuple[TaskSet, ...]:
    """Load the set in `directory`, or those in its subdirectories, with at most `limit` tasks each, evenly spread.

    Raises:
        DataError: there is no set, or a file is invalid.
    """
    found = [path.parent for path in sorted(directory.glob(f"**/{FILES[0]}")) if (path.parent / FILES[1]).is_file()]
    if not found:
        raise DataError(f"{directory}: no directory with {' and '.join(FILES)}")
    return tuple(_load(path, limit) for path in found)


def _load(directory: Path, limit: int) -> TaskSet:
    names: dict[str, str] = {}
    tools: dict[str, Tool] = {}
    for place, row in _rows(directory / FILES[0], "name", "description"):
        name = str(row["name"])
        if name in tools:
            raise DataError(f"{place}: a second tool `{name}`")
        tools[name] = Tool(name, row["description"], row.get("category") or "all", _schema(row.get("parameters")))
        names[str(row.get("id", name))] = name
    tasks = []
    for place, row in _rows(directory / FILES[1], "query", "relevant"):
        if unknown := [tool for tool in row["relevant"] if tool not in names]:
            raise DataError(f"{place}: unknown tool `{unknown[0]}`")
        if not row["relevant"]:
            raise DataError(f"{place}: `relevant` is empty")
        tasks.append(Task(row["query"], frozenset(names[tool] for tool in row["relevant"])))
    if not tasks:
        raise DataError(f"{directory / FILES[1]}: no tasks")
    step = max(1.0, len(tasks) / limit)
    chosen = tuple(tasks[int(number * step)] for number in range(min(limit, len(tasks))))
    return TaskSet(directory.name, tuple(tools.values()), chosen)


def _rows(path: Path, *keys: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the object of each line, which must have `keys`."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        place = f"{path}:{number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(f"{place}: {error}") from error
        if not isinstance(row, dict) or any(key not in row for key in keys):
            raise DataError(f"{place}: an object with {' and '.join(f'`{key}`' for key in keys)} is needed")
        yield place, row


def _schema(parameters: Any) -> dict[str, Any]:
    schema = _with_json_types(parameters) if parameters else {}
    return {"type": "object", "properties": {}} | schema


def _with_json_types(schema: Any) -> Any:
    """Return a schema with types of JSON Schema; an unknown one is left out."""
    if isinstance(schema, list):
        return [_with_json_types(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {key: _with_json_types(value) for key, value in schema.items()}
    if isinstance(kind := schema.get("type"), str):
        if kind == "any":
            del converted["type"]
        else:
            converted["type"] = _TYPES.get(kind, kind)
    return converted
