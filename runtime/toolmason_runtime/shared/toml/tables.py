"""Declare TOML tables as frozen dataclasses.

    class Rule(Table):
        pattern: str = key(at_most(80), default="")

Types, defaults and the rules in `field.metadata` define the language; `reader` reads it.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, field
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from toolmason_runtime.shared.toml.positions import KeyPath

Field = dataclasses.Field[Any]

JsonValue = Any
"""The type of a key that takes any value JSON can represent: example arguments, defaults, raw JSON Schema."""


class Idiom(NamedTuple):
    """The hint for an unknown key that authors often write, and the key that it means, if there is one."""

    hint: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A TOML table. `at` is its key path."""

    idioms: ClassVar[Mapping[str, Idiom]] = types.MappingProxyType({})
    """Idioms by the unknown key."""
    at: KeyPath = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialTable(Table):
    """A table that keeps its valid keys if another one is invalid.

    `unread` has the invalid, missing and misspelt keys; those that are required have an empty value.
    """

    unread: frozenset[str] = frozenset()

    def is_uncertain(self, *keys: str) -> bool:
        """Return whether one of `keys` is unread, or may be the key that an unknown one means."""
        if not self.unread:
            return False
        return not self.unread.isdisjoint(keys) or not self.unread <= self._known_keys()

    def _known_keys(self) -> AbstractSet[str]:
        return {each.name for each in dataclasses.fields(self)}


_Own = TypeVar("_Own", bound=Table)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensibleTable(PartialTable):
    """A table that has the keys of further dataclasses as well, which the reader gets as `extensions`."""

    extended_after: ClassVar[str] = ""
    """The key before those of the extensions in lists of all keys."""
    extensions: Mapping[type[Table], Table] = field(default_factory=dict)
    """The tables of the extensions that have keys here."""
    extension_keys: frozenset[str] = frozenset()
    """Keys of all extensions, if this table has unread keys."""

    def _known_keys(self) -> AbstractSet[str]:
        return {each.name for each in dataclasses.fields(self)} | self.extension_keys

    def own(self, extension: type[_Own]) -> _Own:
        """Return the keys of an extension. Those that are absent or invalid have their defaults."""
        table: Any = self.extensions.get(extension)
        own: _Own = extension() if table is None else table
        return own


def key(*rules: dict[str, Any], default: Any = MISSING, name: str = "", text: str = "") -> Any:
    """Declare one key with its rules.

    `name` is its spelling in TOML if that differs from the field. `text` is the documentation of a field that is
    computed, and so has no docstring.
    """
    metadata: dict[str, Any] = {"toml": name} if name else {}
    metadata |= {"text": text} if text else {}
    for rule in rules:
        metadata |= rule
    if default is MISSING:
        return field(metadata=metadata)
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


def at_most(length: int) -> dict[str, Any]:
    """Limit a text to `length` characters."""
    return {"max_length": length}


def matching(pattern: str, words: str) -> dict[str, Any]:
    """Require a text to match the whole of `pattern`; `words` describes it for people."""
    return {"pattern": pattern, "words": words}


def one_line(hint: str = "keep to one line") -> dict[str, Any]:
    """Reject line breaks and control characters; `hint` is for line breaks."""
    return {"one_line": hint}


def not_empty(hint: str = "") -> dict[str, Any]:
    """Reject an empty array."""
    return {"not_empty": hint}


def converted(source: Any, convert: Callable[[Any], Any]) -> dict[str, Any]:
    """Read a value as type `source` and convert it. The message of a `ValueError` continues "`key` in [table] "."""
    return {"source": source, "convert": convert}


def advised(advice: Callable[[Any], str]) -> dict[str, Any]:
    """Take the hint for a value of a wrong type from `advice`, unless that returns the empty string."""
    return {"advice": advice}


def key_of(field: dataclasses.Field[Any]) -> str:
    """Return the spelling of a field in TOML."""
    return str(field.metadata.get("toml", field.name))


def keys_of(table: type[Table]) -> Mapping[str, dataclasses.Field[Any]]:
    """Return the fields that are keys, by their spelling in TOML."""
    # Stored, because `validate` needs those of the same classes for each tool.
    if (keys := _KEYS.get(table)) is None:
        keys = {key_of(each): each for each in dataclasses.fields(table) if each.name not in _NOT_KEYS}
        _KEYS[table] = keys
    return keys


_KEYS: Final[dict[type[Table], Mapping[str, dataclasses.Field[Any]]]] = {}


_NOT_KEYS: Final = frozenset({"at", "unread", "extensions", "extension_keys"})


def all_keys_of(table: type[Table], extensions: Iterable[type[Table]]) -> dict[str, tuple[type[Table], Field]]:
    """Return the keys of a table and of its extensions, in order: the class that declares each, and its field."""
    keys = {name: (table, each) for name, each in keys_of(table).items()}
    added = {name: (other, each) for other in extensions for name, each in keys_of(other).items()}
    names = list(keys)
    place = names.index(table.extended_after) + 1 if issubclass(table, ExtensibleTable) and added else 0
    before = {name: keys[name] for name in names[:place]}
    return {**before, **added, **keys}


def is_required(field: dataclasses.Field[Any]) -> bool:
    """Return whether a field has no default."""
    return field.default is MISSING and field.default_factory is MISSING
