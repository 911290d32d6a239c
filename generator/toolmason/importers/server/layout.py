"""The text of an imported manifest, with one line for each argument of a tool."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from toolmason.importers.manifest_writer import toml_text


def manifest_text(data: Mapping[str, Any], comment: str) -> str:
    r"""Return a manifest as TOML. No text contains `\r`, and no value is None."""
    tools = (line for name, table in data["tools"].items() for line in _tool_lines(name, table))
    head = {key: value for key, value in data.items() if key != "tools"}
    return toml_text(head, comment, multiline=True) + "".join(f"{line}\n" for line in tools)


def _tool_lines(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"[tools.{toml_key(name)}]"
    schema = table["input_schema"]
    yield from (f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items() if value is not schema)
    if isinstance(schema, str):
        yield f"input_schema = {toml_value(schema)}"
        return
    yield ""
    yield f"[tools.{toml_key(name)}.input_schema]"
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict) and value:
            yield from (f"properties.{toml_key(argument)} = {toml_value(inner)}" for argument, inner in value.items())
        else:
            yield f"{toml_key(key)} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """Return a JSON value as TOML on one line."""
    if isinstance(value, dict):
        items = ", ".join(f"{toml_key(key)} = {toml_value(inner)}" for key, inner in value.items())
        return f"{{ {items} }}" if items else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml_value, value))}]"
    # JSON escapes the same characters as TOML, except DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """Return a key as TOML, quoted if necessary."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)
