"""The rules of all providers, from their documentation and error messages, independent of `toolmason.schema`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from bench.schemas.scoring import Original, Verdict, compare, find_problems, message_nodes
from bench.schemas.semantics import Acceptance, message_semantics, nodes, resolve_ref, rewrite
from jsonschema import Draft7Validator, Draft202012Validator

_ANTHROPIC_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_VERTEX_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_STRICT_DEPTH: Final = 10
_STRICT_PROPERTIES: Final = 5000
# The documented keywords of `parametersJsonSchema`.
_GEMINI_JSON: Final = frozenset(
    {
        *("$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"),
        *("minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"),
        "required",
    }
)


def score_for(original: Original, converted: Any, target: str, renamed: Mapping[str, str] | None = None) -> Verdict:
    """Score a projection for any target. `renamed` maps new property names to old ones."""
    problems = tuple(problems_of(converted, target))
    verdict = compare(original, semantics(converted, target, renamed), problems)
    if target != "openai-strict":
        return verdict
    # A strict schema requires every argument, null if it is missing: its literal semantics decides what it lets in.
    literal = Acceptance(semantics(converted, "openai", renamed))
    let_in = tuple(filter(literal.accepts, original.invalid))
    return Verdict(verdict.problems, verdict.lost, verdict.refused, let_in)


def problems_of(schema: Any, target: str) -> Iterator[str]:
    """Yield the reasons why a provider refuses `schema`."""
    if not isinstance(schema, dict):
        yield "not an object"
        return
    match target:
        case "gemini-parameters":
            yield from find_problems(schema)
            return
        case "gemini-vertex":
            yield from _vertex_problems(schema)
            return
    yield from _json_schema_problems(schema, Draft202012Validator)
    match target:
        case "gemini-json":
            for node in nodes(schema):
                if "$ref" in node and any(
                    not name.startswith("$") for name in node.keys() - {"description", "default"}
                ):
                    yield "Schema.ref set alongside unsupported fields"
        case "openai" | "openai-strict":
            yield from _openai_problems(schema, strict=target == "openai-strict")
        case "anthropic":
            yield from (
                f"root: {keyword} is not supported" for keyword in ("oneOf", "allOf", "anyOf") if keyword in schema
            )
            for node in nodes(schema):
                for name in node.get("properties", {}):
                    if not _ANTHROPIC_NAME.fullmatch(name):
                        yield f"property key `{name}` should match ^[a-zA-Z0-9_.-]{{1,64}}$"
        case "mcp":
            yield from _json_schema_problems(schema, Draft7Validator)
        case _:
            raise ValueError(f"no target `{target}`")


def semantics(schema: Any, target: str, renamed: Mapping[str, str] | None = None) -> Any:
    """Return a provider's interpretation as JSON Schema 2020-12, with the original names of renamed properties."""
    if renamed:
        schema = rewrite(schema, lambda node: _restore_names(node, renamed))
    match target:
        case "gemini-parameters":
            return message_semantics(schema)
        case "gemini-vertex":
            return message_semantics(rewrite(schema, _without_zero_bounds))
        case "gemini-json":
            return rewrite(schema, _gemini_json_semantics)
        case "openai-strict":
            return rewrite(schema, _strict_semantics)
        case _:
            return schema


def _vertex_problems(schema: dict[str, Any]) -> Iterator[str]:
    plain = rewrite(schema, _without_vertex_fields)
    problems = tuple(find_problems(plain))
    yield from problems
    if any(problem.startswith("not a message") for problem in problems):
        return
    for node in message_nodes(plain):
        if "anyOf" in node and len(node) > 1:
            yield f"anyOf must be the only field, not beside {', '.join(sorted(node.keys() - {'anyOf'}))}"
        if str(node.get("type", "")).upper() == "NULL":
            yield "type: NULL is not in the message"
        yield from (f"invalid name `{name}`" for name in node.get("properties", {}) if not _VERTEX_NAME.fullmatch(name))


def _without_vertex_fields(node: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name not in {"additionalProperties", "ref", "defs"}}


def _without_zero_bounds(node: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in node.items() if name not in {"minimum", "maximum"} or value != 0}


def _json_schema_problems(schema: dict[str, Any], draft: type[Draft7Validator | Draft202012Validator]) -> Iterator[str]:
    error = next(draft(draft.META_SCHEMA).iter_errors(schema), None)
    if error is not None:
        yield f"{error.json_path}: not valid JSON Schema: {error.message[:200]}"
    if schema.get("type") != "object":
        yield "root: type must be object"
    if "2020-12" not in str(schema.get("$schema", "2020-12")):
        yield "$schema: not draft 2020-12"
    for node in nodes(schema):
        ref = node.get("$ref")
        if isinstance(ref, str) and resolve_ref(schema, ref) is None:
            yield f"reference to undefined schema {ref}"


def _openai_problems(schema: dict[str, Any], *, strict: bool) -> Iterator[str]:
    yield from (
        f"root: must not have {keyword}" for keyword in ("oneOf", "anyOf", "allOf", "enum", "not") if keyword in schema
    )
    if not isinstance(schema.get("properties"), dict):
        yield "root: object schema missing properties"
    for node in nodes(schema):
        kinds = [node["type"]] if isinstance(node.get("type"), str) else node.get("type", [])
        if "array" in kinds and "items" not in node:
            yield "array schema missing items"
        if strict:
            yield from _strict_problems(node, kinds)
    if strict:
        if sum(len(node.get("properties", {})) for node in nodes(schema)) > _STRICT_PROPERTIES:
            yield "root: too many properties"
        if _object_depth(schema) > _STRICT_DEPTH:
            yield "root: too many levels"


def _strict_problems(node: dict[str, Any], kinds: Sequence[str]) -> Iterator[str]:
    for keyword in ("allOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "oneOf"):
        if keyword in node:
            yield f"{keyword} is not permitted"
    if "object" in kinds:
        if node.get("additionalProperties") is not False:
            yield "additionalProperties must be false"
        if set(node.get("required", ())) != set(node.get("properties", {})):
            yield "required must name every property"
    if not kinds and not {"anyOf", "$ref", "enum", "const"} & node.keys():
        yield "type is missing"


def _object_depth(schema: Any) -> int:
    """Return the number of nested objects."""
    depth, level = 0, [schema]
    while level:
        children = []
        for node in level:
            inside = [node]
            while inside:  # unions and arrays add no level
                part = inside.pop()
                if isinstance(part, dict):
                    children += part.get("properties", {}).values()
                    inside += [*part.get("anyOf", ()), part.get("items")]
        level = children
        depth += 1
    return depth - 1


def _gemini_json_semantics(node: dict[str, Any]) -> dict[str, Any]:
    result = {name: value for name, value in node.items() if name in _GEMINI_JSON}
    if "oneOf" in result:
        either = {"anyOf": result.pop("oneOf")}
        result |= {"allOf": [{"anyOf": result.pop("anyOf")}, either]} if "anyOf" in result else either
    return result


def _strict_semantics(node: dict[str, Any]) -> dict[str, Any]:
    """Make arguments that accept null optional: strict mode has no other way to express that."""
    properties = node.get("properties")
    if not isinstance(properties, dict) or not isinstance(node.get("required"), list):
        return node
    return node | {"required": [name for name in node["required"] if not _accepts_null(properties.get(name))]}


def _accepts_null(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return schema is True
    kinds = schema.get("type", [])
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) or any(map(_accepts_null, schema.get("anyOf", ())))


def _restore_names(node: dict[str, Any], renamed: Mapping[str, str]) -> dict[str, Any]:
    result = dict(node)
    if isinstance(node.get("properties"), dict):
        result["properties"] = {renamed.get(name, name): value for name, value in node["properties"].items()}
    if isinstance(node.get("required"), list):
        result["required"] = [renamed.get(name, name) for name in node["required"]]
    return result
