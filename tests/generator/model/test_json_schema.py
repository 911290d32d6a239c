"""The schemas of one meaning: what fits the exact one fits what clients are sent, which holds no reference."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from toolmason.model.json_schema import (
    definitions,
    listed_result,
    object_schema,
    result_schema,
    unique_paths,
    without_texts,
)
from toolmason.model.types import (
    ArrayType,
    ClassName,
    JsonSchema,
    MapType,
    NamedType,
    ObjectType,
    PrimitiveType,
    Property,
    TypeRef,
)
from toolmason.schema import advertise

RANGE = ObjectType(
    name=ClassName("Range"),
    description="Years",
    fields=(
        Property(name="from", type=PrimitiveType("integer"), description="First year"),
        Property(name="to", type=PrimitiveType("integer"), required=False, constraints={"maximum": 3000}),
    ),
)
NODE = ObjectType(
    name=ClassName("Node"),
    description="",
    fields=(Property(name="kids", type=ArrayType(NamedType(ClassName("Node"))), required=False),),
)
TYPES = {"Range": RANGE, "Node": NODE}


def sent(*values: Property) -> JsonSchema:
    """Give what clients are sent of `values`."""
    return advertise(object_schema(values) | {"$defs": definitions(tuple(TYPES.values()))}).schema


_SAMPLES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(max_size=5),
    "integer": st.integers(-9, 9),
    "number": st.floats(-9, 9),
    "boolean": st.booleans(),
    "object": st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
}


def sample(ref: TypeRef) -> st.SearchStrategy[Any]:
    match ref:
        case PrimitiveType(kind):
            return _SAMPLES[kind]
        case ArrayType(item):
            return st.lists(sample(item), max_size=3)
        case MapType(value):
            return st.dictionaries(st.text(max_size=3), sample(value), max_size=2)
        case NamedType():
            return st.fixed_dictionaries({"from": st.integers(0, 9)}, optional={"to": st.integers(0, 9)})


refs: st.SearchStrategy[TypeRef] = st.recursive(
    st.sampled_from([*map(PrimitiveType, _SAMPLES), NamedType(ClassName("Range"))]),  # type: ignore[arg-type]  # keys are kinds
    lambda inner: inner.map(ArrayType) | inner.map(MapType),
    max_leaves=3,
)


@st.composite
def values_and_arguments(draw: st.DrawFn) -> tuple[tuple[Property, ...], dict[str, Any]]:
    """Draw parameters and arguments that fit them."""
    values, arguments = [], {}
    for name in draw(st.lists(st.sampled_from(["a", "class", "lim-it", "type", "properties"]), unique=True)):
        ref, required, nullable = draw(refs), draw(st.booleans()), draw(st.booleans())
        values.append(Property(name=name, type=ref, required=required, nullable=nullable, description=draw(st.text())))
        if required or draw(st.booleans()):
            arguments[name] = draw(sample(ref))
    return tuple(values), arguments


@given(values_and_arguments())
def test_arguments_valid_in_the_exact_schema_are_valid_in_the_sent_schema(
    drawn: tuple[tuple[Property, ...], dict[str, Any]],
) -> None:
    values, arguments = drawn
    whole = object_schema(values) | {"$defs": definitions(tuple(TYPES.values()))}
    assert Draft202012Validator(whole).is_valid(arguments)
    assert Draft202012Validator(sent(*values)).is_valid(arguments)
    assert Draft7Validator(sent(*values)).is_valid(arguments)


@given(values_and_arguments())
def test_the_sent_schema_is_portable(
    drawn: tuple[tuple[Property, ...], dict[str, Any]],
) -> None:
    schema = sent(*drawn[0])
    Draft202012Validator.check_schema(schema)
    Draft7Validator.check_schema(schema)
    assert_portable(schema)


def assert_portable(schema: dict[str, Any]) -> None:
    """Hold a schema, and each below it, to what every client was seen to take."""
    if "anyOf" in schema:
        one, null = schema["anyOf"]
        assert (list(schema), null) == (["anyOf"], {"type": "null"})
        assert_portable(one)
        return
    assert isinstance(schema["type"], str)
    assert not schema.keys() & {"$ref", "$schema", "$defs", "anyOf", "oneOf", "allOf", "const", "additionalProperties"}
    assert set(schema.get("required", [])) <= schema.get("properties", {}).keys()
    if "enum" in schema:
        assert schema["type"] == "string"
    if schema["type"] == "array":
        assert_portable(schema["items"])
    for inner in schema.get("properties", {}).values():
        assert_portable(inner)


def value(kind: str, **constraints: Any) -> Property:
    return Property(name="x", type=PrimitiveType(kind), description="It", constraints=constraints)  # type: ignore[arg-type]  # a kind


@pytest.mark.parametrize(
    ("given_value", "said"),
    [
        (value("integer", minimum=1, maximum=50), "It. 1 to 50."),
        (value("integer", minimum=0), "It. At least 0."),
        (value("integer", enum=[1, 2, 5]), "It. One of 1, 2, 5."),
        (value("string", minLength=1), "It. At least 1 character."),
        (value("string", maxLength=80), "It. At most 80 characters."),
        (value("string", pattern="^a+$"), "It. Must match `^a+$`."),
        (value("string", format="uri"), "It. Format: uri."),
        (value("string", enum=["a", "b"]), "It"),
        (
            Property(
                name="x", type=ArrayType(PrimitiveType("string")), constraints={"minItems": 2, "uniqueItems": True}
            ),
            "Items must differ. At least 2 items.",
        ),
    ],
)
def test_limits_are_repeated_in_the_description(given_value: Property, said: str) -> None:
    schema = sent(given_value)["properties"]["x"]
    assert schema["description"] == said


def test_choices_of_numbers_become_bounds_since_gemini_takes_strings_only() -> None:
    schema = sent(value("integer", enum=[5, 1, 2]))["properties"]["x"]
    assert (schema["minimum"], schema["maximum"]) == (1, 5)
    assert "enum" not in schema


def test_null_is_described_only_where_a_value_must_be_given() -> None:
    required = Property(name="x", type=PrimitiveType("string"), nullable=True)
    assert sent(required)["properties"]["x"] == {"type": "string", "description": "May be null."}
    optional = Property(name="x", type=PrimitiveType("string"), nullable=True, required=False)
    assert sent(optional)["properties"]["x"] == {"type": "string"}


def test_a_tool_without_parameters_has_empty_properties() -> None:
    assert sent() == {"type": "object", "properties": {}}


def test_optional_is_not_nullable_and_nullable_is_not_optional() -> None:
    optional = Property(name="a", type=PrimitiveType("string"), required=False)
    nullable = Property(name="b", type=PrimitiveType("string"), nullable=True)
    schema = object_schema((optional, nullable))
    assert schema["required"] == ["b"]
    assert schema["properties"] == {"a": {"type": "string"}, "b": {"type": ["string", "null"]}}


def test_a_recursive_result_is_written_out_and_stays_open_below() -> None:
    schema = result_schema(NODE, TYPES)
    assert "$ref" not in json.dumps(schema)
    deep: dict[str, Any] = {}
    for _ in range(9):
        deep = {"kids": [deep]}
    assert Draft202012Validator(schema).is_valid(deep)
    assert not Draft202012Validator(schema).is_valid({"kids": [{"kids": "none"}]})


ENTRY = ObjectType(
    name=ClassName("Entry"),
    description="An entry",
    fields=(
        Property(name="description", type=PrimitiveType("string"), description="What it says"),
        Property(name="years", type=NamedType(ClassName("Range")), description="When"),
        Property(name="maybe", type=NamedType(ClassName("Range")), nullable=True, description="When, or null"),
        Property(name="all", type=ArrayType(NamedType(ClassName("Range"))), description="Each time"),
        Property(name="by_name", type=MapType(NamedType(ClassName("Range"))), required=False, description="By name"),
    ),
)


def test_a_listed_result_has_no_texts_and_no_members_of_single_objects() -> None:
    bounds = {"from": {"type": "integer"}, "to": {"type": "integer", "maximum": 3000}}
    members = {"type": "object", "properties": bounds, "required": ["from"]}

    assert listed_result(result_schema(ENTRY, TYPES)) == {
        "type": "object",
        "properties": {
            "description": {"type": "string"},
            "years": {"type": "object"},
            "maybe": {"type": ["object", "null"]},
            "all": {"type": "array", "items": members},
            "by_name": {"type": "object", "additionalProperties": members},
        },
        "required": ["description", "years", "maybe", "all"],
    }


RANGES = st.fixed_dictionaries({"from": st.integers(0, 9)}, optional={"to": st.integers(0, 9)})


@given(
    st.fixed_dictionaries(
        {"description": st.text(max_size=3), "years": RANGES, "maybe": RANGES | st.none(), "all": st.lists(RANGES)},
        optional={"by_name": st.dictionaries(st.text(max_size=3), RANGES, max_size=2)},
    )
)
def test_a_result_fits_its_schema_without_texts_and_as_it_is_listed(value: dict[str, Any]) -> None:
    schema = result_schema(ENTRY, TYPES)

    for each in (schema, without_texts(schema), listed_result(schema)):
        Draft202012Validator(each).validate(value)


def test_a_result_schema_without_texts_keeps_every_rule() -> None:
    schema = without_texts(result_schema(ENTRY, TYPES))

    assert schema["properties"]["years"] == schema["properties"]["all"]["items"]
    assert not Draft202012Validator(schema).is_valid({"description": "", "years": {}, "maybe": None, "all": []})
    assert '"description": "' not in json.dumps(schema)


def test_a_nullable_result_may_be_null_and_an_optional_one_may_not() -> None:
    fields = (
        Property(name="a", type=PrimitiveType("string"), nullable=True, constraints={"enum": ["x"]}),
        Property(name="b", type=PrimitiveType("string"), required=False),
        Property(name="c", type=NamedType(ClassName("Range")), nullable=True),
    )
    validator = Draft202012Validator(
        result_schema(ObjectType(name=ClassName("R"), description="", fields=fields), TYPES)
    )
    assert validator.is_valid({"a": None, "c": None})
    assert not validator.is_valid({"a": None, "b": None, "c": None})
    assert not validator.is_valid({"a": "y", "c": None})


def test_arrays_with_unique_items_are_found_at_every_depth() -> None:
    tags = Property(name="tags", type=ArrayType(PrimitiveType("string")), constraints={"uniqueItems": True})
    labelled = ObjectType(name=ClassName("Labelled"), description="", fields=(tags,))
    values = (
        Property(name="one", type=NamedType(ClassName("Labelled")), nullable=True),
        Property(
            name="many", type=ArrayType(MapType(NamedType(ClassName("Labelled")))), constraints={"uniqueItems": True}
        ),
        Property(name="none", type=ArrayType(PrimitiveType("string"))),
    )
    whole = object_schema(values) | {"$defs": definitions((labelled,))}
    assert unique_paths(whole) == [["one", "tags"], ["many"], ["many", "*", "*", "tags"]]
