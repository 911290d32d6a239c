"""A wrong form with one meaning is converted; what is valid, and any text where texts are valid, stays as it is."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from toolmason_runtime import ToolError
from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.calls.repair import Repair
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.values.validation import validator

NAMES = st.sampled_from(["a", "b", "caf\u00e9", "cafe\u0301"])
PLAIN = ["", " ", "null", "None", "a", "A", "b", "json", "JSON", "caf\u00e9", "1", "-2", "1.5", "1e3", "true", "No"]
JSON = ["[]", "[1]", '["a"]', '[{"a": 1}]', "{}", '{"a": 1}', '{"a": "[1]"}', '"[1]"', '"a"', "[a-z]*", "[1", "{a}"]
TEXTS = st.sampled_from([*PLAIN, *JSON])
SCALARS = st.one_of(st.none(), st.booleans(), st.sampled_from([0, 1, -2, 7, 1.5, 1000.0]), TEXTS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
)
TYPES = ["string", "integer", "number", "boolean", "array", "object", "null"]


def optional(rules: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=rules)


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    members = st.dictionaries(NAMES, inner, max_size=3)
    objects = optional(
        {
            "properties": members,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "é"]), inner, max_size=1),
            "dependentSchemas": st.dictionaries(NAMES, inner, max_size=1),
        }
    )
    arrays = optional(
        {"items": inner, "prefixItems": some, "minItems": st.integers(0, 2), "maxItems": st.integers(0, 2)}
    )
    combined = optional({"anyOf": some, "oneOf": some, "allOf": some, "if": inner, "then": inner, "else": inner})
    return st.one_of(
        st.builds(lambda rules: {"type": "object", **rules}, objects),
        st.builds(lambda rules: {"type": "array", **rules}, arrays),
        combined,
        st.builds(lambda one, two, three: {**one, **two, **three}, objects, arrays, combined),
        optional({"type": st.lists(st.sampled_from(TYPES), min_size=1, unique=True), "items": inner, "not": inner}),
    )


LEAVES = st.one_of(
    st.booleans(),
    st.sampled_from([{"type": kind} for kind in TYPES]),
    st.builds(lambda values: {"enum": values}, st.lists(SCALARS, min_size=1, max_size=3)),
    st.builds(lambda value: {"const": value}, VALUES),
    st.sampled_from([{"$ref": "#/$defs/item"}, {"$ref": "#"}, {"$ref": "#/$defs/none"}, {"$ref": "other.json"}]),
    st.sampled_from([{"type": "string", "minLength": 2}, {"type": "string", "pattern": "^[a-z]+$"}]),
    st.sampled_from([{"type": "integer", "minimum": 1}, {"type": "array", "items": {"type": "string"}}]),
    st.just({"$id": "https://example.com/other", "$ref": "#/$defs/item", "$defs": {"item": {"type": "string"}}}),
)
PARTS = st.recursive(LEAVES, containers, max_leaves=6)
SCHEMAS = st.builds(
    lambda properties, item, required, rest: {
        "type": "object",
        "properties": properties,
        "required": [name for name in required if name in properties],
        "$defs": {"item": item},
        **rest,
    },
    st.dictionaries(NAMES, PARTS, min_size=1, max_size=3),
    PARTS,
    st.lists(NAMES, max_size=2, unique=True),
    optional({"additionalProperties": PARTS, "anyOf": st.lists(PARTS, min_size=1, max_size=2)}),
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=3)


def is_valid(schema: Any, value: Any) -> bool:
    """Whether jsonschema accepts it; a reference that leads nowhere, or in a circle, accepts nothing."""
    try:
        return validator(schema).is_valid(value)
    except Exception:  # noqa: BLE001  of the library
        return False
    except BaseException as error:
        # Its Rust part panics where a circle of references exceeds the recursion limit.
        if type(error).__name__ != "PanicException":
            raise
        return False


@given(SCHEMAS, ARGUMENTS)
def test_valid_arguments_are_the_same_object(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    before = deepcopy(arguments)
    result = Repair(schema).apply(arguments)

    assert arguments == before
    if is_valid(schema, arguments):
        assert result is arguments


@given(
    st.dictionaries(st.sampled_from("ab"), PARTS, min_size=2), PARTS, st.fixed_dictionaries({"a": VALUES, "b": VALUES})
)
def test_a_valid_argument_does_not_change_beside_an_invalid_one(
    properties: dict[str, Any], item: Any, arguments: dict[str, Any]
) -> None:
    schema = {"type": "object", "properties": properties, "$defs": {"item": item}}
    result = Repair(schema).apply(arguments)

    for name, value in arguments.items():
        if is_valid(schema, {name: value}):
            assert result[name] is value


@given(PARTS, PARTS, TEXTS)
def test_a_text_stays_where_any_text_may_be_valid(part: Any, item: Any, text: str) -> None:
    schema = {"type": "object", "properties": {"a": part}, "$defs": {"item": item}}
    assume(any(is_valid(schema, {"a": other}) for other in ("any text", "q\u2603\n[", "zz")))

    assert Repair(schema).apply({"a": text}) == {"a": text}


@given(SCHEMAS, ARGUMENTS, st.booleans())
def test_converted_arguments_are_not_converted_again(
    schema: dict[str, Any], arguments: dict[str, Any], closed: bool
) -> None:
    repair = Repair(schema, is_closed=closed)
    once = repair.apply(arguments)

    assert repair.apply(once) is once


@given(SCHEMAS, ARGUMENTS)
def test_the_error_of_a_refused_value_has_a_call_in_json(schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    try:
        raw(schema).validate(arguments)
    except ToolError as error:
        name, _, call = error.message.splitlines()[-1].removeprefix("Example: ").partition(" ")
        assert name == "tool"
        assert isinstance(json.loads(call), dict)
    except Exception:  # noqa: BLE001  a reference that leads nowhere
        assume(False)


def raw(schema: dict[str, Any], **entry: Any) -> ArgumentValidator:
    tool: Any = {"tool": {"name": "tool", "inputSchema": schema}, "examples": [], **entry}
    checked: ToolEntry = tool
    return ArgumentValidator(checked, None)
