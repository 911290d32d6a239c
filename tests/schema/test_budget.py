"""A large schema loses its least important parts first, and names of arguments last."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmason.schema import Projection, advertise, project
from toolmason.schema.emit import MAX_BYTES

LONG = "A sentence about this value. " * 8


def size(projection: Projection) -> int:
    return len(json.dumps(projection.schema, separators=(",", ":"), ensure_ascii=False).encode())


def messages(projection: Projection) -> str:
    return "; ".join(dict.fromkeys(each.message for each in projection.findings if each.pattern == "size"))


def paths(schema: Any, path: str = "") -> Iterator[str]:
    for name, value in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from paths(value, f"{path}.{name}")
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from paths(inner, path)


def model(fields: int, description: str = "", **others: Any) -> dict[str, Any]:
    field = {"type": "integer", "minimum": 1, "maximum": 500, "description": description}
    return {"type": "object", "properties": {f"field_{number}": field for number in range(fields)} | others}


def arguments(count: int, schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {f"argument_{number}": schema for number in range(count)}}


def test_small_schema_loses_nothing() -> None:
    assert not messages(advertise(arguments(3, model(5, LONG))))


def test_descriptions_of_nested_values_go_first() -> None:
    schema = arguments(4, {**model(30, LONG), "description": "An argument."})
    projection = advertise(schema)

    assert size(projection) <= MAX_BYTES
    assert (
        messages(projection)
        == f"the schema has more than {MAX_BYTES:,} bytes; descriptions of nested values are omitted"
    )
    assert set(paths(projection.schema)) == set(paths(schema))
    argument = projection.schema["properties"]["argument_0"]
    assert argument["description"] == "An argument."
    assert argument["properties"]["field_0"] == {
        "type": "integer",
        "description": "1 to 500.",
        "minimum": 1,
        "maximum": 500,
    }


def test_deepest_descriptions_go_before_others() -> None:
    inner = model(20, LONG)
    projection = advertise(arguments(6, model(3, "Not deep.", inner={**inner, "description": "The inner object."})))
    argument = projection.schema["properties"]["argument_0"]

    assert size(projection) <= MAX_BYTES
    assert argument["properties"]["field_0"]["description"] == "Not deep. 1 to 500."
    assert argument["properties"]["inner"]["description"] == "The inner object."
    assert "A sentence" not in json.dumps(projection.schema)


def test_repeated_limits_go_next() -> None:
    schema = arguments(8, model(45, LONG))
    projection = advertise(schema)

    assert size(projection) <= MAX_BYTES
    assert "limits of nested values are not repeated" in messages(projection)
    assert set(paths(projection.schema)) == set(paths(schema))
    assert projection.schema["properties"]["argument_0"]["properties"]["field_0"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 500,
    }


def test_repeated_model_is_listed_once_before_other_names_go() -> None:
    schema = arguments(40, {"$ref": "#/$defs/Model"}) | {"$defs": {"Model": model(30)}}
    projection = advertise(schema)
    values = list(projection.schema["properties"].values())

    assert size(projection) <= MAX_BYTES
    assert "field_29" in values[0]["properties"]
    assert values[-1] == {"type": "object", "description": "Like `argument_0`."}
    assert [finding.pointer for finding in projection.findings if "deeper objects" in finding.message]


def test_arguments_are_never_omitted() -> None:
    schema = arguments(700, {"type": "string", "description": LONG})
    projection = advertise(schema)

    assert set(paths(projection.schema)) == set(paths(schema))
    assert "descriptions of arguments are shortened" in messages(projection)
    assert projection.schema["properties"]["argument_0"]["description"] == "A sentence about this value."


@pytest.mark.parametrize("target", ["mcp", "gemini-parameters", "gemini-json", "openai", "openai-strict", "anthropic"])
def test_every_target_has_the_budget(target: str) -> None:
    schema = arguments(40, {"$ref": "#/$defs/Model"}) | {"$defs": {"Model": model(30, LONG, inner=model(40, LONG))}}
    projection = project(schema, target)

    assert size(projection) <= MAX_BYTES
    assert any(".inner.field_39" in path for path in paths(advertise(schema).schema))


@settings(max_examples=15)
@given(fields=st.integers(2, 12), width=st.integers(2, 5), levels=st.integers(2, 5))
def test_most_of_the_budget_is_used(fields: int, width: int, levels: int) -> None:
    schema = model(fields)
    for level in range(levels):
        schema = model(fields, **{f"inner_{level}_{number}": json.loads(json.dumps(schema)) for number in range(width)})
    projection = advertise(schema)
    largest_object = 80 * (fields + width)

    assert size(projection) <= MAX_BYTES
    if "deeper objects" in messages(projection):
        assert size(projection) > MAX_BYTES * 4 // 5 - largest_object
