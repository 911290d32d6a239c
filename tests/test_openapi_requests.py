"""The measurement of docs/openapi.md on small documents: generated servers send the documented requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from bench.openapi.calls import without_credential
from bench.openapi.documents import Document
from bench.openapi.measure import measure
from bench.openapi.samples import Sample, Sampler, read_document
from bench.openapi.wire import Received, differences

FIXTURES = Path(__file__).parent / "generator" / "importers" / "fixtures"


@pytest.mark.parametrize("file", ["shop.yaml", "notes.json"], ids=["openapi 3.0", "openapi 3.1"])
def test_each_generated_tool_sends_the_documented_requests(file: str, tmp_path: Path) -> None:
    source = tmp_path / "document.json"
    source.write_text(json.dumps(yaml.safe_load((FIXTURES / file).read_text(encoding="utf-8"))), encoding="utf-8")
    document = Document(title="Test", name="test")

    result = measure(document, source, tmp_path / "project")

    assert not result.failures, result.failures
    assert result.sent == result.started == result.generated == result.operations


def sampler(schema: dict[str, Any], **components: Any) -> tuple[Sampler, dict[str, Any]]:
    content = {"application/json": {"schema": schema}}
    operation = {"requestBody": {"required": True, "content": content}}
    document = {"openapi": "3.0.3", "paths": {"/a": {"post": operation}}, "components": {"schemas": components}}
    return Sampler(document), operation


def body_of(found: tuple[Sampler, dict[str, Any]]) -> Any:
    return found[0].sample(found[1], [], full=True, seed=1).body


def test_a_reference_may_lead_into_a_list() -> None:
    parts = {"allOf": [{"type": "object"}, {"type": "object", "properties": {"id": {"type": "integer"}}}]}

    assert body_of(sampler({"$ref": "#/components/schemas/Parts/allOf/1"}, Parts=parts)) == {"id": 7}


@pytest.mark.parametrize(
    "member",
    [
        {"type": "integer", "readOnly": True},
        {"$ref": "#/components/schemas/Id"},
        {"allOf": [{"type": "integer"}, {"readOnly": True}]},
        {"allOf": [{"allOf": [{"$ref": "#/components/schemas/Id"}]}]},
    ],
)
def test_a_member_that_only_answers_have_is_not_sent(member: dict[str, Any]) -> None:
    schema = {"type": "object", "properties": {"id": member, "count": {"type": "integer"}}}

    assert body_of(sampler(schema, Id={"type": "integer", "readOnly": True})) == {"count": 7}


def test_what_is_required_beside_a_reference_is_sent() -> None:
    droplets = {"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}}
    tested, operation = sampler({"$ref": "#/components/schemas/Ids", "required": ["ids"]}, Ids=droplets)

    assert tested.sample(operation, [], full=False, seed=1).body == {"ids": []}


def test_a_required_member_without_a_declaration_is_sent() -> None:
    schema = {"type": "object", "required": ["grant"], "properties": {"id": {"type": "integer"}}}

    assert body_of(sampler(schema)) == {"id": 7, "grant": "any"}


def test_discriminators_that_lead_nowhere_are_ignored(tmp_path: Path) -> None:
    branch = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string", "enum": ["a"]}}}
    names = {"propertyName": "kind", "mapping": {"a": "models/a.yml#/a"}}
    path = tmp_path / "document.json"
    path.write_text(json.dumps({"schema": {"anyOf": [branch], "discriminator": names}}), encoding="utf-8")

    assert read_document(path) == {"schema": {"anyOf": [branch]}}


def received(target: str, *parts: tuple[str, str]) -> Received:
    body = "".join(f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in parts)
    headers = {"content-type": "multipart/form-data; boundary=x"} if parts else {}
    return Received(method="POST", target=target, headers=headers, body=f"{body}--x--\r\n".encode() if parts else b"")


def test_a_form_has_a_part_for_each_item_and_objects_in_any_order() -> None:
    body = {"tags": ["a", "b"], "none": [], "place": {"x": 1, "y": 2}}
    sample = Sample(parts=(), media="multipart/form-data", body=body)
    right = received("/a", ("place", '{"y": 2, "x": 1}'), ("tags", "a"), ("tags", "b"))
    wrong = received("/a", ("place", '{"y": 2, "x": 1}'), ("tags", "a,b"))

    assert list(differences(sample, "POST", "/a", right)) == []
    assert list(differences(sample, "POST", "/a", wrong))


@pytest.mark.parametrize(
    ("target", "rest"),
    [("/a?key=s&q=1", "/a?q=1"), ("/a?q=1&key=s", "/a?q=1"), ("/a?key=s", "/a"), ("/a?keys=1&key=s", "/a?keys=1")],
)
def test_the_credential_in_the_query_is_not_an_argument(target: str, rest: str) -> None:
    assert without_credential(received(target), {"query": "key"}).target == rest
