"""What a schema means, whatever dialect it is written in: as JSON Schema 2020-12 that a validator understands.

`meaning` reads what an author wrote, leftovers of older drafts and of OpenAPI included; `reading` reads what a
converter made, as the provider it is for reads it. Both leave data (`default`, `enum`, `const`, `examples`) and the
names of properties alone.

A keyword beside `$ref` holds as it does in 2020-12, under draft-07 too: that is what validators in use do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from referencing import Registry

NAMED: Final = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
MANY: Final = ("allOf", "anyOf", "oneOf", "prefixItems")
ONE: Final = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains"),
    *("propertyNames", "unevaluatedProperties", "unevaluatedItems"),
)
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_GEMINI_JSON: Final = frozenset(
    {
        *("$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"),
        *("minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"),
        "required",
    }
)
"""What `parametersJsonSchema` is documented to read; a provider that ignores the rest enforces nothing else."""
_NUMBERS: Final = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems"),
    *("maxItems", "minProperties", "maxProperties", "minContains", "maxContains"),
)
_HOLDS: Final[Mapping[str, tuple[type, ...]]] = {
    "enum": (list,),
    "pattern": (str,),
    "dependentRequired": (dict,),
    **dict.fromkeys(_NUMBERS, (int, float)),
}
_ZERO_IS_UNSET: Final = frozenset({"maxItems", "maxLength", "maxProperties"})


def validator(schema: Any) -> Validator:
    """Compile a schema of `meaning` or `reading`; nothing is ever fetched."""
    return Draft202012Validator(schema, registry=Registry())


def meaning(schema: Any) -> Any:
    """Give what an author meant by `schema`, as JSON Schema 2020-12."""
    return _walked(schema, _modern)


def reading(schema: Any, dialect: str, renamed: Mapping[str, str] | None = None) -> Any:
    """Give what the provider behind `dialect` reads in `schema`, with the original names of what was renamed."""
    named = _walked(schema, lambda node: _names_restored(node, renamed)) if renamed else schema
    match dialect:
        case "gemini-parameters" | "gemini-vertex":
            return _walked(named, lambda node: _of_message(node, dialect))
        case "gemini-json":
            return _walked(named, _of_gemini_json)
        case "openai-strict":
            return _walked(named, _of_strict)
        case _:
            return named


def nodes(schema: Any, pointer: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Give every schema in `schema` that is an object, with its JSON Pointer, outermost first."""
    found: list[tuple[str, dict[str, Any]]] = []
    waiting = [(pointer, schema)]
    while waiting:
        place, node = waiting.pop()
        if not isinstance(node, dict):
            continue
        found.append((place, node))
        inside = []
        for keyword, value in node.items():
            at = f"{place}/{keyword}"
            if keyword in NAMED and isinstance(value, dict):
                inside += [(f"{at}/{_escaped(name)}", each) for name, each in value.items()]
            elif isinstance(value, list) and (keyword in MANY or keyword == "items"):
                inside += [(f"{at}/{number}", each) for number, each in enumerate(value)]
            elif keyword in ONE:
                inside.append((at, value))
        waiting += reversed(inside)
    return found


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _walked(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """Copy `schema`, each node passed through `change` before what is in it."""
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for keyword, value in change(schema).items():
        if keyword in NAMED and isinstance(value, dict):
            result[keyword] = {name: _walked(each, change) for name, each in value.items()}
        elif keyword in MANY and isinstance(value, list):
            result[keyword] = [_walked(each, change) for each in value]
        elif keyword in ONE:
            result[keyword] = _walked(value, change)
        else:
            result[keyword] = value
    return result


def _modern(node: dict[str, Any]) -> dict[str, Any]:
    """Write a node of older drafts, or of OpenAPI 3.0, as 2020-12 has it. What is malformed says nothing."""
    result = {name: value for name, value in node.items() if name not in {"id", "$schema"}}
    _modern_type(result)
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and plain in result:
            result[exclusive] = result.pop(plain)
    if isinstance(result.get("items"), list):
        result["prefixItems"] = result.pop("items")
        if "additionalItems" in result:
            result["items"] = result.pop("additionalItems")
        if not result["prefixItems"]:
            del result["prefixItems"]
    result.pop("additionalItems", None)
    _modern_dependencies(result)
    for keyword, kinds in _HOLDS.items():
        if keyword in result and (not isinstance(result[keyword], kinds) or isinstance(result[keyword], bool)):
            del result[keyword]
    if not _is_names(result.get("required", [])):
        del result["required"]
    for keyword in (*NAMED, *MANY, *ONE):
        if keyword in result and not _holds_schemas(keyword, result[keyword]):
            del result[keyword]
    if result.pop("nullable", False) is True:
        result = {"anyOf": [result, {"type": "null"}]}
    return result


def _modern_type(result: dict[str, Any]) -> None:
    kinds = result.get("type")
    if isinstance(kinds, str):
        kinds = [kinds]
    if isinstance(kinds, list):
        known = [each.lower() for each in kinds if isinstance(each, str) and each.lower() in _TYPES]
        if not known:
            del result["type"]
        else:
            result["type"] = known[0] if len(known) == 1 else list(dict.fromkeys(known))
    elif "type" in result:
        del result["type"]


def _modern_dependencies(result: dict[str, Any]) -> None:
    dependencies = result.pop("dependencies", None)
    if not isinstance(dependencies, dict):
        return
    for name, value in dependencies.items():
        keyword = "dependentRequired" if isinstance(value, list) else "dependentSchemas"
        result[keyword] = {**result.get(keyword, {}), name: value}


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _holds_schemas(keyword: str, value: Any) -> bool:
    if keyword in NAMED:
        return isinstance(value, dict)
    if keyword in MANY:
        return isinstance(value, list) and bool(value)
    return isinstance(value, dict | bool)


def _of_message(node: dict[str, Any], dialect: str) -> dict[str, Any]:
    """Read a node of the protobuf message: a zero that proto3 cannot tell from nothing says nothing."""
    result = {
        name: value
        for name, value in node.items()
        if name not in {"format", "nullable"} and not (name in _ZERO_IS_UNSET and not value)
    }
    if dialect == "gemini-vertex":
        for bound in ("minimum", "maximum"):
            if result.get(bound) == 0:
                del result[bound]
    kind = result.pop("type", None)
    if isinstance(kind, str) and kind.lower() in _TYPES:
        result = {"type": kind.lower()} | result
    return {"anyOf": [result, {"type": "null"}]} if node.get("nullable") is True else result


def _of_gemini_json(node: dict[str, Any]) -> dict[str, Any]:
    result = {name: value for name, value in node.items() if name in _GEMINI_JSON}
    if "oneOf" in result:
        either = {"anyOf": result.pop("oneOf")}
        result |= {"allOf": [{"anyOf": result.pop("anyOf")}, either]} if "anyOf" in result else either
    return result


def _of_strict(node: dict[str, Any]) -> dict[str, Any]:
    """Read an argument that takes null as one that may be left out: there is no other way to say that."""
    properties = node.get("properties")
    if not isinstance(properties, dict) or not isinstance(node.get("required"), list):
        return node
    return node | {"required": [name for name in node["required"] if not _takes_null(properties.get(name))]}


def _takes_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return schema is True
    kinds = schema.get("type", [])
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) or any(map(_takes_null, schema.get("anyOf", ())))


def _names_restored(node: dict[str, Any], renamed: Mapping[str, str] | None) -> dict[str, Any]:
    old = renamed or {}
    result = dict(node)
    if isinstance(node.get("properties"), dict):
        result["properties"] = {old.get(name, name): value for name, value in node["properties"].items()}
    if isinstance(node.get("required"), list):
        result["required"] = [old.get(name, name) for name in node["required"]]
    return result
