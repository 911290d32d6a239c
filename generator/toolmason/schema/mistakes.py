"""Mistakes in schemas that have a known cause outside of them, such as an object of another library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from toolmason.schema.keywords import SCHEMA_KEYWORDS, SCHEMA_MAP_KEYWORDS, TYPE_NAMES

_FOREIGN_MEMBERS: Final = frozenset({"_def", "_zod", "~standard", "~run", "$_terms", "__isYupSchema__"})
"""Members of the schema objects of Zod 3 and 4, Standard Schema (ArkType, Valibot), Joi and Yup."""
_ANNOTATIONS: Final = frozenset({"$schema", "$id", "title", "description", "additionalProperties"})
"""Members of a root that a converter writes around nothing."""
_OBJECT_KEYWORDS: Final = SCHEMA_KEYWORDS | SCHEMA_MAP_KEYWORDS | {"const", "default", "example"}
"""Keywords whose value may be an object."""
MISTAKES: Final = {
    "foreign-object": "this is an object of a validation library, not a JSON Schema",
    "only-$schema": "a converter wrote `$schema` and nothing of the arguments",
    "properties-at-root": "the properties are at the root",
}
"""The cause of each pattern of `root_mistake` by which the arguments are unknown."""


def is_foreign_object(schema: Mapping[Any, Any]) -> bool:
    """Return whether a schema is an object of a validation library that was sent as JSON."""
    return any(name in schema and _is_foreign_member(schema[name]) for name in _FOREIGN_MEMBERS) or (
        isinstance(schema.get("def"), Mapping)
        and isinstance(schema["def"].get("type"), str)
        and "properties" not in schema
    )


def root_mistake(schema: Any) -> str:
    """Return the pattern of the mistake behind a root that declares no arguments; empty if none is known."""
    if not isinstance(schema, Mapping):
        return ""
    if is_foreign_object(schema):
        return "foreign-object"
    if schema.get("type") not in (None, "string"):
        return ""
    values = list(schema.values())
    if "type" not in schema and any(isinstance(value, Mapping) and is_foreign_object(value) for value in values):
        return "foreign-object"
    if isinstance(schema.get("$schema"), str) and schema.keys() <= _ANNOTATIONS | {"type"}:
        return "only-$schema"
    if schema.get("type") is None and schema.keys() <= _ANNOTATIONS:
        return "empty-root"
    if values and all(map(_is_property, values)) and _OBJECT_KEYWORDS.isdisjoint(schema):
        return "properties-at-root"
    return ""


def enum_of_items(schema: Mapping[Any, Any]) -> Sequence[Any]:
    """Return the values of `enum` that the author of an array meant for its items; none if the array may have them."""
    values, types = schema.get("enum"), schema.get("type")
    names = types if isinstance(types, list) else [types]
    if not isinstance(values, list) or "array" not in names or {*map(str, names)} - {"array", "null"}:
        return ()
    meant = [value for value in values if value is not None or "null" not in names]
    return () if any(isinstance(value, list) for value in meant) else meant


def _is_foreign_member(value: Any) -> bool:
    return isinstance(value, Mapping | list | bool)


def _is_property(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str) and value["type"].lower() in TYPE_NAMES
