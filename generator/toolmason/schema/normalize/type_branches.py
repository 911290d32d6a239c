"""Branches of the keywords that constrain one type: limits, properties and items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason.schema.findings import Severity
from toolmason.schema.intersection import prune_enum
from toolmason.schema.keywords import JSON_TYPES, LIMIT_KEYWORDS, TYPE_ALIASES, TYPE_NAMES, JsonType
from toolmason.schema.normal_form import ALL_TYPES, ANY_VALUE, Branch, Conjunction, Subschema, is_false_schema
from toolmason.schema.normalize.collector import FindingCollector
from toolmason.schema.normalize.context import MAX_DEPTH, Keywords, NormalizerContext
from toolmason.schema.normalize.opaque_rules import array_rules, object_rules, string_rules
from toolmason.schema.references import UnresolvedReferenceError

SEES_OTHER_ITEMS: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf", "if", "contains"})
"""Keywords beside which `unevaluatedItems` differs from `items`."""
_MAX_LISTED_NAMES: Final = 24
"""Maximum names of `propertyNames` that become properties."""
_TYPE_KEYWORDS: Final = frozenset(
    {keyword for keywords in LIMIT_KEYWORDS.values() for keyword in keywords}
    | {"additionalItems", "additionalProperties", "contains", "contentEncoding", "contentMediaType", "dependencies"}
    | {"dependentRequired", "dependentSchemas", "items", "patternProperties", "prefixItems", "properties"}
    | {"propertyNames", "required", "unevaluatedItems"}
)
_RELEVANT: Final[Mapping[JsonType, frozenset[str]]] = {
    **{name: frozenset(LIMIT_KEYWORDS[name]) for name in ("integer", "number", "boolean", "null")},
    "string": frozenset(LIMIT_KEYWORDS["string"]) | {"contentEncoding", "contentMediaType"},
    "array": frozenset(LIMIT_KEYWORDS["array"])
    | {"additionalItems", "contains", "items", "maxContains", "minContains", "prefixItems", "unevaluatedItems"},
    "object": frozenset(LIMIT_KEYWORDS["object"])
    | {"additionalProperties", "dependencies", "dependentRequired", "dependentSchemas", "patternProperties"}
    | {"properties", "propertyNames", "required"},
}
"""Keywords without which the branch of a type has no rule."""


def type_branches(context: NormalizerContext, keywords: Keywords, collector: FindingCollector) -> tuple[Branch, ...]:
    """Return a branch for each type that `type` and its sibling keywords accept."""
    is_bare = _TYPE_KEYWORDS.isdisjoint(keywords)
    if is_bare and "type" not in keywords:
        return ALL_TYPES
    types = _parse_types(keywords["type"], collector) if "type" in keywords else JSON_TYPES
    if is_bare:
        return tuple([Branch(type=name, pointer=collector.pointer) for name in types])
    branches = [prune_enum(_branch(context, json_type, keywords, collector)) for json_type in types]
    return tuple([branch for branch in branches if branch is not None])


def _parse_types(value: str | list[str], collector: FindingCollector) -> tuple[JsonType, ...]:
    if isinstance(value, str) and value in TYPE_NAMES:
        return (value,)
    if isinstance(value, list):
        collector.note("type", "a list of types is written as a union", pattern="type-array")
    types: list[JsonType] = []
    for name in [value] if isinstance(value, str) else value:
        lower = name.lower()
        if lower in TYPE_NAMES:
            if lower != name:
                collector.note("type", f"type `{name}` is written as `{lower}`", pattern="type-case")
            types.append(lower)
            continue
        alias = TYPE_ALIASES.get(lower)
        message = f"unknown type `{name}` is treated as `{alias or 'any'}`"
        collector.add("type", "unknown-type", Severity.LOSSY, message)
        types += JSON_TYPES if alias is None else (alias,)
    # `number` includes `integer`, and the same limits apply to both.
    return tuple(name for name in dict.fromkeys(types) if name != "integer" or "number" not in types)


def _branch(context: NormalizerContext, json_type: JsonType, keywords: Keywords, collector: FindingCollector) -> Branch:
    if _RELEVANT[json_type].isdisjoint(keywords):
        return Branch(type=json_type, pointer=collector.pointer)
    limits = {keyword: keywords[keyword] for keyword in LIMIT_KEYWORDS[json_type] if keyword in keywords}
    if json_type in {"integer", "number"}:
        limits = _modern_bounds(limits, collector)
        if "multipleOf" in limits and (isinstance(limits["multipleOf"], int) or limits["multipleOf"].is_integer()):
            json_type = "integer"
            limits["multipleOf"] = int(limits["multipleOf"])
            if limits["multipleOf"] == 1:
                del limits["multipleOf"]
        return Branch(type=json_type, pointer=collector.pointer, limits=limits)
    if limits:
        limits = {name: int(value) if isinstance(value, float) else value for name, value in limits.items()}
        limits = {name: value for name, value in limits.items() if value not in (0, False) or name.startswith("max")}
    if json_type == "object":
        return _object_branch(context, limits, keywords, collector)
    if json_type == "array":
        return _array_branch(context, limits, keywords, collector)
    rules = string_rules(keywords, collector) if json_type == "string" else ()
    return Branch(type=json_type, pointer=collector.pointer, limits=limits, opaque_rules=rules)


def _modern_bounds(limits: Mapping[str, Any], collector: FindingCollector) -> dict[str, Any]:
    """Convert the boolean `exclusiveMinimum` of draft-04, which makes `minimum` exclusive."""
    converted = dict(limits)
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(converted.get(exclusive), bool):
            collector.note(exclusive, f"boolean `{exclusive}` of draft-04 is converted")
            if converted.pop(exclusive) and bound in converted:
                converted[exclusive] = converted.pop(bound)
    return converted


def _object_branch(
    context: NormalizerContext, limits: Mapping[str, Any], keywords: Keywords, collector: FindingCollector
) -> Branch:
    properties = _conjunctions(context, keywords, "properties", collector)
    additional = _optional_conjunction(context, keywords, "additionalProperties", collector)
    patterns = _conjunctions(context, keywords, "patternProperties", collector)
    names = _listed_names(context, keywords)
    if names is not None:
        collector.note("propertyNames", "the names of `propertyNames` are written as properties")
        pointer = collector.pointer_to("propertyNames")
        properties = _with_listed_names(properties, additional, names, pointer)
        additional = (Subschema(False, pointer),)
        keywords = {keyword: value for keyword, value in keywords.items() if keyword != "propertyNames"}
    return Branch(
        type="object",
        pointer=collector.pointer,
        limits=limits,
        properties=properties,
        required=tuple(dict.fromkeys(keywords.get("required", ()))),
        additional_properties=additional,
        pattern_properties=tuple(patterns.items()),
        opaque_rules=tuple(object_rules(keywords, collector, context.references)),
    )


def _listed_names(context: NormalizerContext, keywords: Keywords) -> list[str] | None:
    """Return the names of `propertyNames` if it lists them; None for any other rule, or too many names."""
    if "propertyNames" not in keywords or keywords.get("patternProperties"):
        return None
    rule = context.references.dereference_for_text(keywords["propertyNames"])
    if rule is False:
        return []
    if not isinstance(rule, dict) or rule.keys() - {"type", "title", "description"} not in ({"enum"}, {"const"}):
        return None
    names = rule.get("enum", [rule.get("const")])
    is_text = isinstance(names, list) and all(isinstance(name, str) for name in names)
    has_type = rule.get("type", "string") == "string"
    return list(dict.fromkeys(names)) if is_text and has_type and len(names) <= _MAX_LISTED_NAMES else None


def _with_listed_names(
    properties: Mapping[str, Conjunction], additional: Conjunction | None, names: Sequence[str], pointer: str
) -> dict[str, Conjunction]:
    """Return the properties of an object that allows only `names`."""
    listed = {
        name: conjunction if name in names else (Subschema(False, pointer),) for name, conjunction in properties.items()
    }
    if not is_false_schema(additional):
        listed |= {name: additional or ANY_VALUE for name in names if name not in listed}
    return listed


def _array_branch(
    context: NormalizerContext, limits: Mapping[str, Any], keywords: Keywords, collector: FindingCollector
) -> Branch:
    if keywords.get("contains") in (True, {}):
        limits = _count_contains(limits, keywords, collector)
    is_draft_07 = isinstance(keywords.get("items"), list)
    prefix, rest = ("items", "additionalItems") if is_draft_07 else ("prefixItems", "items")
    prefix_items = tuple(
        _conjunction(context, value, collector, prefix, index) for index, value in enumerate(keywords.get(prefix, ()))
    )
    items = _optional_conjunction(context, keywords, rest, collector)
    if items is None and SEES_OTHER_ITEMS.isdisjoint(keywords):
        items = _optional_conjunction(context, keywords, "unevaluatedItems", collector)
    return Branch(
        type="array",
        pointer=collector.pointer,
        limits=limits,
        prefix_items=prefix_items,
        items=None if items == ANY_VALUE else items,
        opaque_rules=tuple(array_rules(keywords, collector, context.references)),
    )


def _count_contains(limits: Mapping[str, Any], keywords: Keywords, collector: FindingCollector) -> dict[str, Any]:
    """Convert `contains: true`, which counts all items."""
    collector.note("contains", "`contains` of any value is written as a number of items")
    counted = dict(limits)
    low = max(int(keywords.get("minContains", 1)), counted.get("minItems", 0))
    if low:
        counted["minItems"] = low
    if "maxContains" in keywords:
        high = int(keywords["maxContains"])
        counted["maxItems"] = min(high, counted.get("maxItems", high))
    return counted


def _conjunctions(
    context: NormalizerContext, keywords: Keywords, keyword: str, collector: FindingCollector
) -> dict[str, Conjunction]:
    schemas = keywords.get(keyword, {})
    return {name: _conjunction(context, schema, collector, keyword, name) for name, schema in schemas.items()}


def _optional_conjunction(
    context: NormalizerContext, keywords: Keywords, keyword: str, collector: FindingCollector
) -> Conjunction | None:
    return _conjunction(context, keywords[keyword], collector, keyword) if keyword in keywords else None


def _conjunction(
    context: NormalizerContext, schema: Any, collector: FindingCollector, *parts: str | int
) -> Conjunction:
    """Return a conjunction of one subschema; a `$ref` without siblings is replaced by its target."""
    pointer = collector.pointer_to(*parts)
    for _ in range(MAX_DEPTH):
        if not (isinstance(schema, dict) and len(schema) == 1 and "$ref" in schema):
            break
        ref, ref_pointer = schema["$ref"], f"{pointer}/$ref"
        try:
            schema, pointer = context.references.target(ref, pointer)
        except (UnresolvedReferenceError, AttributeError, TypeError):
            break
        collector.add_at(ref_pointer, "$ref", Severity.NOTE, f"`{ref}` is inlined")
    if schema is True or schema == {}:
        return ANY_VALUE
    if isinstance(schema, dict):
        pointer = context.registry.first_pointer(schema, pointer)
    return (Subschema(schema, pointer),)
