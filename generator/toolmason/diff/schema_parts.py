"""The parts of a JSON Schema that the comparison reads: references, conjuncts, types, and objects without more keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolmason.schema import pointer_parts
from toolmason.schema.keywords import JSON_TYPES, VALUE_CHECKS, json_type_of

Schema = Any
"""A JSON Schema: an object or a boolean."""

MAX_DEPTH: Final = 60
"""Maximum nesting that is compared; deeper schemas are undecided."""
ANNOTATIONS: Final = frozenset({"default", "deprecated", "description", "example", "examples", "title"})
"""Keywords without effect on validity."""
CONSTRAINTS: Final = frozenset(VALUE_CHECKS) - ANNOTATIONS
_OBJECT_KEYWORDS: Final = ("patternProperties", "propertyNames", "unevaluatedProperties")
_COMBINATORS: Final = ("allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "$dynamicRef")


class Root:
    """A schema with its references. `target` is the referenced schema, or None if it is unknown."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._resolved: dict[int, tuple[Schema, Schema]] = {}

    def target(self, reference: Any) -> Schema | None:
        """Return the schema that a reference such as `#/$defs/Node` names; None for any other form."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        found = self.schema
        try:
            for part in pointer_parts(reference[1:]):
                found = found[int(part)] if isinstance(found, list) else found[part]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
        return found if isinstance(found, dict | bool) else None

    def resolve(self, schema: Schema) -> Schema:
        """Follow a reference, with keywords beside it as a conjunct; one that leads nowhere stays.

        The result for one object is always the same object.
        """
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        if id(schema) not in self._resolved:
            self._resolved[id(schema)] = (schema, self._follow(schema))
        return self._resolved[id(schema)][1]

    def _follow(self, schema: Schema) -> Schema:
        seen = 0
        while isinstance(schema, dict) and "$ref" in schema and seen < MAX_DEPTH:
            target = self.target(schema["$ref"])
            if target is None:
                return schema
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            if not CONSTRAINTS.isdisjoint(beside):
                return {**beside, "allOf": [*beside.get("allOf", ()), target]}
            schema = {**target, **beside} if isinstance(target, dict) and beside else target
            seen += 1
        return schema


def types_of(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the types that a schema permits by `type`, `enum` and `const`."""
    stated = schema.get("type")
    if isinstance(stated, str):
        return (stated,)
    if isinstance(stated, list):
        return tuple(dict.fromkeys(map(str, stated)))
    values = enum_of(schema)
    return tuple(dict.fromkeys(map(json_type_of, values))) if values is not None else JSON_TYPES


def enum_of(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return the values of `enum` or `const`; None without either."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return list(values) if isinstance(values, list) else None


def is_type(narrow: str, wide: str) -> bool:
    """Return whether every value of the type `narrow` has the type `wide`."""
    return narrow == wide or (narrow, wide) == ("integer", "number")


def is_combined(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema has keywords with alternatives or conditions."""
    return any(key in schema for key in _COMBINATORS)


def lists_properties(schema: Mapping[str, Any]) -> bool:
    """Return whether an object names its properties and says no more of others than that they are permitted."""
    is_open = schema.get("additionalProperties", True) in (True, {})
    return bool(schema.get("properties")) and is_open and not any(key in schema for key in _OBJECT_KEYWORDS)


def closed(schema: Schema, depth: int = 0) -> Schema:
    """Return a schema whose objects have only the properties that they name, unless they state otherwise.

    An argument that a schema does not name has no meaning, so that such calls do not count in a comparison.
    """
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        match key, value:
            case (("properties" | "$defs" | "definitions"), dict()):
                result[key] = {name: closed(part, depth + 1) for name, part in value.items()}
            case (("items" | "additionalProperties"), dict()):
                result[key] = closed(value, depth + 1)
            case (("anyOf" | "oneOf"), list()) if not schema.get("properties"):
                result[key] = [closed(part, depth + 1) for part in value]
            case "prefixItems", list():
                result[key] = [closed(part, depth + 1) for part in value]
            case _:
                result[key] = value
    if lists_properties(schema) and not is_combined(schema):
        result["additionalProperties"] = False
    return result


def conjuncts(schema: Schema, root: Root, depth: int = 0) -> Iterator[Schema]:
    """Yield schemas without `allOf` and references that together accept what `schema` does."""
    schema = root.resolve(schema)
    yield schema
    if isinstance(schema, dict) and depth < MAX_DEPTH:
        for part in schema.get("allOf") or ():
            yield from conjuncts(part, root, depth + 1)
