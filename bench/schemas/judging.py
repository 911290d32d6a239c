"""Judges what a converter made of a schema: is it accepted, is everything kept, is it as tight, do answers fit?

The rules of the providers are written here a second time, from their documentation and the texts of their errors, since
the toolkit's own rules (`toolmason.schema.check`) are among what is judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import unquote

from jsonschema import Draft7Validator, Draft202012Validator

from bench.schemas.reading import meaning, nodes, reading
from bench.schemas.sampling import (
    Acceptance,
    NearValid,
    UnsampleableError,
    drawn,
    near_valid_instances,
    without_nulls,
)

DRAWS: Final = 8
"""Values of each sort that are drawn for one schema."""
_ANTHROPIC_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_VERTEX_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_GEMINI_TYPES: Final = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})
_STRICT_DEPTH: Final = 10
_STRICT_PROPERTIES: Final = 5000
_MAX_PATHS: Final = 20_000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can be said of one conversion. The shares are None where there was nothing to try."""

    problems: tuple[str, ...]
    """Why the provider would refuse it; empty if it would not."""
    lost: tuple[str, ...]
    """Properties of the original that it does not have."""
    refused: tuple[Any, ...]
    """Values that the original takes and it does not."""
    tight: float | None
    """Share of the values next to valid ones that it still refuses, those with an undeclared property aside."""
    answer: float | None
    """Share of the values drawn from it that the original takes."""
    let_in: tuple[NearValid, ...] = ()
    """The values next to valid ones that it takes."""

    @property
    def accepted(self) -> bool:
        """Whether the provider takes it."""
        return not self.problems

    @property
    def kept(self) -> bool:
        """Whether no property and no value is lost."""
        return not self.lost and not self.refused

    @property
    def good(self) -> bool:
        """Whether it can be used in place of the original."""
        return self.accepted and self.kept


@dataclass(frozen=True, slots=True)
class Original:
    """A schema as its author means it, and values to try on what is made of it. Drawn once for all converters."""

    paths: frozenset[str]
    acceptance: Acceptance
    valid: tuple[Any, ...]
    near: tuple[NearValid, ...]

    @classmethod
    def of(cls, schema: Any, *, seed: int = 0) -> Original:
        """Read `schema` and draw from it: objects alone, since it is about arguments.

        Raises:
            UnsampleableError: it cannot be used, since a reference leads nowhere or it takes nothing at all.
        """
        meant = meaning(schema)
        for pointer, node in nodes(meant):
            address = node.get("$ref")
            if isinstance(address, str) and _target(meant, address) is None:
                raise UnsampleableError(f"{pointer}: {address} leads nowhere")
        if _is_endless(meant):
            raise UnsampleableError("a schema holds itself without a step into the value")
        acceptance = Acceptance(meant)
        valid = drawn(meant, acceptance, count=DRAWS, seed=seed, kind="object")
        near = near_valid_instances(schema, count=DRAWS, seed=seed, valid=valid)
        return cls(frozenset(property_paths(meant)), acceptance, tuple(valid), tuple(near))


def judge(
    original: Any, converted: Any, dialect: str, *, renamed: Mapping[str, str] | None = None, seed: int = 0
) -> Verdict:
    """Look at `converted`, made of `original` for `dialect`; `renamed` leads from new names of properties to old ones.

    Raises:
        UnsampleableError: the original cannot be used.
    """
    return judge_again(Original.of(original, seed=seed), converted, dialect, renamed=renamed, seed=seed)


def judge_again(
    original: Original, converted: Any, dialect: str, *, renamed: Mapping[str, str] | None = None, seed: int = 0
) -> Verdict:
    """Do as `judge` does, with an original that was read before."""
    problems = tuple(problems_of(converted, dialect))
    read = reading(converted, dialect, renamed)
    lost = tuple(sorted(original.paths - frozenset(property_paths(read))))
    acceptance = Acceptance(read)
    # A strict schema asks for every argument, null where it is left out: its plain text says what is refused.
    plain = Acceptance(reading(converted, "openai", renamed)) if dialect == "openai-strict" else acceptance
    try:
        refused = tuple(each for each in original.valid if not _still_taken(each, original.acceptance, acceptance))
        let_in = tuple(each for each in original.near if plain.takes(each.instance))
        answers = drawn(read, acceptance, count=DRAWS, seed=seed, kind="object")
        fitting = sum(map(original.acceptance.takes_but_nulls, answers))
    except UnsampleableError as error:
        return Verdict((*problems, f"no validator can use it: {error}"), lost, original.valid, None, None)
    return Verdict(
        problems,
        lost,
        refused,
        _share_refused(original.near, let_in),
        fitting / len(answers) if answers else None,
        let_in,
    )


def _is_endless(meant: Any) -> bool:
    """Whether looking at one value would lead round in a circle, in which validators do not come to an end."""
    done: set[int] = set()
    entered: set[int] = set()
    waiting: list[tuple[Any, bool]] = [(node, False) for _, node in nodes(meant)]
    while waiting:
        node, is_left = waiting.pop()
        if is_left:
            entered.discard(id(node))
            done.add(id(node))
        elif id(node) in entered:
            return True
        elif id(node) not in done:
            entered.add(id(node))
            waiting.append((node, True))
            waiting += [(each, False) for each in _at_the_same_place(meant, node) if isinstance(each, dict)]
    return False


def _at_the_same_place(root: Any, node: dict[str, Any]) -> Iterator[Any]:
    """Give the schemas that look at the same value as `node` does."""
    for keyword in ("allOf", "anyOf", "oneOf"):
        yield from node.get(keyword, ())
    yield from (node.get(keyword) for keyword in ("not", "if", "then", "else"))
    yield from node.get("dependentSchemas", {}).values()
    if isinstance(node.get("$ref"), str):
        yield _target(root, node["$ref"])


def _share_refused(near: Sequence[NearValid], let_in: Sequence[NearValid]) -> float | None:
    """Undeclared properties do not count: servers refuse or ignore them, and half of the providers cannot say it."""
    tried, taken = (sum(each.step != "unknown" for each in row) for row in (near, let_in))
    return 1 - taken / tried if tried else None


def _still_taken(value: Any, original: Acceptance, converted: Acceptance) -> bool:
    return converted.takes(value) or converted.takes(without_nulls(value, original))


def problems_of(schema: Any, dialect: str) -> Iterator[str]:
    """Give the reasons for which the provider behind `dialect` refuses `schema`."""
    if not isinstance(schema, dict):
        yield "not an object"
        return
    match dialect:
        case "gemini-parameters":
            yield from _message_problems(schema, vertex=False)
        case "gemini-vertex":
            yield from _message_problems(schema, vertex=True)
        case "gemini-json":
            yield from _json_schema_problems(schema, Draft202012Validator)
            yield from _gemini_json_problems(schema)
        case "openai" | "openai-strict":
            yield from _json_schema_problems(schema, Draft202012Validator)
            yield from _openai_problems(schema, strict=dialect == "openai-strict")
        case "anthropic":
            yield from _json_schema_problems(schema, Draft202012Validator)
            yield from _anthropic_problems(schema)
        case "mcp":
            yield from _json_schema_problems(schema, Draft202012Validator)
            yield from _json_schema_problems(schema, Draft7Validator)
        case _:
            raise ValueError(f"no dialect `{dialect}`")


# Gemini's message `Schema`: the proto, then the rules that the server adds.


@cache
def _message() -> Any:
    from google.ai.generativelanguage_v1beta.types import content

    return content.Schema.pb()


def _message_problems(schema: dict[str, Any], *, vertex: bool) -> Iterator[str]:
    from google.protobuf import json_format

    plain = _without_vertex_fields(schema) if vertex else schema
    try:
        json_format.ParseDict(_upper(plain), _message()())
    except (json_format.ParseError, RecursionError, TypeError, AttributeError, ValueError) as error:
        yield f"not a message: {error}"
        return
    if str(schema.get("type", "")).upper() != "OBJECT":
        yield "root: not an OBJECT"
    for pointer, node in _message_nodes(schema):
        yield from (f"{pointer or 'root'}: {each}" for each in _node_problems(node, vertex=vertex))


def _node_problems(node: dict[str, Any], *, vertex: bool) -> Iterator[str]:
    kind = str(node.get("type", "")).upper()
    if "anyOf" in node:
        beside = sorted(node.keys() - {"anyOf"})
        if vertex and beside:
            yield f"anyOf must be the only field, not beside {', '.join(beside)}"
        if not node["anyOf"]:
            yield "anyOf: missing field"
    elif kind not in _GEMINI_TYPES:
        yield "type: must be specified when not using one_of, any_of or all_of"
    if kind == "NULL" and vertex:
        yield "type: NULL is not in the message"
    if kind == "ARRAY" and not node.get("items"):
        yield "items: missing field"
    if "items" in node and kind != "ARRAY":
        yield "items: field predicate failed: $type == Type.ARRAY"
    for keyword in ("properties", "required"):
        if node.get(keyword) and kind != "OBJECT":
            yield f"{keyword}: only allowed for OBJECT type"
    for name in node.get("required", ()):
        if name not in node.get("properties", {}):
            yield f"required: property `{name}` is not defined"
    if node.get("enum"):
        if kind != "STRING":
            yield "enum: only allowed for STRING type"
        if "" in node["enum"]:
            yield "enum: cannot be empty"
    if vertex:
        for name in node.get("properties", {}):
            if not _VERTEX_NAME.fullmatch(name):
                yield f"properties: `{name}` is no name"


def _message_nodes(schema: Any, pointer: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the nodes of a message, whose `properties`, `items` and `anyOf` alone hold others."""
    waiting = [(pointer, schema)]
    while waiting:
        place, node = waiting.pop()
        yield place, node
        waiting += [(f"{place}/properties/{name}", each) for name, each in node.get("properties", {}).items()]
        waiting += [(f"{place}/anyOf/{number}", each) for number, each in enumerate(node.get("anyOf", ()))]
        waiting += [(f"{place}/items", node["items"])] if "items" in node else []


def _upper(schema: Any) -> Any:
    """Write types in upper case: the REST front end reads both, the library one."""
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    if isinstance(result.get("type"), str):
        result["type"] = result["type"].upper()
    if isinstance(result.get("properties"), dict):
        result["properties"] = {name: _upper(each) for name, each in result["properties"].items()}
    if isinstance(result.get("anyOf"), list):
        result["anyOf"] = [_upper(each) for each in result["anyOf"]]
    if "items" in result:
        result["items"] = _upper(result["items"])
    return result


def _without_vertex_fields(schema: Any) -> Any:
    """Leave out what Vertex's message has and the Developer API's has not."""
    if not isinstance(schema, dict):
        return schema
    result = {name: value for name, value in schema.items() if name not in {"additionalProperties", "ref", "defs"}}
    if isinstance(result.get("properties"), dict):
        result["properties"] = {name: _without_vertex_fields(each) for name, each in result["properties"].items()}
    if isinstance(result.get("anyOf"), list):
        result["anyOf"] = [_without_vertex_fields(each) for each in result["anyOf"]]
    if "items" in result:
        result["items"] = _without_vertex_fields(result["items"])
    return result


# JSON Schema.


def _json_schema_problems(schema: dict[str, Any], draft: type[Draft7Validator | Draft202012Validator]) -> Iterator[str]:
    error = next(draft(draft.META_SCHEMA).iter_errors(schema), None)
    if error is not None:
        yield f"{error.json_path}: not valid JSON Schema: {error.message[:200]}"
    if schema.get("type") != "object":
        yield "root: type must be object"
    declared = str(schema.get("$schema", ""))
    if declared and "2020-12" not in declared:
        yield "$schema: not draft 2020-12"
    for pointer, node in nodes(schema):
        address = node.get("$ref")
        if isinstance(address, str) and _target(schema, address) is None:
            yield f"{pointer}: reference to undefined schema {address}"


def _gemini_json_problems(schema: dict[str, Any]) -> Iterator[str]:
    for pointer, node in nodes(schema):
        if "$ref" in node and any(not name.startswith("$") for name in node.keys() - {"description", "default"}):
            yield f"{pointer}: Schema.ref set alongside unsupported fields"


def _openai_problems(schema: dict[str, Any], *, strict: bool) -> Iterator[str]:
    for keyword in ("oneOf", "anyOf", "allOf", "enum", "not"):
        if keyword in schema:
            yield f"root: must not have {keyword}"
    if not isinstance(schema.get("properties"), dict):
        yield "root: object schema missing properties"
    for pointer, node in nodes(schema):
        kinds = [node["type"]] if isinstance(node.get("type"), str) else node.get("type", [])
        if "array" in kinds and "items" not in node:
            yield f"{pointer}: array schema missing items"
        if strict:
            yield from (f"{pointer or 'root'}: {each}" for each in _strict_problems(node, kinds))
    if strict:
        properties = sum(len(node.get("properties", {})) for _, node in nodes(schema))
        if properties > _STRICT_PROPERTIES:
            yield f"root: {properties} properties"
        if (depth := _object_depth(schema)) > _STRICT_DEPTH:
            yield f"root: {depth} levels"


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
    """Give how many objects stand within each other."""
    deepest = 0
    waiting = [(schema, 0)]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, dict):
            depth += node.get("type") == "object"
            deepest = max(deepest, depth)
            inner = (*node.get("properties", {}).values(), *node.get("anyOf", ()), node.get("items"))
            waiting += [(each, depth) for each in inner]
    return deepest


def _anthropic_problems(schema: dict[str, Any]) -> Iterator[str]:
    for keyword in ("oneOf", "allOf", "anyOf"):
        if keyword in schema:
            yield f"root: {keyword} is not supported at the top level"
    for pointer, node in nodes(schema):
        for name in node.get("properties", {}):
            if not _ANTHROPIC_NAME.fullmatch(name):
                yield f"{pointer}: property key `{name}` should match ^[a-zA-Z0-9_.-]{{1,64}}$"


# What an original declares.


def property_paths(schema: Any) -> Iterator[str]:
    """Give where a schema declares properties: names joined by dots, `[]` for an item.

    References are followed, each once on the way down. What a map holds under names of the caller's own is not
    declared, and what cannot be there is not either.
    """
    seen = 0
    waiting: list[tuple[Any, str, frozenset[str]]] = [(schema, "", frozenset())]
    given: set[str] = set()
    while waiting and seen < _MAX_PATHS:
        node, path, followed = waiting.pop()
        if not isinstance(node, dict):
            continue
        seen += 1
        kinds = node.get("type", "object")
        holds = "object" in ([kinds] if isinstance(kinds, str) else kinds)
        for name, inner in node.get("properties", {}).items() if holds else ():
            if inner is not False and inner != {"not": {}}:
                at = f"{path}.{name}"
                if at not in given:
                    given.add(at)
                    yield at
                waiting.append((inner, at, followed))
        items = node.get("items")
        inside = (*node.get("prefixItems", ()), *(items if isinstance(items, list) else [items]))
        waiting += [(inner, f"{path}[]", followed) for inner in inside]
        for keyword in ("allOf", "anyOf", "oneOf"):
            waiting += [(inner, path, followed) for inner in node.get(keyword, ())]
        sometimes = (node.get("then"), node.get("else"), *node.get("dependentSchemas", {}).values())
        waiting += [(inner, path, followed) for inner in sometimes]
        address = node.get("$ref")
        if isinstance(address, str) and address not in followed:
            waiting.append((_target(schema, address), path, followed | {address}))


def _target(root: Any, address: str) -> Any:
    """Give what a reference leads to, None if that is nothing in the schema itself."""
    base = root.get("$id", "") if isinstance(root, dict) else ""
    if base and address.startswith(f"{base}#"):
        address = address[len(base) :]
    if address == "#" or (base and address == base):
        return root
    if not address.startswith("#/"):
        anchors = ((node, f"#{node['$anchor']}") for _, node in nodes(root) if "$anchor" in node)
        identified = ((node, node["$id"]) for _, node in nodes(root) if "$id" in node)
        return next((node for node, name in (*anchors, *identified) if name == address), None)
    value = root
    for part in unquote(address[2:]).split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict):
            value = value.get(name)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
