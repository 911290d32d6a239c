"""Names come out legal, and alike for the same words."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmason.model.identifiers import class_name, constant_name, identifier
from toolmason.model.type_expression import MalformedTypeError, format_type, parse
from toolmason.model.types import ArrayType, MapType, NamedType, PrimitiveType, TypeRef
from toolmason.resolve.call_expression import invocation
from toolmason.resolve.tool_names import tool_name_problem

PRIMITIVES = ["string", "integer", "number", "boolean", "object"]
type_refs: st.SearchStrategy[TypeRef] = st.recursive(
    st.sampled_from(PRIMITIVES).map(PrimitiveType) | st.sampled_from(["Book", "Req_2"]).map(NamedType),  # type: ignore[arg-type]  # they are kinds
    lambda inner: inner.map(ArrayType) | inner.map(MapType),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("text", "snake", "pascal", "constant"),
    [
        ("read_files", "read_files", "ReadFiles", "READ_FILES"),
        ("readHTTPFile2", "readHTTPFile2", "ReadHTTPFile2", "READ_HTTP_FILE_2"),
        ("lim-it", "lim_it", "LimIt", "LIM_IT"),
        ("class", "class_", "Class", "CLASS"),
        ("2fast", "_2fast", "T2Fast", "_2_FAST"),
        ("日本", "__", "T", "TOOL"),
    ],
)
def test_name_in_each_form(text: str, snake: str, pascal: str, constant: str) -> None:
    assert (identifier(text), class_name(text), constant_name(text)) == (snake, pascal, constant)


@given(st.text())
def test_every_form_of_any_text_is_legal_python(text: str) -> None:
    for name in (identifier(text), class_name(text), constant_name(text)):
        assert name.isidentifier()
        assert name.isascii()
        assert not keyword.iskeyword(name)


@given(type_refs)
def test_a_type_reads_back_as_it_is_spelt(ref: TypeRef) -> None:
    assert parse(format_type(ref)) == ref


@pytest.mark.parametrize("text", ["", "list of string", "string[", "map<", "map<string", "a.b", "string[]]", "map<>"])
def test_invalid_type_expressions_are_rejected(text: str) -> None:
    with pytest.raises(MalformedTypeError, match="is not a type"):
        parse(text)


def test_lists_nest_only_as_deep_as_providers_take() -> None:
    assert parse("string" + "[]" * 8)
    with pytest.raises(MalformedTypeError, match="more than 8 levels"):
        parse("string" + "[]" * 9)


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("read_files", ""),
        ("a" * 50, ""),
        ("a" * 51, "is too long"),
        ("read.files", "characters that clients reject"),
        ("2fast", "Gemini rejects"),
        ("-x", "Gemini rejects"),
    ],
)
def test_tool_name_is_counted_with_the_prefix_of_clients(tool: str, reason: str) -> None:
    assert reason in tool_name_problem(tool, "catalog")
    assert bool(tool_name_problem(tool, "catalog")) == bool(reason)


def test_a_call_is_written_as_python_and_odd_names_go_behind_two_stars() -> None:
    arguments = {"files": [{"path": "a.md"}], "lim-it": 1, "class": "x"}
    assert invocation("read", arguments) == "read(files=[{'path': 'a.md'}], **{'lim-it': 1, 'class': 'x'})"
