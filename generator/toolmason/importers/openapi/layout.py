"""The text of an imported manifest, with one line for each parameter and field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolmason.importers.inline_toml import inline_key, inline_value
from toolmason.importers.manifest_writer import toml_text

_TABLES: Final = ("apis", "types", "tools")
_LINES: Final = ("params", "fields")


def manifest_text(data: Mapping[str, Any], *comments: str) -> str:
    """Return a manifest as TOML, after comment lines."""
    head = {key: value for key, value in data.items() if key not in _TABLES}
    lines = (
        line
        for kind in _TABLES
        for name, table in data.get(kind, {}).items()
        for line in table_lines(f"{kind}.{inline_key(name)}", table)
    )
    return toml_text(head, *comments) + "".join(f"{line}\n" for line in lines)


def table_lines(header: str, table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table after a blank line: `params.owner = { ... }` for each parameter."""
    yield ""
    yield f"[{header}]"
    for key, value in table.items():
        if key in _LINES and value:
            yield from (f"{key}.{inline_key(name)} = {inline_value(inner)}" for name, inner in value.items())
        elif key == "input_schema":
            yield from _schema_lines(value)
        elif key == "description" and "\n" in value:
            yield f"{key} = {_multiline(value)}"
        else:
            yield f"{key} = {inline_value(value)}"


def _schema_lines(schema: Mapping[str, Any]) -> Iterator[str]:
    for key, value in schema.items():
        name = f"input_schema.{inline_key(key)}"
        if key in ("properties", "$defs") and value:
            yield from (f"{name}.{inline_key(inner)} = {inline_value(part)}" for inner, part in value.items())
        else:
            yield f"{name} = {inline_value(value)}"


def _multiline(text: str) -> str:
    escaped = inline_value(text)[1:-1].replace("\\n", "\n").replace('\\"', '"')
    # Only a backslash before `n` is an escaped line feed: an escaped backslash is doubled.
    if "\\" in text or '"""' in text or text.endswith('"'):
        return str(inline_value(text))
    return f'"""\n{escaped}"""'
