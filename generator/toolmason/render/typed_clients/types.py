"""The types of a typed client, independent of the language."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["string", "integer", "number", "boolean", "null", "any"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A type without parts."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few values: texts, integers, booleans."""

    values: tuple[str | int | bool, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """An array."""

    item: Type


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with any keys."""

    value: Type


@dataclass(frozen=True, slots=True)
class Union:
    """One of several types."""

    members: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A reference to a declared type."""

    name: str


Type = Scalar | Choice | ListOf | MapOf | Union | Named

ANY = Scalar("any")
NULL = Scalar("null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of an object, or a parameter of a tool. `key` is its name on the wire."""

    key: str
    type: Type
    required: bool
    description: str = ""
    default: Any = None
    has_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectType:
    """A declared object. `is_open` if its schema says that other keys are allowed."""

    name: str
    description: str
    fields: tuple[Field, ...]
    is_open: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasType:
    """A declared name of a type that contains itself and is no object, such as any JSON value."""

    name: str
    description: str
    type: Type


Declared = ObjectType | AliasType


def union(members: list[Type]) -> Type:
    """Return the union of types, flat and without duplicates; one type alone is itself, and any type absorbs others."""
    flat: dict[Type, None] = {}
    for member in members:
        for part in member.members if isinstance(member, Union) else (member,):
            flat[part] = None
    if ANY in flat or not flat:
        return ANY
    choices = [part for part in flat if isinstance(part, Choice)]
    if len(choices) > 1:
        # `True == 1` in Python, so that the type is part of the comparison.
        values = {(type(value), value): value for choice in choices for value in choice.values}
        others = [part for part in flat if not isinstance(part, Choice)]
        flat = dict.fromkeys([Choice(tuple(values.values())), *others])
    # null is last, as people write it.
    ordered = [part for part in flat if part != NULL] + [part for part in flat if part == NULL]
    return ordered[0] if len(ordered) == 1 else Union(tuple(ordered))
