"""The names of tools and parameters that a manifest uses in other places than their own tables.

Each key declares with `rules.tool_name` and its like that its values are such names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.tables import ExtensibleTable, Table, key_of

from toolmason.manifest.rules import NAMES
from toolmason.manifest.tables import DeprecatedTable


@dataclass(frozen=True, slots=True)
class Reference:
    """The use of a name.

    `noun` describes the object in errors. `part` is where the name is: the whole `value` at the key path, the `key`
    itself, or a place in the `text` that matches the group `name` of `placeholder`.
    """

    at: KeyPath
    name: str
    names: Literal["tool", "param"]
    part: Literal["value", "key", "text"] = "value"
    noun: str = "tool"
    placeholder: str = ""


def references(table: Table) -> Iterator[Reference]:
    """Yield the names that a table and the tables below it use, `ManifestTables` for a whole manifest."""
    kind: Any = type(table)
    for name, key, names in _fields(kind):
        value = getattr(table, name)
        if names:
            yield from _declared(table, (*table.at, key), value, *names)
        if value is not None and not isinstance(value, (str, int, float)):
            yield from _below(value)
    if isinstance(table, ExtensibleTable):
        for extension in table.extensions.values():
            yield from references(extension)


@cache
def _fields(kind: Any) -> tuple[tuple[str, str, tuple[str, str] | None], ...]:
    """Return the name, the key and the declared names of each field of a kind of table."""
    return tuple(
        (field.name, key_of(field), field.metadata.get(NAMES)) for field in fields(kind) if field.name != "extensions"
    )


def _below(value: Any) -> Iterator[Reference]:
    if isinstance(value, Table):
        yield from references(value)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _below(item)
    elif isinstance(value, tuple):
        for item in value:
            yield from _below(item)


def _declared(table: Table, at: KeyPath, value: Any, names: str, detail: str) -> Iterator[Reference]:
    if names == "param":
        yield from _params(at, value, detail)
        return
    if isinstance(value, Mapping):
        for name in value:
            yield Reference((*at, name), name, "tool", "key", detail)
        return
    is_param = names == "sibling" and isinstance(table, DeprecatedTable) and "params" in at[:-1]
    texts = {at: value} if isinstance(value, str) else {(*at, index): text for index, text in enumerate(value or ())}
    for place, text in texts.items():
        if text:
            yield Reference(place, text, "param" if is_param else "tool", noun="parameter" if is_param else detail)


def _params(at: KeyPath, value: Any, placeholder: str) -> Iterator[Reference]:
    if isinstance(value, str) and placeholder:
        names = (match["name"] for match in re.finditer(placeholder, value))
        for name in dict.fromkeys(filter(None, names)):
            yield Reference(at, name, "param", "text", "parameter", placeholder)
    elif isinstance(value, str) and value and at[-1] != "risk":
        yield Reference(at, value, "param", noun="parameter")
    elif isinstance(value, Mapping):
        for name in value:
            yield Reference((*at, name), name, "param", "key", "parameter")
