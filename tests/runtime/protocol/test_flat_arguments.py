"""Flat arguments and results are checked without models and without jsonschema, with the results of both."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, create_model
from toolmason_runtime import ToolError
from toolmason_runtime.programs.handler import sent_arguments
from toolmason_runtime.protocol.arguments import ArgumentValidator
from toolmason_runtime.protocol.flat_arguments import MAX_EXACT, flat_check
from toolmason_runtime.protocol.model import Model
from toolmason_runtime.protocol.results import ResultError, ResultWriter

MODELS = ModuleType("models_of_flat_arguments")
"""Holds the model of the current example, for a reference to it."""

_FIELD_ARGUMENTS = {
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "pattern": "pattern",
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
}
_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}

NUMBERS = st.one_of(
    st.integers(-12, 12),
    st.integers(),
    st.sampled_from([MAX_EXACT - 1, MAX_EXACT, MAX_EXACT + 1, -MAX_EXACT - 1, 10**400, True, 0.5, -0.0, 1e300]),
    st.floats(),
)
TEXTS = st.one_of(
    st.text(max_size=5),
    st.sampled_from(["a", "ab", "low", "high", "5", " 7 ", "7.0", "1_0", "1e3", "nan", "true", "off", "\U0001f600"]),
)
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none())
JUNK = st.one_of(SCALARS, st.lists(SCALARS, max_size=4), st.dictionaries(st.text(max_size=3), SCALARS, max_size=2))


def string_schemas() -> st.SearchStrategy[dict[str, Any]]:
    limits = {"minLength": st.integers(0, 3), "maxLength": st.integers(2, 5), "pattern": st.just("^[a-z]*$")}
    return st.one_of(
        st.fixed_dictionaries({"type": st.just("string")}, optional=limits),
        st.just({"type": "string", "enum": ["low", "high"]}),
    )


def number_schemas(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    bounds = st.one_of(st.integers(-9, 9), st.sampled_from([MAX_EXACT, -MAX_EXACT]))
    names = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    return st.fixed_dictionaries({"type": st.just(kind)}, optional=dict.fromkeys(names, bounds))


SCALAR_SCHEMAS = st.one_of(
    string_schemas(),
    number_schemas("integer"),
    number_schemas("number"),
    st.just({"type": "integer", "enum": [1, 5]}),
)
SCHEMAS = st.one_of(
    SCALAR_SCHEMAS,
    st.just({"type": "boolean"}),
    st.fixed_dictionaries(
        {"type": st.just("array"), "items": SCALAR_SCHEMAS},
        optional={"minItems": st.integers(0, 2), "maxItems": st.integers(1, 3)},
    ),
)


def annotation(schema: dict[str, Any]) -> Any:
    """The type of a generated model."""
    if "enum" in schema:
        return Literal[*schema["enum"]]
    base = list[annotation(schema["items"])] if schema["type"] == "array" else _TYPES[schema["type"]]  # type: ignore[misc]
    limits = {_FIELD_ARGUMENTS[name]: rule for name, rule in schema.items() if name in _FIELD_ARGUMENTS}
    return Annotated[base, Field(**limits)] if limits else base


@st.composite
def tools(draw: st.DrawFn) -> tuple[dict[str, Any], type[Model]]:
    """The schema of the arguments of a tool, and its model."""
    properties = draw(st.dictionaries(st.sampled_from(["path", "limit", "ratio", "all", "class"]), SCHEMAS, min_size=1))
    required = [name for name in properties if draw(st.booleans())]
    fields: dict[str, Any] = {}
    for name, schema in properties.items():
        part = annotation(schema)
        has_default = name not in required and schema["type"] == "string" and draw(st.booleans())
        default: Any = ... if name in required else "low" if has_default else None
        optional = part if name in required or has_default else part | None
        fields[f"{name}_" if name == "class" else name] = (optional, Field(default, alias=name))
    schema = {"type": "object", "properties": properties, "required": required}
    return schema, create_model("Params", __base__=Model, **fields)


def outcome(validator: ArgumentValidator, arguments: dict[str, Any]) -> str:
    """The sent arguments with their types and the notes, or the error."""
    try:
        result = validator.validate(arguments)
    except ToolError as error:
        return f"{error.code}: {error.message}"
    sent = sent_arguments(result.value).items()
    return repr((sorted((name, value) for name, value in sent if value is not None), result.notes))


def entry(schema: dict[str, Any]) -> Any:
    return {"tool": {"name": "tool", "inputSchema": schema}, "examples": [], "cli": "program"}


def values(schema: dict[str, Any]) -> dict[str, st.SearchStrategy[Any]]:
    """Values of the members of `schema`, many of them valid."""
    fitting = {"string": TEXTS, "integer": NUMBERS, "number": NUMBERS, "boolean": st.booleans()}
    return {
        name: st.one_of(fitting.get(part["type"], st.lists(st.one_of(TEXTS, NUMBERS), max_size=4)), JUNK)
        for name, part in schema["properties"].items()
    }


@given(tool=tools(), data=st.data())
def test_the_flat_check_has_the_values_and_errors_of_the_model_and_of_jsonschema(
    tool: tuple[dict[str, Any], type[Model]], data: st.DataObject
) -> None:
    schema, model = tool
    arguments = data.draw(
        st.fixed_dictionaries({}, optional={**values(schema), "class_": JUNK, "wait_for_previous": JUNK})
    )
    sys.modules[MODELS.__name__] = MODELS
    vars(MODELS)["Params"] = model

    flat = outcome(ArgumentValidator(entry(schema), f"{MODELS.__name__}:Params"), arguments)
    assert flat == outcome(ArgumentValidator(entry(schema), model), arguments)

    raw = outcome(ArgumentValidator(entry(schema), None), arguments)
    not_flat = {**schema, "$comment": "A keyword that the flat check does not support"}
    assert raw == outcome(ArgumentValidator(entry(not_flat), None), arguments)


def sent_result(schema: dict[str, Any], result: dict[str, Any]) -> str:
    """The result on the wire, or the error."""
    try:
        return repr(ResultWriter(schema).to_wire(result))
    except (ResultError, ValueError) as error:
        return f"{type(error).__name__}: {error}"


@given(tool=tools(), data=st.data())
def test_a_flat_result_is_sent_or_refused_as_by_jsonschema(
    tool: tuple[dict[str, Any], type[Model]], data: st.DataObject
) -> None:
    schema = tool[0]
    result = data.draw(st.fixed_dictionaries({}, optional={**values(schema), "other": JUNK}))

    not_flat = {**schema, "$comment": "A keyword that the flat check does not support"}
    assert sent_result(schema, result) == sent_result(not_flat, result)


def test_a_flat_result_needs_no_jsonschema() -> None:
    code = (
        "import sys; from toolmason_runtime.protocol.results import ResultWriter;"
        "writer = ResultWriter({'type': 'object', 'properties': {'size': {'type': 'integer'}}, 'required': ['size']});"
        "writer.prepare(); print(writer.to_wire({'size': 5})['structuredContent'], 'jsonschema' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == "{'size': 5} False\n"


ONE_OF_EACH = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "pattern": "^[a-z/]+$", "description": "Where", "default": "a"},
        "order": {"type": "string", "enum": ["new", "old"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100},
        "ratio": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "all": {"type": "boolean"},
        "names": {"type": "array", "items": {"type": "string", "maxLength": 3}, "minItems": 1, "maxItems": 2},
    },
    "required": ["limit"],
}


@pytest.mark.parametrize(
    "arguments",
    [
        {"limit": 1},
        {"limit": 100, "path": "a/b", "order": "old", "ratio": 0.5, "all": False, "names": ["abc", ""]},
        {"limit": 7, "path": None, "wait_for_previous": True},
    ],
)
def test_valid_arguments_need_no_model(arguments: dict[str, Any]) -> None:
    sent = ArgumentValidator(entry(ONE_OF_EACH), "no_such_module:Model").validate(arguments).value

    assert sent == {name: arguments[name] for name in ONE_OF_EACH["properties"] if arguments.get(name) is not None}


@pytest.mark.parametrize(
    "more",
    [
        {"limit": None},
        {"limit": "7"},
        {"limit": 7.0},
        {"limit": True},
        {"limit": 101},
        {"path": ""},
        {"path": "A"},
        {"order": "oldest"},
        {"order": ["new"]},
        {"ratio": 0},
        {"ratio": float("nan")},
        {"all": 1},
        {"names": []},
        {"names": ["abcd"]},
        {"names": ("a",)},
        {"names": [None]},
        {"unknown": 1},
    ],
    ids=lambda more: str(more)[:40],
)
def test_all_other_arguments_are_left_to_the_model(more: dict[str, Any]) -> None:
    check = flat_check(ONE_OF_EACH)

    assert check is not None
    assert check({"limit": 1}) == {"limit": 1}
    assert check({"limit": 1, **more}) is None


@pytest.mark.parametrize(
    "part",
    [
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}]},
        {"type": "integer", "multipleOf": 2},
        {"type": "integer", "minimum": MAX_EXACT + 1},
        {"type": "object", "properties": {}},
        {"type": "array"},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
        {"type": "array", "items": True},
        {},
        True,
    ],
    ids=str,
)
def test_a_rule_that_is_not_supported_leaves_every_call_to_the_model(part: Any) -> None:
    assert flat_check({"type": "object", "properties": {"value": part}}) is None


def test_only_rules_without_effect_on_declared_arguments_may_be_beside_them() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}

    assert flat_check(closed) is not None
    assert flat_check({**closed, "minProperties": 1}) is None
