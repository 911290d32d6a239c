"""The normal form of a schema: each node is a union of branches, and each branch has one type and its rules.

Subschemas stay unnormalized until they are needed, as a `Conjunction`. So a recursive schema is normalized in bounded
time, and intersecting two nodes (`allOf`, siblings of `$ref`) concatenates conjunctions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import ceil, floor
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from toolmason.schema.findings import Finding
from toolmason.schema.keywords import JSON_TYPES, MAX_SAFE_INTEGER, JsonType


class Subschema(NamedTuple):
    """A schema in its original form, and its JSON Pointer."""

    schema: Any
    pointer: str


Conjunction = tuple[Subschema, ...]
"""Subschemas that must all hold for one value; an empty one accepts every value."""

ANY_VALUE: Final[Conjunction] = ()


def intersect(left: Conjunction, right: Conjunction) -> Conjunction:
    """Return the conjunction of both, without repeating a subschema."""
    known = {id(subschema.schema) for subschema in left if isinstance(subschema.schema, dict)}
    return left + tuple(subschema for subschema in right if id(subschema.schema) not in known)


def is_false_schema(conjunction: Conjunction | None) -> bool:
    """Return whether the schema `false` is among the subschemas."""
    return conjunction is not None and any(subschema.schema is False for subschema in conjunction)


def identity_key(conjunction: Conjunction) -> Hashable:
    """Return a key that is equal for conjunctions of the same schema objects, and false for an empty one."""
    return id(conjunction[0][0]) if len(conjunction) == 1 else tuple(id(schema) for schema, _ in conjunction)


class OpaqueRule(NamedTuple):
    """A rule outside the normal form: its original keywords, and a sentence for the description."""

    keywords: Mapping[str, Any]
    text: str
    pointer: str
    unstated: tuple[str, ...] = ()
    """Keywords inside the rule that the sentence does not state."""

    @property
    def schema_pointer(self) -> str:
        """The pointer of the schema that has the keywords."""
        return self.pointer.rpartition("/")[0]


SCALARS: Final = frozenset({"string", "integer", "number", "boolean"})
_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


class Branch(NamedTuple):
    """The accepted values of one type.

    `limits` has the keywords of `keywords.LIMIT_KEYWORDS`. `items` and `additional_properties` are None if absent;
    the latter is ANY_VALUE if additional properties are explicitly allowed. `enum` is None if absent.
    `description` belongs to the alternative that became this branch.
    """

    type: JsonType
    pointer: str = ""
    limits: Mapping[str, Any] = _EMPTY
    enum: tuple[Any, ...] | None = None
    enum_descriptions: tuple[tuple[Any, str], ...] = ()
    properties: Mapping[str, Conjunction] = _EMPTY
    required: tuple[str, ...] = ()
    additional_properties: Conjunction | None = None
    pattern_properties: tuple[tuple[str, Conjunction], ...] = ()
    prefix_items: tuple[Conjunction, ...] = ()
    items: Conjunction | None = None
    opaque_rules: tuple[OpaqueRule, ...] = ()
    description: str = ""

    @property
    def is_unconstrained(self) -> bool:
        """Whether the branch accepts every value of its type."""
        return self.enum is None and not (
            self.limits
            or self.properties
            or self.required
            or self.pattern_properties
            or self.prefix_items
            or self.opaque_rules
            or self.additional_properties
            or self.items is not None
        )

    @property
    def enum_values(self) -> tuple[Any, ...]:
        """The values of the enum; those of an integer are written without a fraction: `1.0` -> `1`."""
        if self.type != "integer":
            return self.enum or ()
        return tuple(int(value) if abs(value) <= MAX_SAFE_INTEGER else value for value in self.enum or ())

    @property
    def is_numeric(self) -> bool:
        """Whether the type is `integer` or `number`."""
        return self.type in {"integer", "number"}


class Node(NamedTuple):
    """The normal form of one schema: the union of `branches`.

    `opaque_rules` apply to all branches, `sentences` belong to the description, `annotations` are emitted unchanged.
    `default` is meaningful only if `has_default`.
    """

    branches: tuple[Branch, ...]
    pointer: str = ""
    description: str = ""
    title: str = ""
    sentences: tuple[str, ...] = ()
    default: Any = None
    has_default: bool = False
    opaque_rules: tuple[OpaqueRule, ...] = ()
    annotations: Mapping[str, Any] = _EMPTY
    findings: tuple[Finding, ...] = ()

    @property
    def accepts_any_value(self) -> bool:
        """Whether every JSON value is accepted, apart from opaque rules."""
        if len(self.branches) < len(JSON_TYPES):
            return False
        plain = {branch.type for branch in self.branches if branch.is_unconstrained and not branch.description}
        return plain.issuperset(JSON_TYPES)

    @property
    def is_scalar(self) -> bool:
        """Whether only values of one scalar type are accepted."""
        return len(self.branches) == 1 and self.branches[0].type in SCALARS

    @property
    def is_plain_scalar(self) -> bool:
        """Whether the schema is only a scalar type with a description and a default."""
        return self.is_scalar and self.branches[0].is_unconstrained and not (self.opaque_rules or self.annotations)

    @property
    def accepts_null(self) -> bool:
        """Whether null is accepted."""
        return any(branch.type == "null" for branch in self.branches)

    @property
    def has_object(self) -> bool:
        """Whether an object is accepted."""
        return any(branch.type == "object" for branch in self.branches)

    @property
    def objects(self) -> list[Branch]:
        """The branches of type object."""
        return [branch for branch in self.branches if branch.type == "object"]


ALL_TYPES: Final = tuple(Branch(type=json_type) for json_type in JSON_TYPES)
"""The branches of a schema without rules."""


def to_inclusive_bounds(branch: Branch) -> Mapping[str, Any]:
    """Return the limits of a number. For integers, exclusive bounds become inclusive: above 3 -> at least 4."""
    if branch.type != "integer":
        return branch.limits
    limits = dict(branch.limits)
    lows = [ceil(limits["minimum"])] if "minimum" in limits else []
    highs = [floor(limits["maximum"])] if "maximum" in limits else []
    if "exclusiveMinimum" in limits:
        lows.append(floor(limits.pop("exclusiveMinimum")) + 1)
    if "exclusiveMaximum" in limits:
        highs.append(ceil(limits.pop("exclusiveMaximum")) - 1)
    if lows:
        limits["minimum"] = max(lows)
    if highs:
        limits["maximum"] = min(highs)
    return limits
