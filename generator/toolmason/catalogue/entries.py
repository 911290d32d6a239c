"""Entries of the catalogue from tables of the manifest."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, NotRequired, get_args, get_origin, get_type_hints

from toolmason_runtime.shared.toml.tables import Table

_SCALARS: Final = frozenset({bool, float, int, str})


def entry_of(declared: type, table: Table, **computed: Any) -> Any:
    """Return the entry with the keys that the TypedDict `declared` lists, in their order.

    The value of a key is that in `computed`, else that of the same key of `table`. A key that is not required is left
    out if its value is None, an empty text, array or table, false if it is computed, or the default of the table.
    """
    entry = {}
    kind: Any = type(table)  # mypy does not take the class of a table as hashable
    defaults = _defaults(kind)
    for key, (hint, is_required) in _keys(declared).items():
        value = computed[key] if key in computed else getattr(table, key, None)
        if not is_required:
            default = False if key in computed else defaults.get(key)
            if value == default or (not value and value in (None, "", (), [], {})):
                continue
        entry[key] = entry_of(hint, value) if isinstance(value, Table) else _plain(value)
    return entry


@cache
def _keys(declared: type) -> Mapping[str, tuple[Any, bool]]:
    """Return the type of each key, and whether it is required."""
    hints = get_type_hints(declared, include_extras=True)
    return {
        key: (get_args(hint)[0], False) if get_origin(hint) is NotRequired else (hint, True)
        for key, hint in hints.items()
    }


@cache
def _defaults(table: type[Table]) -> Mapping[str, Any]:
    """Return the default of each key that has one."""
    return {
        field.name: field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        for field in dataclasses.fields(table)
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: arrays are lists."""
    if type(value) in _SCALARS:  # Most are: this is the quickest test.
        return value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value
