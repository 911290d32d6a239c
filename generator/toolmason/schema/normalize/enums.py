"""Normalize `const` and `enum`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from toolmason.schema.findings import Severity
from toolmason.schema.intersection import intersect_branches, prune_enum, satisfies_bounds
from toolmason.schema.keywords import JsonType, equality_key, json_type_of
from toolmason.schema.normal_form import ALL_TYPES, Branch, Node, Subschema
from toolmason.schema.normalize.collector import FindingCollector
from toolmason.schema.normalize.context import Keywords, NormalizerContext

_MAX_CONST_PARTS: Final = 200
"""Maximum parts of a constant object or array that become a schema."""


def with_enum(context: NormalizerContext, node: Node, keywords: Keywords, collector: FindingCollector) -> Node:
    """Restrict `node` to the values of `const` and `enum`."""
    values = [keywords["const"]] if "const" in keywords else keywords["enum"]
    if "const" in keywords and not _contains(keywords.get("enum", values), keywords["const"]):
        return node._replace(branches=())
    values = list({equality_key(value): value for value in reversed(values)}.values())[::-1]
    if "const" in keywords:
        collector.note("const", "`const` is written as an `enum` of one value")
    branches = _enum_branches(context, node.branches, values, collector)
    if not branches and values and node.branches:
        message = "no enum value has the type beside it; the type is ignored"
        keyword = "enum" if "enum" in keywords else "const"
        collector.add(keyword, "enum-of-other-type", Severity.LOSSY, message)
        branches = _enum_branches(context, ALL_TYPES, values, collector)
    return node._replace(branches=branches)


def with_enum_of_items(
    context: NormalizerContext, keywords: Keywords, values: Sequence[Any], collector: FindingCollector
) -> Keywords:
    """Return keywords of an array whose items are restricted to `values`, instead of the array."""
    message = "no array is one of the `enum` values; they are values of the items"
    collector.add("enum", "enum-on-array", Severity.LOSSY, message)
    items = keywords.get("items")
    parts = {"allOf": [items]} if isinstance(items, dict) else {}
    restricted = context.registry.add_synthetic({**parts, "enum": [*values]})
    return {name: value for name, value in keywords.items() if name != "enum"} | {"items": restricted}


def _enum_branches(
    context: NormalizerContext, branches: Sequence[Branch], values: Sequence[Any], collector: FindingCollector
) -> tuple[Branch, ...]:
    """Return the branches with their values, in the order of each branch's first value."""
    restricted: list[tuple[int, Branch]] = []
    for branch in branches:
        accepted = [(position, value) for position, value in enumerate(values) if _accepts(branch, value)]
        if accepted:
            accepted_values = [value for _, value in accepted]
            is_typed = branches is not ALL_TYPES
            narrowed = _with_values(context, branch, accepted_values, is_typed=is_typed, collector=collector)
            restricted += [(accepted[0][0], part) for part in narrowed]
    return tuple(branch for _, branch in sorted(restricted, key=lambda pair: pair[0]))


def _accepts(branch: Branch, value: Any) -> bool:
    if branch.type == "string" and not branch.limits and branch.enum is None:
        return isinstance(value, str)
    if not _has_type(value, branch.type) or not satisfies_bounds(value, branch.type, branch.limits):
        return False
    return branch.enum is None or _contains(branch.enum, value)


def _contains(values: Sequence[Any], value: Any) -> bool:
    return equality_key(value) in map(equality_key, values)


def _has_type(value: Any, json_type: JsonType) -> bool:
    value_type = json_type_of(value)
    return value_type == json_type or (value_type == "integer" and json_type == "number")


def _with_values(
    context: NormalizerContext, branch: Branch, values: list[Any], *, is_typed: bool, collector: FindingCollector
) -> Iterator[Branch]:
    pointer = branch.pointer or collector.pointer
    if branch.type in {"object", "array"}:
        for value in values:
            schema = context.registry.add_synthetic(_constant(value, collector))
            yield from intersect_branches((branch,), context.normalize(Subschema(schema, pointer)).branches)
    elif branch.type == "null" or (branch.type == "boolean" and len(values) == 2):
        yield branch._replace(pointer=pointer)
    else:
        is_integer = branch.type == "number" and not is_typed and all(map(_is_integer, values))
        json_type = "integer" if is_integer else branch.type
        restricted = prune_enum(branch._replace(type=json_type, enum=tuple(values), pointer=pointer))
        if restricted is not None:
            yield restricted


def _is_integer(value: Any) -> bool:
    return json_type_of(value) == "integer"


def _constant(value: Any, collector: FindingCollector) -> dict[str, Any]:
    """Return a schema that accepts only this object or array."""
    remaining = [_MAX_CONST_PARTS]
    schema = _constant_schema(value, remaining)
    if remaining[0] <= 0:
        message = f"only the types of a constant with more than {_MAX_CONST_PARTS} parts are kept"
        collector.add("const", "size", Severity.LOSSY, message)
    return schema


def _constant_schema(value: Any, remaining: list[int]) -> dict[str, Any]:
    remaining[0] -= 1
    if remaining[0] > 0 and isinstance(value, dict):
        properties = {str(name): _constant_schema(part, remaining) for name, part in value.items()}
        return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    if remaining[0] > 0 and isinstance(value, list):
        parts = [_constant_schema(part, remaining) for part in value]
        size = {"minItems": len(parts), "maxItems": len(parts)}
        return {"type": "array", **({"prefixItems": parts} if parts else {}), "items": False, **size}
    return {"const": value} if not isinstance(value, dict | list) else {"type": json_type_of(value)}
