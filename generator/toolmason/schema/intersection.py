"""Intersections and unions of branches of the normal form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf, lcm
from typing import Any, Final, TypeVar

from toolmason.schema.keywords import VALUE_CHECKS, JsonType, equality_key
from toolmason.schema.normal_form import (
    ALL_TYPES,
    ANY_VALUE,
    Branch,
    Conjunction,
    OpaqueRule,
    intersect,
    is_false_schema,
    to_inclusive_bounds,
)
from toolmason.schema.wording import states_pattern

T = TypeVar("T")

MAX_PAIRS: Final = 2_000
"""Maximum pairs of branches in the intersection of two unions; beyond, only the first union is kept."""


def intersect_branches(left: Sequence[Branch], right: Sequence[Branch]) -> tuple[Branch, ...]:
    """Return the branches of the values that both unions accept."""
    if left is ALL_TYPES:
        return tuple(right)
    if right is ALL_TYPES or exceeds_pair_limit(left, right):
        return tuple(left)
    pairs = [_intersect_pair(one, other) for one in left for other in right if share_type(one, other)]
    return tuple(branch for branch in pairs if branch is not None)


def exceeds_pair_limit(left: Sequence[Branch], right: Sequence[Branch]) -> bool:
    """Return whether `intersect_branches` keeps only `left`."""
    is_trivial = min(len(left), len(right)) <= 1 or left is ALL_TYPES or right is ALL_TYPES
    return not is_trivial and len(left) * len(right) > MAX_PAIRS


def share_type(left: Branch, right: Branch) -> bool:
    """Return whether one value can have the types of both branches."""
    return left.type == right.type or (left.is_numeric and right.is_numeric)


def _intersect_pair(left: Branch, right: Branch) -> Branch | None:
    """Return the intersection of two branches that share a type."""
    description = _join_descriptions(left.description, right.description)
    if left.is_unconstrained and left.type != "integer":
        return right._replace(description=description)
    if right.is_unconstrained and right.type != "integer":
        return left._replace(description=description)
    limits, opaque_rules = _intersect_limits(left, right)
    fields: dict[str, Any] | None = {}
    if left.type == "object":
        fields = _intersect_objects(left, right)
    elif left.type == "array":
        fields = _intersect_arrays(left, right)
    if fields is None:
        return None
    return prune_enum(
        left._replace(
            type="integer" if "integer" in (left.type, right.type) else left.type,
            limits=limits,
            enum=_intersect_enums(left.enum, right.enum),
            enum_descriptions=left.enum_descriptions or right.enum_descriptions,
            opaque_rules=join_rules(left.opaque_rules + opaque_rules, right.opaque_rules),
            description=description,
            **fields,
        )
    )


def without_duplicates(left: tuple[T, ...], right: tuple[T, ...]) -> tuple[T, ...]:
    """Return `left` and the members of `right` that it lacks."""
    return left + tuple(member for member in right if member not in left)


def join_rules(left: tuple[OpaqueRule, ...], right: tuple[OpaqueRule, ...]) -> tuple[OpaqueRule, ...]:
    """Return `without_duplicates` for rules, which compares only those at the same place."""
    if not left or not right:
        return left or right
    pointers = {rule.pointer for rule in left}
    return left + tuple([rule for rule in right if rule.pointer not in pointers or rule not in left])


def prune_enum(branch: Branch) -> Branch | None:
    """Remove enum values outside the limits, or return None if no value is possible."""
    limits = branch.limits
    if branch.enum is None and len(limits) < 2:
        return branch
    if branch.enum is not None:
        if not limits and branch.type == "string":
            return branch if branch.enum else None
        enum = tuple(value for value in branch.enum if satisfies_bounds(value, branch.type, limits))
        # The remaining values imply the other limits.
        limits = {name: value for name, value in limits.items() if name in {"pattern", "format"}}
        return branch._replace(enum=enum, limits=limits) if enum else None
    for low, high in (("minLength", "maxLength"), ("minItems", "maxItems"), ("minProperties", "maxProperties")):
        if limits.get(low, 0) > limits.get(high, inf):
            return None
    return None if branch.is_numeric and _is_empty_range(to_inclusive_bounds(branch)) else branch


def _is_empty_range(limits: Mapping[str, Any]) -> bool:
    low, high = limits.get("minimum", -inf), limits.get("maximum", inf)
    above, below = limits.get("exclusiveMinimum", -inf), limits.get("exclusiveMaximum", inf)
    return bool(low > high or (above >= min(high, below) > -inf) or (below <= max(low, above) < inf))


def satisfies_bounds(value: Any, json_type: JsonType, limits: Mapping[str, Any]) -> bool:
    """Return whether a value of type `json_type` satisfies its numeric limits. Patterns are ignored."""
    if json_type in {"integer", "number"}:
        return (json_type == "number" or value == int(value)) and (
            limits.get("minimum", value) <= value <= limits.get("maximum", value)
            and ("exclusiveMinimum" not in limits or value > limits["exclusiveMinimum"])
            and ("exclusiveMaximum" not in limits or value < limits["exclusiveMaximum"])
            and ("multipleOf" not in limits or _decimal(value) % _decimal(limits["multipleOf"]) == 0)
        )
    if json_type == "string":
        return bool(limits.get("minLength", 0) <= len(value) <= limits.get("maxLength", len(value)))
    return True


def _decimal(value: float) -> Fraction:
    """Return the decimal value, in which 0.3 is a multiple of 0.1, unlike binary floats."""
    return Fraction(value) if isinstance(value, int) else Fraction(str(value))


def _join_descriptions(left: str, right: str) -> str:
    if not left or not right or right in left:
        return left or right
    return right if left in right else f"{left} {right}"


_LOWER_BOUNDS: Final = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})
_UPPER_BOUNDS: Final = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})
_SECOND_RULE_TEXT: Final = {
    "pattern": "Must also match `{}`",
    "format": "Format: {}",
    "multipleOf": "Must be a multiple of {}",
}


def _intersect_limits(left: Branch, right: Branch) -> tuple[dict[str, Any], tuple[OpaqueRule, ...]]:
    limits = dict(left.limits)
    opaque_rules: list[OpaqueRule] = []
    for keyword, value in right.limits.items():
        current = limits.get(keyword)
        if current is None or current == value:
            limits[keyword] = value
        elif keyword in _LOWER_BOUNDS:
            limits[keyword] = max(current, value)
        elif keyword in _UPPER_BOUNDS:
            limits[keyword] = min(current, value)
        elif keyword == "uniqueItems":
            limits[keyword] = True
        elif keyword == "multipleOf" and (multiple := _least_common_multiple(current, value)) is not None:
            limits[keyword] = multiple
        else:
            # A second pattern, format or fraction can only be described.
            is_stated = keyword != "pattern" or states_pattern({**left.limits, **right.limits, "pattern": value})
            text = _SECOND_RULE_TEXT[keyword].format(value) if is_stated else ""
            opaque_rules.append(OpaqueRule({keyword: value}, text, right.pointer))
    return limits, tuple(opaque_rules)


def _least_common_multiple(left: float, right: float) -> int | None:
    multiple = lcm(left, right) if isinstance(left, int) and isinstance(right, int) else None
    return multiple if VALUE_CHECKS["multipleOf"](multiple) else None


def _intersect_enums(left: tuple[Any, ...] | None, right: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if left is None or right is None:
        return left if right is None else right
    known = {equality_key(value) for value in right}
    return tuple(value for value in left if equality_key(value) in known)


def _intersect_optional(left: Conjunction | None, right: Conjunction | None) -> Conjunction | None:
    if left is None or right is None:
        return left if right is None else right
    return intersect(left, right)


def _intersect_objects(left: Branch, right: Branch) -> dict[str, Any] | None:
    required = without_duplicates(left.required, right.required)
    properties = _intersect_properties(left, right)
    if any(name not in properties for name in required if name in left.properties or name in right.properties):
        return None
    return {
        "properties": properties,
        "required": required,
        "additional_properties": _intersect_optional(left.additional_properties, right.additional_properties),
        "pattern_properties": without_duplicates(left.pattern_properties, right.pattern_properties),
    }


def _intersect_properties(left: Branch, right: Branch) -> Mapping[str, Conjunction]:
    """Return the properties of both, without impossible ones."""
    for empty, properties in ((right, left.properties), (left, right.properties)):
        is_empty = not empty.properties and empty.additional_properties is None
        if is_empty and not any(map(is_false_schema, properties.values())):
            return properties
    merged = {
        name: intersect(_property(left, name), _property(right, name))
        for name in (*left.properties, *(name for name in right.properties if name not in left.properties))
    }
    return {name: conjunction for name, conjunction in merged.items() if not is_false_schema(conjunction)}


def _property(branch: Branch, name: str) -> Conjunction:
    if name in branch.properties:
        return branch.properties[name]
    # `additionalProperties` does not apply to a name that `patternProperties` may match.
    return branch.additional_properties or ANY_VALUE if not branch.pattern_properties else ANY_VALUE


def _intersect_arrays(left: Branch, right: Branch) -> dict[str, Any]:
    length = max(len(left.prefix_items), len(right.prefix_items))
    prefix_items = tuple(intersect(_item(left, index), _item(right, index)) for index in range(length))
    return {"prefix_items": prefix_items, "items": _intersect_optional(left.items, right.items)}


def _item(branch: Branch, index: int) -> Conjunction:
    return branch.prefix_items[index] if index < len(branch.prefix_items) else branch.items or ANY_VALUE


def merge_branches(branches: Iterable[Branch]) -> tuple[Branch, ...]:
    """Merge equal branches, and enums of one type that differ in nothing else."""
    branches = tuple(branches)
    if len({"number" if branch.is_numeric else branch.type for branch in branches}) == len(branches):
        return branches
    candidates: dict[tuple[Any, ...], list[list[Branch]]] = {}
    groups: list[list[Branch]] = []
    for branch in branches:
        similar = candidates.setdefault(_merge_key(branch), [])
        group = next((group for group in similar if _can_merge(group[0], branch)), None)
        if group is None:
            group = []
            similar.append(group)
            groups.append(group)
        group.append(branch)
    return tuple(group[0] if len(group) == 1 else _merge_group(group) for group in groups)


def _merge_key(branch: Branch) -> tuple[Any, ...]:
    """Return a key that is equal for all branches that `_can_merge` accepts."""
    if branch.is_unconstrained:
        return "number" if branch.type == "integer" else branch.type, branch.description
    if branch.enum is not None:
        return branch.type, frozenset(branch.limits.items())
    return branch.type, branch.pointer, branch.required, *branch.properties, *branch.limits


def _can_merge(left: Branch, right: Branch) -> bool:
    if left.type != right.type:
        # `integer` is redundant beside an unconstrained `number`.
        is_plain = left.is_unconstrained and right.is_unconstrained
        return is_plain and not left.description and not right.description
    if left.enum is not None and right.enum is not None:
        return left.limits == right.limits and left.opaque_rules == right.opaque_rules
    return (left.is_unconstrained and right.is_unconstrained) or left == right


def _merge_group(group: Sequence[Branch]) -> Branch:
    first = group[0]
    if first.enum is None:
        is_one_type = all(branch.type == first.type for branch in group)
        return first if is_one_type else first._replace(type="number")
    enum: dict[tuple[str, Any], Any] = {}
    descriptions: list[tuple[Any, str]] = []
    for branch in group:
        for value in branch.enum or ():
            enum.setdefault(equality_key(value), value)
            if branch.description and not branch.enum_descriptions:
                descriptions.append((value, branch.description))
        descriptions += branch.enum_descriptions
    return first._replace(enum=tuple(enum.values()), enum_descriptions=tuple(descriptions), description="")
