"""Types of the model: names, type references, properties and objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NewType

from toolmason_runtime.shared.toml.positions import KeyPath

Identifier = NewType("Identifier", str)
"""A valid Python identifier that is not a keyword; created in `identifiers`."""


ClassName = NewType("ClassName", str)
"""An identifier in PascalCase; created in `identifiers`."""


JsonSchema = dict[str, Any]
"""A JSON Schema object, in wire order."""


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """A type of JSON Schema without parameters."""

    kind: Literal["string", "integer", "number", "boolean", "object"]


@dataclass(frozen=True, slots=True)
class NamedType:
    """A reference to `[types.NAME]`."""

    name: ClassName


@dataclass(frozen=True, slots=True)
class ArrayType:
    """`T[]`."""

    item: TypeRef


@dataclass(frozen=True, slots=True)
class MapType:
    """`map<T>`: any keys, values of one type."""

    value: TypeRef


TypeRef = PrimitiveType | NamedType | ArrayType | MapType


@dataclass(frozen=True, slots=True, kw_only=True)
class Property:
    """A parameter or field. `default` is valid only with `has_default`."""

    name: str
    type: TypeRef
    description: str = ""
    required: bool = True
    nullable: bool = False
    has_default: bool = False
    default: Any = None
    constraints: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema keywords with their values: `enum`, `minimum`, `minItems`, ... in schema order."""
    at: KeyPath = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredType:
    """`[types.NAME]`."""

    name: ClassName
    description: str
    fields: tuple[Property, ...] = ()
    at: KeyPath = ()

    @property
    def references(self) -> tuple[TypeRef, ...]:
        """The types that it consists of."""
        return tuple(field.type for field in self.fields)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectType(DeclaredType):
    """An object with fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumType(DeclaredType):
    """An enumeration of strings."""

    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnionType(DeclaredType):
    """A choice between objects, by the value of their field `discriminator`: `members` has the value of each."""

    members: Mapping[ClassName, str]
    discriminator: str

    @property
    def references(self) -> tuple[TypeRef, ...]:
        """The types that it consists of."""
        return tuple(map(NamedType, self.members))
