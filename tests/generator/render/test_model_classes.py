"""The template writes the models that datamodel-code-generator generates of the same schemas, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolmason.diagnostics import Diagnostics
from toolmason.manifest.files import load_manifest
from toolmason.manifest.validate import validate
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
from toolmason.render.pydantic_models import models, schemas, shared_schemas, templated_models, type_schemas
from toolmason.resolve import resolve

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


GOLDEN = Path(__file__).parents[2] / "golden"
NUMBER_OF_TYPES = 2_000
MODULE = 200
"""Types of a generated module."""


def both_ways(sources: Mapping[str, dict[str, Any]]) -> tuple[dict[PurePosixPath, str], dict[PurePosixPath, str]]:
    """Return the formatted modules of the template, and those of datamodel-code-generator."""
    written = {PurePosixPath(f"{key}.py"): text for key, text in templated_models(dict(sources)).items()}
    generated = generated_models({path.stem: sources[path.stem] for path in written})
    return format_python(written), format_python({path: generated[path.stem] for path in written})


@pytest.mark.uncovered
def test_two_thousand_random_types_have_the_same_models_both_ways() -> None:
    random = Random(2_000)
    sources = {
        f"module_{number}": type_schemas(random_types(random, MODULE)) for number in range(NUMBER_OF_TYPES // MODULE)
    }
    written, generated = both_ways(sources)
    assert len(written) == len(sources)
    assert written == generated


def random_types(random: Random, count: int) -> list[DeclaredType]:
    """Return objects with fields of each kind, and enumerations; a type refers to those before it and to itself."""
    types: list[DeclaredType] = []
    for number in range(count):
        name, description = ClassName(f"Type{number}"), random.choice(TEXTS).strip()
        if number % 7 == 0:
            choices = tuple(random.sample(["x", "y z", "title", "1", "é", "A", "none", "and"], 3))
            types.append(EnumType(name=name, description=description, choices=choices))
            continue
        known = [*(declared.name for declared in types), name]
        fields = [random_field(random, field, known) for field in random.sample(NAMES, random.randrange(7))]
        if len({field.name.replace(".", "_").replace("-", "_") for field in fields}) == len(fields):
            types.append(ObjectType(name=name, description=description, fields=tuple(fields)))
    return types


def random_field(random: Random, name: str, known: list[ClassName]) -> Property:
    plain: list[TypeRef] = [PrimitiveType(kind) for kind in VALUES]  # type: ignore[arg-type]  # keys are kinds
    ref = random.choice([*plain, NamedType(random.choice(known))])
    limits: dict[str, Any] = {}
    if isinstance(ref, PrimitiveType):
        limits = random.choice(CONSTRAINTS[ref.kind])
    for wrapper in random.choices((ArrayType, MapType), k=random.choice([0, 0, 0, 1, 2])):
        ref, limits = wrapper(ref), {}
    return Property(
        name=name,
        type=ref,
        description=random.choice(TEXTS).strip(),
        required=random.random() < 0.5,
        nullable=random.random() < 0.2,
        constraints=limits,
    )


@pytest.mark.uncovered
def test_every_golden_has_the_same_models_both_ways() -> None:
    sources: dict[str, dict[str, Any]] = {}
    for path in sorted(GOLDEN.glob("*/expected")):
        case = path.parent
        diagnostics = Diagnostics()
        document = load_manifest(case / "manifest.toml", root=case, diagnostics=diagnostics)
        tables = validate(document, diagnostics=diagnostics) if document else None
        server = resolve(tables, document, root=case, diagnostics=diagnostics) if document and tables else None
        assert server, case.name
        for category in server.modules:
            sources[f"{len(sources)}"] = schemas(category, server.package)
        sources[f"{len(sources)}"] = shared_schemas(server)
    written, generated = both_ways(sources)
    assert len(written) > 0.8 * len(sources)
    assert written == generated
