"""Score a conversion to Gemini's `parameters`: is it accepted, and does it keep all properties and values?

The rules of the provider come from its documentation and error messages. They do not use `toolmason.schema`, which is
one of the compared converters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from bench.schemas.corpus import Row
from bench.schemas.semantics import (
    Acceptance,
    UnusableSchemaError,
    author_semantics,
    is_endless,
    message_semantics,
    nodes,
    property_paths,
    resolve_ref,
)

_TYPES: Final = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """The score of one conversion."""

    problems: tuple[str, ...]
    """Reasons for a refusal by the provider."""
    lost: tuple[str, ...]
    """Missing properties of the original."""
    refused: tuple[Any, ...]
    """Values that the original accepts and the result refuses."""
    let_in: tuple[Any, ...] = ()
    """Values that the original refuses and the result accepts."""

    @property
    def is_accepted(self) -> bool:
        """Whether the provider accepts it."""
        return not self.problems

    @property
    def is_kept(self) -> bool:
        """Whether it keeps all properties and values."""
        return not self.lost and not self.refused

    @property
    def is_good(self) -> bool:
        """Whether it can replace the original."""
        return self.is_accepted and self.is_kept


@dataclass(frozen=True, slots=True)
class Original:
    """A schema in the sense of its author, with valid and invalid instances."""

    paths: frozenset[str]
    acceptance: Acceptance
    valid: tuple[Any, ...]
    invalid: tuple[Any, ...]

    @classmethod
    def of(cls, row: Row) -> Original:
        """Prepare the schema of a row.

        Raises:
            UnusableSchemaError: a reference leads nowhere, or no validator can use the schema.
        """
        schema = author_semantics(row.schema)
        for node in nodes(schema):
            ref = node.get("$ref")
            if isinstance(ref, str) and resolve_ref(schema, ref) is None:
                raise UnusableSchemaError(f"reference to undefined schema {ref}")
        if is_endless(schema):
            raise UnusableSchemaError("a reference leads back to itself")
        acceptance = Acceptance(schema)
        acceptance.accepts({})
        return cls(frozenset(property_paths(schema)), acceptance, row.valid, row.invalid)


def score(original: Original, converted: Any) -> Verdict:
    """Score a conversion to `parameters`."""
    return compare(original, message_semantics(converted), tuple(find_problems(converted)))


def compare(original: Original, converted: Any, problems: tuple[str, ...]) -> Verdict:
    """Compare the original with a conversion in JSON Schema 2020-12. `problems` are those of the provider."""
    lost = tuple(sorted(original.paths - property_paths(converted)))
    acceptance = Acceptance(converted)

    def is_refused(instance: Any) -> bool:
        return not acceptance.accepts(instance) and not acceptance.accepts(original.acceptance.without_nulls(instance))

    try:
        refused = tuple(filter(is_refused, original.valid))
        let_in = tuple(filter(acceptance.accepts, original.invalid))
    except UnusableSchemaError as error:
        return Verdict((*problems, f"no validator can use it: {error}"), lost, original.valid)
    return Verdict(problems, lost, refused, let_in)


@cache
def _message() -> Any:
    from google.ai.generativelanguage_v1beta.types import content

    return content.Schema.pb()


def find_problems(schema: Any) -> Iterator[str]:
    """Yield the reasons why Gemini refuses `parameters`: the protobuf message first, then the server's rules."""
    from google.protobuf import json_format

    if not isinstance(schema, dict):
        yield "not an object"
        return
    try:
        json_format.ParseDict(_upper_types(schema), _message()())
    except (json_format.ParseError, RecursionError, TypeError, AttributeError, ValueError) as error:
        yield f"not a message: {error}"
        return
    if str(schema.get("type", "")).upper() != "OBJECT":
        yield "root: not an OBJECT"
    for node in message_nodes(schema):
        yield from _node_problems(node)


def _node_problems(node: dict[str, Any]) -> Iterator[str]:
    kind = str(node.get("type", "")).upper()
    if "anyOf" in node:
        if not node["anyOf"]:
            yield "anyOf: missing field"
    elif kind not in _TYPES:
        yield "type: must be specified when not using one_of, any_of or all_of"
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


def message_nodes(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a valid message."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [*node.get("properties", {}).values(), *node.get("anyOf", ())]
        waiting += [node["items"]] if "items" in node else []


def _upper_types(schema: Any) -> Any:
    """Write types in upper case: the REST API accepts both, the protobuf library one."""
    if not isinstance(schema, dict):
        return schema
    result = dict(schema)
    if isinstance(result.get("type"), str):
        result["type"] = result["type"].upper()
    if isinstance(result.get("properties"), dict):
        result["properties"] = {name: _upper_types(child) for name, child in result["properties"].items()}
    if isinstance(result.get("anyOf"), list):
        result["anyOf"] = list(map(_upper_types, result["anyOf"]))
    if "items" in result:
        result["items"] = _upper_types(result["items"])
    return result
