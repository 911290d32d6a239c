"""What handlers may return and how it goes over the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field
from toolmason_runtime import Reply
from toolmason_runtime.protocol.model import Model
from toolmason_runtime.protocol.results import ResultError, ResultWriter, encodable


class Part(Model):
    size: int | None = None


class Whole(Model):
    name: str = Field(alias="class")
    parts: list[Part]
    by_name: dict[str, Part]
    nothing: str | None = None


PART: dict[str, Any] = {"type": "object", "properties": {"size": {"type": "integer"}}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "class": {"type": "string"},
        "parts": {"type": "array", "items": PART},
        "by_name": {"type": "object", "additionalProperties": PART},
        "nothing": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["class", "nothing"],
}


def test_structure_has_the_names_of_the_wire_and_no_null_that_its_schema_forbids() -> None:
    whole = Whole.model_validate({"class": "größe", "parts": [Part(), Part(size=1)], "by_name": {"a": Part()}})
    result = ResultWriter(SCHEMA).to_wire(whole)

    assert result["structuredContent"] == {
        "class": "größe",
        "parts": [{}, {"size": 1}],
        "by_name": {"a": {}},
        "nothing": None,
    }
    assert result["content"] == [
        {"type": "text", "text": '{"class":"größe","parts":[{},{"size":1}],"by_name":{"a":{}},"nothing":null}'}
    ]


def tagged(tag: str, **properties: Any) -> dict[str, Any]:
    kind = {"type": "string", "enum": [tag]}
    return {"type": "object", "properties": {"kind": kind, **properties}, "required": ["kind"]}


@pytest.mark.parametrize(
    "union",
    [
        {"anyOf": [tagged("a"), tagged("b", size={"type": "integer"}, note={"type": ["string", "null"]})]},
        {"oneOf": [{"anyOf": [tagged("a"), {"type": "null"}]}, tagged("b", size={"type": "integer"})]},
        {"anyOf": [{"type": "null"}, {"type": "object", "properties": {"size": {"type": "integer"}}}]},
    ],
)
def test_members_of_unions_have_no_null_that_their_schema_forbids(union: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"parts": {"type": "array", "items": union}}}
    result = ResultWriter(schema).to_wire({"parts": [{"kind": "b", "size": None, "note": None}]})

    assert result["structuredContent"] == {"parts": [{"kind": "b", "note": None}]}


@pytest.mark.parametrize(
    "returned",
    ["text", None, {"class": 1, "nothing": None}, {"class": "a"}, Reply("no structure"), {"class": "a", "nothing": 1}],
)
def test_other_than_promised_is_an_error(returned: Any) -> None:
    with pytest.raises(ResultError):
        ResultWriter(SCHEMA).to_wire(returned)


def test_number_that_json_cannot_carry_is_an_error() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        ResultWriter({"type": "object"}).to_wire({"a": float("nan")})


def test_failure_needs_no_structured_content() -> None:
    result = ResultWriter(SCHEMA).to_wire(Reply("nothing there", is_error=True))

    assert result == {"content": [{"type": "text", "text": "nothing there"}], "isError": True}


def test_content_alone_has_no_structure() -> None:
    assert ResultWriter(None).to_wire(["a", "b"]) == {
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    }


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_text_encodable_in_utf_8_is_unchanged(value: Any) -> None:
    assert encodable(value) == value


@given(st.text(st.characters(categories=["Cs", "Ll"])))
def test_whatever_text_there_is_can_be_carried(text: str) -> None:
    json.dumps(encodable({text: [text]}), ensure_ascii=False).encode()


def test_tool_without_output_schema_may_return_structured_content() -> None:
    result = ResultWriter(None).to_wire(Reply('{"a":1}', structure={"a": 1}))

    assert result == {"content": [{"type": "text", "text": '{"a":1}'}], "structuredContent": {"a": 1}}
