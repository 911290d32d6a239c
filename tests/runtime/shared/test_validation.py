"""JSON Schema validation: the results and messages of the package `jsonschema`, which servers do not install."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from toolmason_runtime.shared.values.schema_keywords import Violation
from toolmason_runtime.shared.values.schema_references import UnknownReferenceError
from toolmason_runtime.shared.values.validation import nearest_alternative, validator

Description = tuple[Any, ...]


def ours(violations: Iterable[Violation]) -> list[Description]:
    return sorted(
        (
            (
                error.keyword or "",
                error.json_path,
                error.message,
                repr(error.rule),
                ours(inner for branch in error.branches for inner in branch),
            )
            for error in violations
        ),
        key=repr,
    )


def theirs(errors: Iterable[ValidationError]) -> list[Description]:
    return sorted(
        (
            (
                str(error.validator or ""),
                error.json_path,
                error.message,
                repr(error.validator_value),
                theirs(error.context),
            )
            for error in errors
        ),
        key=repr,
    )


CASES: list[tuple[str, Any, list[Any]]] = [
    ("types", {"type": ["integer", "null"]}, [1, 1.0, 1.5, True, None, "1", [], {}]),
    ("one type", {"type": "number"}, [1, 1.5, False, "1", 2**80]),
    (
        "choices",
        {"enum": [1, True, "a", [1, {"b": 0}], None]},
        [1, 1.0, True, 0, False, [True, {"b": 0}], [1, {"b": 0}]],
    ),
    ("constant", {"const": {"a": [False]}}, [{"a": [0]}, {"a": [False]}, {"a": [False], "b": 1}, []]),
    ("limits", {"minimum": 2, "maximum": 5, "exclusiveMinimum": 2, "exclusiveMaximum": 5}, [1, 2, 3, 5, 6, True, "7"]),
    ("multiples", {"multipleOf": 3}, [6, 7, 6.0, 7.5, True, "x"]),
    ("fractions", {"multipleOf": 0.01}, [0.07, 4.02, 0.075, 1e308]),
    ("lengths", {"minLength": 1, "maxLength": 3}, ["", "a", "abcd", "😀😀😀", 1]),
    ("empty lengths", {"maxLength": 0, "maxItems": 0, "maxProperties": 0}, ["", "a", [], [1], {}, {"a": 1}]),
    ("sizes", {"minItems": 1, "minProperties": 1}, [[], {}, [1], {"a": 1}, ""]),
    (
        "larger sizes",
        {"minItems": 2, "minProperties": 2, "minLength": 2, "maxItems": 2, "maxProperties": 2},
        [[1], {"a": 1}, "a", [1, 2, 3], {"a": 1, "b": 2, "c": 3}],
    ),
    ("patterns", {"pattern": "^a+$"}, ["a", "b", 1]),
    (
        "unique items",
        {"uniqueItems": True},
        [[1, True], [1, 1.0], [[1], [True]], [{"a": 1}, {"a": 1.0}], ["a", "a"], [0, False, "0"], "aa"],
    ),
    ("duplicates allowed", {"uniqueItems": False}, [[1, 1]]),
    ("containing", {"contains": {"type": "integer"}}, [[], ["a"], [1, "a"], {}]),
    (
        "properties",
        {"properties": {"a": {"type": "string"}, "b": {"minimum": 1}}, "required": ["a", "c"]},
        [{}, {"a": 1, "b": 0}, {"a": "", "c": 0}, []],
    ),
    (
        "odd names",
        {"additionalProperties": {"type": "null"}},
        [{"a b": 1, "it's": 1, "a\\b": 1, "": 1, "1": 1, "ä": 1, "a_1": 1}],
    ),
    ("closed", {"properties": {"a": {}}, "additionalProperties": False}, [{"a": 1}, {"b": 1}, {"c": 1, "b": 2}, 5]),
    ("rest", {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, [{"b": 1}, {"b": "c"}]),
    ("names", {"propertyNames": {"maxLength": 1}}, [{"ab": 1}, {"a": 1}]),
    (
        "dependents",
        {"dependentRequired": {"a": ["b", "c"]}, "dependentSchemas": {"d": {"required": ["e"]}}},
        [{"a": 1}, {"a": 1, "b": 1, "c": 1}, {"d": 1}, {}],
    ),
    ("items", {"items": {"type": "integer"}}, [[1, "a", "b"], [], {}]),
    (
        "tuples",
        {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": {"const": 0}},
        [["a"], [1, "a"], ["a", 1, 0], ["a", 1, 2]],
    ),
    ("closed tuples", {"prefixItems": [{}], "items": False}, [[1], [1, 2], [1, 2, 3]]),
    ("nothing", {"items": False}, [[], [1]]),
    ("all", {"allOf": [{"minimum": 2}, {"type": "string"}]}, [1, 3, "a"]),
    (
        "any",
        {"anyOf": [{"type": "string"}, {"properties": {"a": {"const": 1}}, "required": ["a"]}]},
        ["a", {"a": 1}, {"a": 2}, {}, 1],
    ),
    ("one", {"oneOf": [{"type": "integer"}, {"minimum": 2}, {"maximum": 9}]}, [1, 3, 3.5, 1.5, "a"]),
    (
        "nested unions",
        {"anyOf": [{"oneOf": [{"type": "null"}, {"items": {"anyOf": [{"type": "null"}]}}]}]},
        [None, [1], [None]],
    ),
    ("not", {"not": {"type": "string"}}, ["a", 1]),
    (
        "conditions",
        {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}},
        [{"a": 1}, {"a": 1, "b": 1}, {}, {"c": 1}],
    ),
    ("a condition alone", {"if": {"type": "string"}}, ["a", 1]),
    ("a condition without else", {"if": {"type": "string"}, "then": False}, [1]),
    (
        "references",
        {"$defs": {"a/b~c": {"type": "string"}}, "properties": {"x": {"$ref": "#/$defs/a~1b~0c"}, "y": {"$ref": "#"}}},
        [{"x": 1}, {"y": {"x": 1}}, {"y": {"y": {}}}],
    ),
    ("escaped references", {"$defs": {"ä b": {"type": "string"}}, "$ref": "#/$defs/%C3%A4%20b"}, [1, "a"]),
    ("anchors", {"$defs": {"a": {"$anchor": "name", "minimum": 3}}, "allOf": [{"$ref": "#name"}]}, [1, 4]),
    ("indices", {"allOf": [{"type": "string"}], "not": {"$ref": "#/allOf/0"}}, [1]),
    ("a reference with siblings", {"$defs": {"a": {"type": "string"}}, "$ref": "#/$defs/a", "minLength": 2}, ["a", 1]),
    (
        "a root with an identifier",
        {"$id": "https://example.com/a", "$ref": "#/$defs/a", "$defs": {"a": {"type": "null"}}},
        [1],
    ),
    (
        "unevaluated names",
        {"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}], "unevaluatedProperties": False},
        [{"a": 1, "b": 1}, {"c": 1, "d": 1}],
    ),
    (
        "unevaluated branches",
        {
            "anyOf": [{"required": ["b"], "properties": {"b": {}}}, {"properties": {"a": {}}}],
            "unevaluatedProperties": False,
        },
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}],
    ),
    (
        "unevaluated conditions",
        {
            "if": {"properties": {"a": {"const": 1}}, "required": ["a"]},
            "then": {"properties": {"b": {}}},
            "else": {"properties": {"c": {}}},
            "unevaluatedProperties": False,
        },
        [{"a": 1, "b": 1}, {"a": 1, "c": 1}, {"c": 1}, {"b": 1}],
    ),
    (
        "unevaluated references",
        {"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"a": {}}}}, "unevaluatedProperties": {"type": "null"}},
        [{"a": 1}, {"b": None}, {"b": 1}],
    ),
    (
        "unevaluated dependents",
        {"dependentSchemas": {"a": {"properties": {"a": {}, "b": {}}}}, "unevaluatedProperties": False},
        [{"a": 1, "b": 1}, {"b": 1}],
    ),
    (
        "unevaluated items",
        {"prefixItems": [{}], "contains": {"const": 7}, "unevaluatedItems": False},
        [[1, 7], [7, 8], [7, 8, 9]],
    ),
    (
        "unevaluated items of a branch",
        {"anyOf": [{"prefixItems": [{}, {}]}, False], "unevaluatedItems": {"type": "null"}},
        [[1, 2], [1, 2, 3], [1, 2, None]],
    ),
    (
        "unknown keywords",
        {"format": "date", "contentEncoding": "base64", "x-own": 1, "default": 1, "examples": []},
        ["not a date"],
    ),
    ("true and false", {"properties": {"a": True}, "anyOf": [True, False]}, [{"a": 1}]),
    ("a contradiction", {"type": "object", "allOf": [False]}, [{}]),
]


@pytest.mark.parametrize(("schema", "values"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_violations_are_those_of_the_library(schema: Any, values: list[Any]) -> None:
    library = Draft202012Validator(schema)

    for value in values:
        assert ours(validator(schema).iter_errors(value)) == theirs(library.iter_errors(value)), value
        assert validator(schema).is_valid(value) == library.is_valid(value)


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 2.0]) | st.text("ab", max_size=2)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
TYPES = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
NAMES = st.lists(st.sampled_from("abc"), max_size=2, unique=True)
SIZES = st.integers(0, 2)
LEAVES: dict[str, st.SearchStrategy[Any]] = {
    "type": TYPES | st.lists(TYPES, min_size=1, max_size=2, unique=True),
    "enum": st.lists(VALUES, min_size=1, max_size=2),
    "const": VALUES,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), st.integers(-2, 2)),
    "multipleOf": st.sampled_from([1, 2, 0.5]),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), SIZES),
    "pattern": st.sampled_from(["a", "^b"]),
    "uniqueItems": st.booleans(),
    "required": NAMES,
    "dependentRequired": st.dictionaries(st.sampled_from("abc"), NAMES, max_size=2),
}


def _with_parts(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    parts = st.lists(inner, min_size=1, max_size=2)
    applied = {
        **dict.fromkeys(("properties", "dependentSchemas"), members),
        **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), parts),
        **dict.fromkeys(("additionalProperties", "items", "contains", "propertyNames"), inner),
        **dict.fromkeys(("not", "if", "then", "else"), inner),
        "$ref": st.sampled_from(["#/$defs/x", "#y"]),
    }
    return st.fixed_dictionaries({}, optional={**LEAVES, **applied})


SCHEMAS = st.recursive(st.fixed_dictionaries({}, optional=LEAVES), _with_parts, max_leaves=4)


@given(
    schema=SCHEMAS, first=st.fixed_dictionaries({}, optional=LEAVES), values=st.lists(VALUES, min_size=1, max_size=4)
)
def test_random_schemas_have_the_violations_of_the_library(schema: Any, first: Any, values: list[Any]) -> None:
    schema = {**schema, "$defs": {"x": first, "y": {**first, "$anchor": "y"}}}
    library = Draft202012Validator(schema)

    for value in values:
        assert ours(validator(schema).iter_errors(value)) == theirs(library.iter_errors(value))


@pytest.mark.parametrize("keyword", ["unevaluatedItems", "unevaluatedProperties"])
@given(schema=SCHEMAS, rule=st.booleans() | SCHEMAS, values=st.lists(VALUES, min_size=1, max_size=4))
def test_unevaluated_members_are_those_of_the_library(keyword: str, schema: Any, rule: Any, values: list[Any]) -> None:
    """The library has no reason for the same members of an invalid value, so only the verdict is equal."""
    schema = {**schema, keyword: rule, "$defs": {"x": {}, "y": {"$anchor": "y"}}}
    library = Draft202012Validator(schema)

    for value in values:
        assert validator(schema).is_valid(value) == library.is_valid(value), value


def test_too_many_and_too_few_matching_items_are_violations() -> None:
    """The library names `minContains` and `maxContains` as the keywords."""
    schema = {"contains": {"const": 1}, "minContains": 2, "maxContains": 3}

    messages = [[error.message for error in validator(schema).iter_errors([1] * count)] for count in range(5)]

    assert messages == [
        ["[] does not contain items matching the given schema"],
        ["Too few items match the given schema (expected at least 2 but only 1 matched)"],
        [],
        [],
        ["Too many items match the given schema (expected at most 3)"],
    ]


def test_multiples_beyond_floating_point_numbers() -> None:
    """The library raises OverflowError."""
    assert validator({"multipleOf": 0.5}).is_valid(10**400)
    assert not validator({"multipleOf": 3.0}).is_valid(10**400)


def test_a_member_that_is_not_allowed_has_its_path() -> None:
    """The library's error has the path of the object instead."""
    (error,) = validator({"properties": {"a": {"items": False}, "b": False}}).iter_errors({"b": 1, "a": []})

    assert (error.keyword, error.json_path, error.message) == (None, "$.b", "False schema does not allow 1")


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/missing"},
        {"$ref": "#missing"},
        {"$ref": "#/allOf/1", "allOf": [{}]},
        {"$ref": "#/allOf/-1", "allOf": [{}]},
        {"$ref": "other.json"},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$dynamicRef": "#a", "$defs": {"a": {"$dynamicAnchor": "a"}}},
        {"properties": {"a": {"$id": "https://example.com/a", "$ref": "#/$defs/a"}}, "$defs": {"a": {}}},
    ],
    ids=str,
)
def test_a_reference_that_generate_refuses_is_an_error(schema: Any) -> None:
    """Never a value that counts as valid."""
    with pytest.raises(UnknownReferenceError):
        validator(schema).is_valid({"a": 1})


@pytest.mark.parametrize(
    "schema", [{"type": "integre"}, {"minimum": "1"}, {"required": 1}, {"properties": []}, {"items": 1}], ids=str
)
def test_an_invalid_keyword_is_an_error(schema: Any) -> None:
    with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
        [validator(schema).is_valid(value) for value in (1, {"a": 1}, [1])]


def test_an_endless_reference_is_a_recursion_error() -> None:
    with pytest.raises(RecursionError):
        validator({"$ref": "#"}).is_valid(1)


def test_names_of_patterns_count_as_evaluated() -> None:
    schema = {"patternProperties": {"^x-": {"type": "string"}}, "unevaluatedProperties": False}

    assert validator(schema).is_valid({"x-a": "1"})
    assert not validator(schema).is_valid({"x-a": 1})
    assert not validator(schema).is_valid({"y": "1"})


def test_the_nearest_branch_has_the_right_type_and_tag() -> None:
    tagged = {"properties": {"kind": {"const": "b"}, "size": {"type": "integer"}}, "required": ["kind", "size", "name"]}
    other = {"properties": {"kind": {"const": "a"}}}
    (error,) = validator({"anyOf": [{"type": "string"}, other, tagged]}).iter_errors({"kind": "b", "size": "1"})

    assert [inner.message for inner in nearest_alternative(error)] == [
        "'1' is not of type 'integer'",
        "'name' is a required property",
    ]


LOGIC = {
    "$ref": "#/$defs/e",
    "$defs": {
        "e": {
            "oneOf": [
                *(
                    {
                        "type": "object",
                        "properties": {"op": {"const": name}, "args": {"items": {"$ref": "#/$defs/e"}}},
                        "required": ["op", "args"],
                    }
                    for name in ("and", "or", "not", "xor")
                ),
                {"type": "string"},
            ]
        }
    },
}
CHAIN = {
    "$ref": "#/$defs/n",
    "$defs": {
        "base": {"properties": {"c": {"$ref": "#/$defs/n"}}},
        "n": {"allOf": [{"$ref": "#/$defs/base"}], "properties": {"d": {}}, "unevaluatedProperties": False},
    },
}


@pytest.mark.parametrize("name", ["and", "xor"])
def test_a_valid_value_of_nested_branches_takes_no_exponential_time(name: str) -> None:
    value: Any = "x"
    for _ in range(20):
        value = {"op": name, "args": [value]}

    assert list(validator(LOGIC).iter_errors(value)) == []


def test_unevaluated_members_of_nested_values_take_no_exponential_time() -> None:
    value: Any = {}
    for _ in range(30):
        value = {"c": value}

    assert list(validator(CHAIN).iter_errors(value)) == []
    assert not validator(CHAIN).is_valid({"e": 1})


@pytest.mark.parametrize(
    "items",
    [
        [[number, 1] for number in range(30_000)],
        [{"a": number} for number in range(30_000)],
        [number * (2**61 - 1) for number in range(30_000)],
    ],
    ids=["arrays", "objects", "integers of one hash"],
)
def test_many_unique_items_take_no_quadratic_time(items: list[Any]) -> None:
    assert validator({"uniqueItems": True}).is_valid(items)
    assert not validator({"uniqueItems": True}).is_valid([*items, items[0]])
