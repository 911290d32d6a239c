"""Interpret schemas as JSON Schema 2020-12: as their author means them, and as Gemini reads its message `Schema`.

Data (`default`, `enum`, `const`, `examples`) and property names are unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from jsonschema import Draft202012Validator
from referencing import Registry

SCHEMA_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
SCHEMA_LISTS: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
SCHEMAS: Final = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains"),
    *("propertyNames", "unevaluatedProperties", "unevaluatedItems"),
)
MAX_PATHS: Final = 20_000
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_NUMBERS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems"),
    *("maxItems", "minProperties", "maxProperties", "minContains", "maxContains"),
)
_VALUE_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "enum": (list,),
    "pattern": (str,),
    "dependentRequired": (dict,),
    **dict.fromkeys(_NUMBERS, (int, float)),
}
# proto3 cannot distinguish a zero from a missing value.
_ZERO_MEANS_UNSET: Final = ("maxItems", "maxLength", "maxProperties")


class UnusableSchemaError(ValueError):
    """No validator can use the schema: a reference or a pattern is invalid."""


class Acceptance:
    """The instances that a schema accepts. References outside of the schema are not fetched."""

    def __init__(self, schema: Any) -> None:
        self._validator = Draft202012Validator(schema, registry=Registry())
        self._shorter: dict[str, Any] = {}

    def accepts(self, instance: Any) -> bool:
        """Return whether `instance` is valid.

        Raises:
            UnusableSchemaError: the schema is invalid.
        """
        try:
            return bool(self._validator.is_valid(instance))
        except Exception as error:  # references, patterns and wrong types raise different errors
            raise UnusableSchemaError(f"{type(error).__name__}: {error}") from error

    def without_nulls(self, instance: Any) -> Any:
        """Return a valid `instance` without the nulls of properties that may be missing."""
        key = json.dumps(instance)
        if key not in self._shorter:
            for path in reversed(list(_null_paths(instance))):
                shorter = _without(instance, path)
                if self.accepts(shorter):
                    instance = shorter
            self._shorter[key] = instance
        return self._shorter[key]


def _null_paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if inner is None and isinstance(key, str):
            yield (*path, key)
        yield from _null_paths(inner, (*path, key))


def _without(value: Any, path: tuple[Any, ...]) -> Any:
    first, *rest = path
    if not rest:
        return {key: inner for key, inner in value.items() if key != first}
    changed = value.copy()
    changed[first] = _without(value[first], tuple(rest))
    return changed


def author_semantics(schema: Any) -> Any:
    """Return the author's intended schema as JSON Schema 2020-12, from any draft or OpenAPI 3.0."""
    return rewrite(schema, _modernize)


def message_semantics(schema: Any) -> Any:
    """Return Gemini's message `Schema` as JSON Schema 2020-12."""
    return rewrite(schema, _from_message)


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every object schema in `schema`, the outermost first."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):
            continue
        yield node
        for keyword, value in node.items():
            if keyword in SCHEMA_MAPS and isinstance(value, dict):
                waiting += value.values()
            elif isinstance(value, list) and (keyword in SCHEMA_LISTS or keyword == "items"):
                waiting += value
            elif keyword in SCHEMAS:
                waiting.append(value)


def rewrite(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Return a copy of `schema`, each node passed through `change` before its children."""
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for keyword, value in change(schema).items():
        if keyword in SCHEMA_MAPS and isinstance(value, dict):
            result[keyword] = {name: rewrite(child, change) for name, child in value.items()}
        elif keyword in SCHEMA_LISTS and isinstance(value, list):
            result[keyword] = [rewrite(child, change) for child in value]
        else:
            result[keyword] = rewrite(value, change) if keyword in SCHEMAS else value
    return result


def resolve_ref(root: Any, ref: str) -> Any:
    """Return the target of a `$ref` inside `root`, None if there is none."""
    base = root.get("$id", "") if isinstance(root, dict) else ""
    ref = ref.removeprefix(base)
    if ref in {"", "#"}:
        return root
    if not ref.startswith("#/"):
        return next((node for node in nodes(root) if ref in {f"#{node.get('$anchor')}", node.get("$id")}), None)
    value = root
    for part in unquote(ref[2:]).split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            value = value[int(name)] if name.isdecimal() and int(name) < len(value) else None
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return value


def is_endless(schema: Any) -> bool:
    """Return whether a node applies to the same value as itself, as in `{"anyOf": [{"$ref": "#"}]}`.

    Validators do not terminate on such a schema.
    """
    for node in nodes(schema):
        seen: set[int] = set()
        waiting = list(_same_value(schema, node))
        while waiting:
            child = waiting.pop()
            if child is node:
                return True
            if isinstance(child, dict) and id(child) not in seen:
                seen.add(id(child))
                waiting += _same_value(schema, child)
    return False


def _same_value(root: Any, node: dict[str, Any]) -> Iterator[Any]:
    """Yield the subschemas that apply to the same value as `node`."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from node.get(keyword, ())
    yield from (node.get(keyword) for keyword in ("not", "if", "then", "else"))
    yield from node.get("dependentSchemas", {}).values()
    if isinstance(node.get("$ref"), str):
        yield resolve_ref(root, node["$ref"])


def property_paths(schema: Any) -> set[str]:
    """Return the paths of the declared properties: names joined by dots, `[]` for an item.

    Each reference is followed once per path. Properties that no value can have are not included.
    """
    found: set[str] = set()
    waiting: list[tuple[Any, str, frozenset[str]]] = [(schema, "", frozenset())]
    for _ in range(MAX_PATHS):
        if not waiting:
            break
        node, path, followed = waiting.pop()
        if not isinstance(node, dict):
            continue
        kinds = node.get("type", "object")
        if "object" in ([kinds] if isinstance(kinds, str) else kinds):
            for name, child in node.get("properties", {}).items():
                if child is not False and child != {"not": {}}:
                    found.add(f"{path}.{name}")
                    waiting.append((child, f"{path}.{name}", followed))
        items = node.get("items")
        inside = (*node.get("prefixItems", ()), *(items if isinstance(items, list) else [items]))
        waiting += [(child, f"{path}[]", followed) for child in inside]
        alternatives = [child for keyword in ("allOf", "anyOf", "oneOf") for child in node.get(keyword, ())]
        conditional = (node.get("then"), node.get("else"), *node.get("dependentSchemas", {}).values())
        waiting += [(child, path, followed) for child in (*alternatives, *conditional)]
        ref = node.get("$ref")
        if isinstance(ref, str) and ref not in followed:
            waiting.append((resolve_ref(schema, ref), path, followed | {ref}))
    return found


def _modernize(node: dict[str, Any]) -> dict[str, Any]:
    """Convert a node to 2020-12 and drop malformed keywords."""
    result = {name: value for name, value in node.items() if name not in {"id", "$schema", "type", "nullable"}}
    kinds = node.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    known = list(dict.fromkeys(kind.lower() for kind in named if isinstance(kind, str) and kind.lower() in _TYPES))
    if known:
        result = {"type": known[0] if len(known) == 1 else known} | result
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and plain in result:
            result[exclusive] = result.pop(plain)
    if isinstance(result.get("items"), list):
        if not (prefix := result.pop("items")):
            prefix = None
        result |= {"prefixItems": prefix, "items": result.get("additionalItems", True)}
    result.pop("additionalItems", None)
    dependencies = result.pop("dependencies", None)
    for name, value in dependencies.items() if isinstance(dependencies, dict) else ():
        keyword = "dependentRequired" if isinstance(value, list) else "dependentSchemas"
        result[keyword] = {**result.get(keyword, {}), name: value}
    result = {keyword: value for keyword, value in result.items() if _is_well_formed(keyword, value)}
    return {"anyOf": [result, {"type": "null"}]} if node.get("nullable") is True else result


def _is_well_formed(keyword: str, value: Any) -> bool:
    if keyword in _VALUE_TYPES:
        return isinstance(value, _VALUE_TYPES[keyword]) and not isinstance(value, bool)
    if keyword == "required":
        return isinstance(value, list) and all(isinstance(name, str) for name in value)
    if keyword in SCHEMA_MAPS:
        return isinstance(value, dict)
    if keyword in SCHEMA_LISTS:
        return isinstance(value, list) and bool(value)
    return keyword not in SCHEMAS or isinstance(value, dict | bool)


def _from_message(node: dict[str, Any]) -> dict[str, Any]:
    unset = {"format", "nullable", "type", *(keyword for keyword in _ZERO_MEANS_UNSET if not node.get(keyword))}
    result = {name: value for name, value in node.items() if name not in unset}
    kind = node.get("type")
    if isinstance(kind, str) and kind.lower() in _TYPES:
        result = {"type": kind.lower()} | result
    return {"anyOf": [result, {"type": "null"}]} if node.get("nullable") is True else result
