"""The order of keys in a manifest: that of the fields of its tables, as in the reference.

Names that the author chose, such as those of tools and parameters, keep their order, which clients see.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.shared.toml.tables import Table, all_keys_of

from toolmason.manifest.tables import ManifestTables
from toolmason.manifest.validate import extensions

Rank = tuple[tuple[int, int], ...]
"""A sort key of a key path."""
FREE: Final = object()
"""The type of a value whose keys have the author's order."""


def has_manifest_keys(data: Mapping[str, Any]) -> bool:
    """Return whether a TOML file has a table or key of a manifest."""
    return not _keys(ManifestTables).keys().isdisjoint(data)


@dataclass(slots=True)
class KeyOrder:
    """Sort keys for key paths of one document. `root` is the type of the document: `ManifestTables` or `FREE`."""

    root: Any
    moves_tables: bool = True
    first: dict[KeyPath, int] = field(default_factory=dict)
    """The number of the first occurrence of each path and of its parents."""

    def add(self, path: KeyPath) -> None:
        """Note the next key path of the document."""
        for length in range(1, len(path) + 1):
            self.first.setdefault(path[:length], len(self.first))

    def rank(self, path: KeyPath) -> Rank:
        """Return the sort key of a path: declared keys first, then the author's order; equal ones without a type."""
        if self.root is FREE:
            return ()
        hint = self.root
        ranks = []
        for index, part in enumerate(path):
            keys = list(_keys(hint)) if is_table(hint) else []
            if part in keys:
                ranks.append((keys.index(str(part)), 0))
            else:
                ranks.append((len(keys), self.first.get(path[: index + 1], 0)))
            hint = inner(hint, part)
        return tuple(ranks)

    def named_table(self, path: KeyPath) -> KeyPath:
        """Return the path of the table of a tool, type and so on that contains the table at `path`, or is it."""
        return path[: 2 if get_origin(self.hint(path[:1])) is Mapping else 1]

    def hint(self, path: KeyPath) -> Any:
        """Return the type of the value at a path."""
        hint = self.root
        for part in path:
            hint = inner(hint, part)
        return hint


def is_table(hint: Any) -> bool:
    """Return whether a type is a table with declared keys."""
    return isinstance(hint, type) and issubclass(hint, Table)


def inner(hint: Any, part: str | int) -> Any:
    """Return the type of the value at a key or index of a value of the type `hint`."""
    if is_table(hint):
        return _keys(hint).get(str(part), FREE)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Mapping:
        return _without_none(arguments[1])
    if origin is tuple and isinstance(part, int):
        return _without_none(arguments[0])
    return FREE


@cache
def _keys(table: type[Table]) -> dict[str, Any]:
    """Return the types of the keys of a table, in order."""
    keys = all_keys_of(table, extensions().get(table, ()))
    hints: dict[type[Table], dict[str, Any]] = {owner: get_type_hints(owner) for owner, _ in keys.values()}
    return {name: _without_none(hints[owner][each.name]) for name, (owner, each) in keys.items()}


def _without_none(hint: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        return next(each for each in get_args(hint) if each is not types.NoneType)
    return hint


def differs(old: Any, new: Any, hint: Any = FREE) -> bool:
    """Return whether two parsed documents differ in a value, a type, or an order that the author chose."""
    if type(old) is not type(new):
        return True
    if isinstance(old, dict):
        same = old.keys() == new.keys() if is_table(hint) else list(old) == list(new)
        return not same or any(differs(old[key], new[key], inner(hint, key)) for key in old)
    if isinstance(old, list):
        return len(old) != len(new) or any(_pairs_differ(old, new, hint))
    return repr(old) != repr(new)  # NaN equals itself, and -0.0 is not 0.0


def _pairs_differ(old: list[Any], new: list[Any], hint: Any) -> Iterable[bool]:
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        yield differs(before, after, inner(hint, index))
