"""The template writes the models that datamodel-code-generator generates of the same schemas, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmason.model.types import (
    ArrayType,
    ClassName,
    DeclaredType,
    EnumType,
    MapType,
    NamedType,
    ObjectType,
    PrimitiveType,
    Property,
    TypeRef,
    UnionType,
)
from toolmason.render.format_python import format_python
from toolmason.render.generated_models import generated_models
from toolmason.render.model_classes import describe
from toolmason.render.pydantic_models import models, templated_models, type_schemas

TEXTS = (
    *("", "Plain text", 'Says "hi"', 'ends with "quote"', '"start', '"""', "'", "'q'", "two\nlines", "a\n\n  b"),
    *("back\\slash", "\\", "é ü 日本", "One.\r\nTwo", "  lead"),
)
NAMES = (
    *("a", "b", "title", "class", "copy", "name", "id", "type", "lim-it", "a.b", "schema", "json", "validate", "self"),
    *("match", "x1", "Value", "register", "fields", "from", "async", "None", "object", "format", "input", "mro"),
)
CONSTRAINTS: dict[str, tuple[dict[str, Any], ...]] = {
    "string": (
        {},
        {"minLength": 1},
        {"minLength": 0, "maxLength": 9, "pattern": "^a\"'\\d$"},
        {"enum": ["a", 'b"c']},
        {"enum": ["é"]},
        {"format": "date"},
    ),
    "integer": ({}, {"minimum": 0}, {"minimum": -2, "maximum": 9}, {"enum": [1, 2]}, {"minimum": 1.5, "maximum": 8.5}),
    "number": ({}, {"minimum": 0}, {"minimum": -1e-9, "maximum": 1e300}),
    "boolean": ({},),
    "object": ({},),
    "array": ({}, {"minItems": 1}, {"minItems": 0, "maxItems": 2, "uniqueItems": True}),
}
VALUES = {"string": 'q"', "integer": 3, "number": 2, "boolean": True, "object": {"k": [1, None]}}


def references(names: list[str]) -> st.SearchStrategy[TypeRef]:
    named: st.SearchStrategy[TypeRef] = st.sampled_from([NamedType(ClassName(name)) for name in names])
    primitive: st.SearchStrategy[TypeRef] = st.sampled_from([PrimitiveType(kind) for kind in VALUES])  # type: ignore[arg-type]  # keys are kinds
    return st.recursive(primitive | named, lambda inner: inner.map(ArrayType) | inner.map(MapType), max_leaves=3)


@st.composite
def properties(draw: st.DrawFn, names: list[str], choices: dict[str, tuple[str, ...]]) -> Property:
    ref = draw(references(names))
    kind = ref.kind if isinstance(ref, PrimitiveType) else "array" if isinstance(ref, ArrayType) else "object"
    limits = draw(st.sampled_from(CONSTRAINTS[kind])) if not isinstance(ref, NamedType) else {}
    value = Property(
        name="",
        type=ref,
        description=draw(st.sampled_from(TEXTS)).strip(),
        required=draw(st.booleans()),
        nullable=draw(st.booleans()),
        constraints=limits,
    )
    default = default_of(ref, limits, choices)
    has_default = default is not None and draw(st.booleans())
    return replace(value, required=False, has_default=True, default=default) if has_default else value


def default_of(ref: TypeRef, limits: dict[str, Any], choices: dict[str, tuple[str, ...]]) -> Any:
    match ref:
        case PrimitiveType(kind):
            return limits.get("enum", [VALUES[kind]])[0]
        case NamedType(name) if name in choices:
            return choices[name][-1]
        case ArrayType(NamedType(name)) if name in choices:
            return [choices[name][0]]
        case ArrayType(PrimitiveType(kind)):
            return [VALUES[kind]]
        case MapType(PrimitiveType(kind)):
            return {'q"': VALUES[kind]}
        case _:
            return None


@st.composite
def declared_types(draw: st.DrawFn) -> list[DeclaredType]:
    """Draw objects that refer to the types before them or to themselves, in any order; enumerations, and a union."""
    choices = {
        name: tuple(draw(st.lists(st.sampled_from(["x", "y z", "title", "1", "é", "A"]), min_size=1, unique=True)))
        for name in draw(st.sampled_from([[], ["Color"], ["Color", "Size"]]))
    }
    types: list[DeclaredType] = [
        EnumType(name=ClassName(name), description=draw(st.sampled_from(TEXTS)).strip(), choices=values)
        for name, values in choices.items()
    ]
    for number in range(draw(st.integers(1, 5))):
        name = ClassName(f"Type{number}")
        inner = properties([*(declared.name for declared in types), name], choices)
        fields = [
            replace(draw(inner), name=field)
            for field in draw(st.lists(st.sampled_from(NAMES), max_size=6, unique=True))
        ]
        tag = Property(name="kind", type=PrimitiveType("string"), constraints={"enum": [name.lower()]})
        description = draw(st.sampled_from(TEXTS)).strip()
        types.append(ObjectType(name=name, description=description, fields=(tag, *fields)))
    members = [declared.name for declared in types if isinstance(declared, ObjectType)][:3]
    if len(members) > 1 and draw(st.booleans()):
        description = draw(st.sampled_from(TEXTS)).strip()
        tags = {name: name.lower() for name in members}
        types.append(UnionType(name=ClassName("Any1"), description=description, members=tags, discriminator="kind"))
    return draw(st.permutations(types))


def formatted(text: str) -> str:
    path = PurePosixPath("models.py")
    return format_python({path: text})[path]


@settings(max_examples=60)
@given(declared_types())
def test_the_template_writes_what_datamodel_code_generator_generates(types: list[DeclaredType]) -> None:
    source = type_schemas(types)
    text = templated_models({"": source})[""]
    assert formatted(text) == formatted(generated_models({"": source})[""])


REFERENCE = {"$ref": "#/$defs/Note"}
OBJECT = {"type": "object"}


@pytest.mark.parametrize(
    "definitions",
    [
        {
            "Note": {"type": "object", "properties": {"other": {"$ref": "#/$defs/Other"}}},
            "Other": {"type": "object", "properties": {"note": REFERENCE}},
        },
        {"Note": {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "string"}}}}},
        {"Note": {"type": "object", "properties": {"_hidden": {"type": "string"}}}},
        {"Note": {"type": "object", "properties": {"Literal": {"type": "string"}}}},
        {"Note": {"type": "object", "properties": {"model_fields": {"type": "string"}}}},
        {"Note": {"type": "object", "properties": {"a.b": {"type": "string"}, "a-b": {"type": "string"}}}},
        {"Note": {"type": "object", "properties": {"a": {"type": "null"}}}},
        {"Note": {"type": "object", "properties": {"a": {"$ref": "#/$defs/Absent"}}}},
        {"Note": {"type": "string"}},
    ],
    ids=["cycle", "builtin", "private", "import", "model attribute", "same name", "null", "absent", "no object"],
)
def test_the_template_leaves_what_it_has_no_form_for(definitions: dict[str, Any]) -> None:
    assert describe({"$defs": definitions}) is None


def test_models_that_contain_each_other_are_generated_and_formatted() -> None:
    chain = ("Alpha", "Beta", "Gamma")
    definitions = {
        name: {"type": "object", "properties": {"next": {"$ref": f"#/$defs/{following}"}}}
        for name, following in zip(chain, (*chain[1:], chain[0]), strict=True)
    }
    text = models({"$defs": definitions})
    assert all(f"class {name}(Model):\n    next: " in text for name in chain)
    assert formatted(text) == text


def test_direction_marks_in_a_description_are_escaped() -> None:
    note = {"type": "object", "description": "One\u202etwo"}
    assert '"""One\\u202etwo"""' in models({"$defs": {"Note": note}})
