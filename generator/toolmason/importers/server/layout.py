"""The text of an imported manifest, with one line for each argument of a tool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from toolmason.importers.inline_toml import inline_key, inline_value
from toolmason.importers.manifest_writer import toml_text


def manifest_text(data: Mapping[str, Any], *lines: str, comments: Mapping[str, str] = MappingProxyType({})) -> str:
    r"""Return a manifest as TOML. No text contains `\r`, and no value is None.

    Args:
        data: the tables.
        lines: lines of the comment at the beginning.
        comments: comments on tools, by name.
    """
    tools = (line for name, table in data["tools"].items() for line in _tool_lines(name, table, comments.get(name, "")))
    head = {key: value for key, value in data.items() if key != "tools"}
    return toml_text(head, *lines, multiline=True) + "".join(f"{line}\n" for line in tools)


def _tool_lines(name: str, table: Mapping[str, Any], comment: str) -> Iterator[str]:
    yield ""
    if comment:
        yield f"# {comment}"
    yield f"[tools.{inline_key(name)}]"
    schema = table["input_schema"]
    for key, value in table.items():
        if key == "arguments":
            yield from (f"arguments.{inline_key(name)} = {inline_value(change)}" for name, change in value.items())
        elif value is not schema:
            yield f"{inline_key(key)} = {inline_value(value)}"
    if isinstance(schema, str):
        yield f"input_schema = {inline_value(schema)}"
        return
    yield ""
    yield f"[tools.{inline_key(name)}.input_schema]"
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict) and value:
            yield from (
                f"properties.{inline_key(argument)} = {inline_value(inner)}" for argument, inner in value.items()
            )
        else:
            yield f"{inline_key(key)} = {inline_value(value)}"
