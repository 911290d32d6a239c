"""Results of imported tools: types of the documented answers."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolmason.commands import toolmason
from toolmason.importers.openapi.answers import Answers
from toolmason.importers.openapi.document import OpenApi
from toolmason.importers.openapi.losses import Losses

PET = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
COMPONENTS = {
    "Pet": PET,
    "Owner": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "pets": {"type": "array", "items": {"$ref": "#/components/schemas/Pet"}},
        },
    },
    "Node": {
        "type": "object",
        "properties": {"key": {"type": "string"}, "parent": {"$ref": "#/components/schemas/Node"}},
    },
    "Page": {
        "type": "object",
        "properties": {
            "data": {"type": "array", "items": {"$ref": "#/components/schemas/Owner"}},
            "has_more": {"type": "boolean"},
            "meta": {"type": "object", "properties": {"total": {"type": "integer"}}},
        },
    },
}


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def answers(
    schema: Any, *, status: Any = "200", kind: str = "application/json", method: str = "get", more: Any = None
) -> tuple[str, Answers]:
    """Return the result of a tool whose operation answers with a schema, and the types."""
    response = {"content": {kind: {"schema": schema}}} if schema is not None else {}
    operation = {"responses": {status: response, **(more or {})}}
    document = OpenApi({"paths": {"/x": {method: operation}}, "components": {"schemas": COMPONENTS}})
    found = Answers(document, Losses(), {"Taken": {}, "GetXResult": {}})
    [declared] = document.operations()
    return found.returns(declared, "get_x"), found


def fields(found: Answers, name: str) -> dict[str, str]:
    return {key: value["type"] for key, value in found.tables[name]["fields"].items()}


@pytest.mark.parametrize(
    ("arguments", "returns"),
    [
        ({"schema": ref("Pet")}, "Pet"),
        ({"schema": {"type": "array", "items": ref("Pet")}}, "Pet[]"),
        ({"schema": {"allOf": [ref("Pet")]}}, "Pet"),
        ({"schema": PET}, "GetXAnswer"),
        ({"schema": {"type": "array", "items": PET}}, "GetXItem[]"),
        ({"schema": {"oneOf": [ref("Pet"), {"type": "null"}]}}, "Pet"),
        ({"schema": ref("Pet"), "status": 200}, "Pet"),
        ({"schema": ref("Pet"), "status": "2XX"}, "Pet"),
        ({"schema": ref("Pet"), "status": "default"}, "Pet"),
        ({"schema": ref("Pet"), "kind": "application/vnd.api+json; charset=utf-8"}, "Pet"),
        ({"schema": ref("Pet"), "kind": "*/*"}, "Pet"),
        ({"schema": ref("Pet"), "more": {"404": {"content": {"application/json": {"schema": {}}}}}}, "Pet"),
        ({"schema": ref("Pet"), "more": {"201": {"content": {"application/json": {"schema": ref("Pet")}}}}}, "Pet"),
        ({"schema": ref("Pet"), "more": {"204": {"description": "deleted"}}}, "Pet"),
        ({"schema": None, "more": {"201": {"content": {"application/json": {"schema": ref("Pet")}}}}}, "Pet"),
        # No result, or not always the same one.
        ({"schema": ref("Pet"), "more": {"202": {"content": {"text/csv": {"schema": {"type": "string"}}}}}}, ""),
        ({"schema": ref("Pet"), "more": {"202": {"content": {"application/json": {"schema": ref("Owner")}}}}}, ""),
        ({"schema": ref("Pet"), "method": "head"}, ""),
        ({"schema": ref("Pet"), "kind": "text/csv"}, ""),
        ({"schema": None}, ""),
        ({"schema": {}}, ""),
        ({"schema": {"type": "string"}}, ""),
        ({"schema": {"type": "array", "items": {"type": "string"}}}, ""),
        ({"schema": {"type": "object", "additionalProperties": {"type": "string"}}}, ""),
        ({"schema": {"type": "object", "properties": {"password": {"type": "string", "writeOnly": True}}}}, ""),
        ({"schema": ref("Missing")}, ""),
    ],
)
def test_a_result_has_the_type_of_the_success(arguments: dict[str, Any], returns: str) -> None:
    assert answers(**arguments)[0] == returns


TEXT = {"type": "string"}
ROWS = {"type": "array", "items": {"type": "array", "items": TEXT}}
NO_CONTENT: dict[str, tuple[dict[str, Any], str]] = {
    "rows of a sheet": ({"range": TEXT, "values": ROWS}, ""),
    "coordinates": ({"type": TEXT, "coordinates": ROWS}, ""),
    "items of any type": ({"total": {"type": "integer"}, "items": {"type": "array", "items": {}}}, ""),
    "a result of any type": ({"success": {"type": "boolean"}, "result": {}}, ""),
    "rows inside of an object": ({"status": TEXT, "data": {"type": "object", "properties": {"rows": ROWS}}}, ""),
    "rows of an object with a name": ({"id": TEXT, "rows": ROWS}, ""),
    "rows beside the page": ({"page_info": {"type": "object", "properties": {"next": TEXT}}, "rows": ROWS}, ""),
    "a lesser member of an object with a name": ({"id": TEXT, "name": TEXT, "metadata": {}}, "GetXAnswer"),
    "an error of any type": ({"success": {"type": "boolean"}, "errors": {}}, "GetXAnswer"),
    "other content": ({"total": {"type": "integer"}, "pets": {"type": "array", "items": PET}, "x": {}}, "GetXAnswer"),
}


@pytest.mark.parametrize(("properties", "returns"), NO_CONTENT.values(), ids=NO_CONTENT)
def test_an_answer_whose_content_no_type_can_express_is_whole(properties: dict[str, Any], returns: str) -> None:
    assert answers({"type": "object", "properties": properties})[0] == returns


@pytest.mark.parametrize(("others", "returns"), [({"type": "number"}, ""), (True, "GetXAnswer"), ({}, "GetXAnswer")])
def test_an_answer_with_members_of_any_name_is_whole(others: Any, returns: str) -> None:
    schema = {"type": "object", "properties": {"base": TEXT}, "additionalProperties": others}

    assert answers(schema)[0] == returns


def test_members_whose_names_cannot_be_fields_are_reported() -> None:
    schema = {"type": "object", "properties": {"id": TEXT, "@type": TEXT, "订单": TEXT, "x y": TEXT}}
    _, found = answers(schema)

    assert found.losses.of("GET /x") == [{"kind": "answer", "detail": "GetXAnswer: @type, 订单, x y"}]


def test_objects_inside_of_an_object_are_parts_without_further_objects() -> None:
    _, found = answers(ref("Node"))

    assert fields(found, "Node") == {"key": "string", "parent": "NodePart"}
    assert fields(found, "NodePart") == {"key": "string"}


def test_the_content_of_an_envelope_is_whole() -> None:
    returns, found = answers(ref("Page"))

    assert returns == "Page"
    assert fields(found, "Page") == {"data": "Owner[]", "has_more": "boolean", "meta": "Meta"}
    assert fields(found, "Owner") == {"name": "string", "pets": "PetPart[]"}


def test_equal_objects_without_a_name_share_a_type_and_others_have_their_own() -> None:
    first = {"type": "object", "properties": {"id": {"type": "string"}}}
    second = {"type": "object", "properties": {"id": {"type": "integer"}}}
    _, found = answers(
        {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "categories": {"type": "array", "items": first},
                "category": first,
                "inner": {"type": "object", "properties": {"x": {"type": "string"}}},
                "Inner": second,
                "taken": second,
            },
        }
    )

    assert fields(found, "GetXAnswer") == {
        "id": "string",
        "categories": "Category[]",
        "category": "Category",
        "inner": "Inner",
        "Inner": "GetXInner",
        "taken": "GetXTaken",
    }


def test_fields_that_matter_stay_and_the_others_are_named() -> None:
    names = [*(f"extra_{number}" for number in range(60)), "archive_url", "id", "title", "status"]
    returns, found = answers({"type": "object", "properties": {name: {"type": "string"} for name in names}})

    kept = fields(found, returns)
    assert {"id", "title", "status"} <= kept.keys()
    assert 10 < len(kept) < 40
    [loss] = found.losses.of("GET /x")
    assert loss["kind"] == "answer"
    assert set(loss["detail"].removeprefix(f"{returns}: ").split(", ")) == set(names) - kept.keys()


def test_an_answer_may_lack_every_field_and_keeps_no_constraint() -> None:
    schema = {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "string", "enum": ["a"], "minLength": 1}},
    }
    returns, found = answers(schema)

    assert found.tables[returns]["fields"]["id"] == {"type": "string", "required": False}


def test_an_imported_manifest_has_results_beside_types_of_its_inputs(tmp_path: Path) -> None:
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"pet": ref("Pet")}}}}}
    responses = {"200": {"description": "ok", "content": {"application/json": {"schema": ref("Pet")}}}}
    operation = {"operationId": "putPet", "requestBody": body, "responses": responses}
    document = {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://example.com"}],
        "paths": {"/pet": {"put": operation}},
        "components": {"schemas": COMPONENTS},
    }
    (tmp_path / "api.json").write_text(json.dumps(document), encoding="utf-8")

    run = CliRunner().invoke(
        toolmason, ["import", "openapi", str(tmp_path / "api.json"), "-o", str(tmp_path / "m.toml")]
    )

    assert run.exit_code == 0, run.output
    data = tomllib.loads((tmp_path / "m.toml").read_text(encoding="utf-8"))
    [tool] = data["tools"].values()
    assert (tool["params"]["pet"]["type"], tool["returns"]) == ("Pet", "PetAnswer")
    assert data["types"].keys() == {"Pet", "PetAnswer"}
