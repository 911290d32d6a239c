"""Models are made of any schemas, and parameters with any name."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmason.manifest.tables import CategoryTable
from toolmason.model.identifiers import member_names
from toolmason.model.server import Category
from toolmason.model.types import (
    ArrayType,
    ClassName,
    EnumType,
    Identifier,
    NamedType,
    ObjectType,
    PrimitiveType,
    Property,
)
from toolmason.render.pydantic_models import models, schemas

VALUES = ("1", "a b", "a-b", "name", "title", "None", "Ä", "%", "in", "__x__", "A", "a")


def category(*fields: Property) -> Category:
    return Category(
        name="notes",
        module=Identifier("notes"),
        table=CategoryTable(summary="Notes"),
        has_json_errors=False,
        tools=(),
        types=(ObjectType(name=ClassName("Note"), description="", fields=fields),),
        shared_types=(),
        contract_models=(),
        handler_modules=(),
        kinds=(),
    )


def source_of(*fields: Property) -> dict[str, Any]:
    return schemas(category(*fields), "notes_server")


def test_members_of_enumerations_have_names_that_python_and_strings_allow() -> None:
    names = ["value_1", "a_b", "a_b_2", "name_", "title_", "None_", "value_", "value__2", "in_", "x", "A", "a"]
    assert list(member_names(VALUES)) == names
    odd = EnumType(name=ClassName("Odd"), description='Says "hi"', choices=VALUES)
    fields = (Property(name="odd", type=NamedType(odd.name), has_default=True, required=False, default="title"),)
    named = replace(category(*fields), types=(odd, ObjectType(name=ClassName("Note"), description="", fields=fields)))
    text = models(schemas(named, "notes_server"))
    assert [line.split(" = ")[0].strip() for line in text.splitlines() if line.startswith("    ") and "= " in line][
        : len(names)
    ] == names
    assert "odd: Odd = Odd.title_" in text


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, min_size=1))
def test_any_texts_are_an_enumeration(values: list[str]) -> None:
    members = StrEnum("Members", list(zip(member_names(values), values, strict=True)))  # type: ignore[misc]
    assert [str(member) for member in members] == values


@pytest.mark.parametrize("name", ["list", "bool", "int", "str", "float", "dict"])
def test_field_may_have_the_name_of_a_builtin_that_another_field_uses(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = [
        Property(name=name, type=PrimitiveType("boolean")),
        Property(name="texts", type=ArrayType(PrimitiveType("string"))),
        Property(name="numbers", type=ArrayType(PrimitiveType("number"))),
        Property(name="counts", type=ArrayType(PrimitiveType("integer"))),
        Property(name="free", type=PrimitiveType("object")),
    ]
    text = models(source_of(*fields))
    made = ModuleType("made_models")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(text, "models.py", "exec"), vars(made))
    sent = {name: True, "texts": ["a"], "numbers": [0.5], "counts": [1], "free": {"a": 1}}
    assert made.Note.model_validate(sent).model_dump(by_alias=True) == sent


def test_description_that_reads_like_an_import_stays_where_it_is() -> None:
    note = Property(name="a", type=PrimitiveType("string"), description="One\nfrom os import path\nimport re")
    assert "from os import path" in models(source_of(note)).partition("class Note")[2]
