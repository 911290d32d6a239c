"""Documents that contradict themselves, or that a manifest can express only in another way: nothing gets lost."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.commands import toolmason


def imported(tmp_path: Path, paths: dict[str, Any], *options: str, **components: Any) -> dict[str, Any]:
    """Return the manifest of a document, of which all operations become tools."""
    source = tmp_path / "api.json"
    data = {
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": "https://shop.example"}],
        "paths": paths,
        "components": {"schemas": components},
    }
    source.write_text(json.dumps(data), encoding="utf-8")
    result = CliRunner().invoke(toolmason, ["import", "openapi", str(source), *options])
    assert result.exit_code == 0, result.output
    tables = tomllib.loads(result.stdout)
    assert len(tables["tools"]) == sum(map(len, paths.values()))
    return tables


def body(schema: Any, media: str = "application/json", *, required: bool = True) -> dict[str, Any]:
    return {"requestBody": {"required": required, "content": {media: {"schema": schema}}}, "responses": {}}


def test_operations_that_only_a_fragment_distinguishes_are_tools_with_one_path(tmp_path: Path) -> None:
    target = {"name": "X-Target", "in": "header", "required": True, "schema": {"type": "string", "enum": ["Get"]}}
    tables = imported(
        tmp_path,
        {
            "/files/{id}": {"put": {"operationId": "update_file", "responses": {}}},
            "/files/{id}#add_link": {"put": {"operationId": "add_link_to_file", "responses": {}}},
            "/files/{id}?part=link#remove": {"put": {"operationId": "remove_link", "responses": {}}},
            "/#Target=Get": {"post": {"operationId": "get_table", "parameters": [target], "responses": {}}},
        },
    )

    assert {name: tool["http"] for name, tool in tables["tools"].items()} == {
        "update_file": "PUT /files/{id}",
        "add_link_to_file": "PUT /files/{id}",
        "remove_link": "PUT /files/{id}?part=link",
        "get_table": "POST /",
    }
    assert tables["tools"]["get_table"]["params"]["target"]["header"] == "X-Target"


@pytest.mark.parametrize("media", ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["grant"], "properties": {"id": {"type": "string"}}},
        {"allOf": [{"required": ["grant"]}, {"type": "object", "properties": {"id": {"type": "string"}}}]},
        {"type": "object", "required": ["grant"], "additionalProperties": True},
    ],
    ids=["beside others", "allOf", "alone"],
)
def test_a_required_member_without_a_declaration_is_a_text(tmp_path: Path, schema: Any, media: str) -> None:
    tables = imported(tmp_path, {"/grants": {"post": {"operationId": "create_grant", **body(schema, media)}}})

    grant = tables["tools"]["create_grant"]["params"]["grant"]
    assert grant["type"] == "string"
    assert grant.get("required", True)


def test_a_member_that_no_schema_permits_is_left_out(tmp_path: Path) -> None:
    closed = {
        "type": "object",
        "required": ["grant"],
        "properties": {"id": {"type": "string"}},
        "additionalProperties": False,
    }
    tables = imported(tmp_path, {"/grants": {"post": {"operationId": "create_grant", **body(closed)}}})

    assert list(tables["tools"]["create_grant"]["params"]) == ["id"]


def test_a_required_member_inside_a_type_is_a_text(tmp_path: Path) -> None:
    invite = {
        "type": "object",
        "properties": {
            "group": {"type": "object", "required": ["id"], "properties": {"name": {"type": "string"}}},
        },
    }
    tables = imported(tmp_path, {"/invites": {"post": {"operationId": "create_invite", **body(invite)}}})

    kind = tables["tools"]["create_invite"]["params"]["group"]["type"]
    assert tables["types"][kind]["fields"]["id"]["type"] == "string"


@pytest.mark.parametrize("schema", [{}, {"description": "A file"}, {"anyOf": [{}, {"type": "string"}]}])
@pytest.mark.parametrize("media", ["application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_value_of_any_kind_in_a_form_is_a_text(tmp_path: Path, schema: Any, media: str) -> None:
    form = {"type": "object", "properties": {"photo": schema}}
    tables = imported(tmp_path, {"/photos": {"post": {"operationId": "send_photo", **body(form, media)}}})

    tool = tables["tools"]["send_photo"]
    photo = tool["params"]["photo"] if "params" in tool else tool["input_schema"]["properties"]["photo"]
    assert "string" in [kind.get("type") for kind in photo.get("anyOf", [photo])]


@pytest.mark.parametrize(
    "member",
    [
        {"$ref": "#/components/schemas/Device"},
        {"allOf": [{"$ref": "#/components/schemas/Device"}], "nullable": True},
        {"type": "array", "items": {"$ref": "#/components/schemas/Device"}},
    ],
    ids=["itself", "allOf", "list"],
)
def test_a_member_with_the_name_of_its_type_is_kept(tmp_path: Path, member: Any) -> None:
    tables = imported(
        tmp_path,
        {"/plays": {"post": {"operationId": "start_play", **body({"$ref": "#/components/schemas/Play"})}}},
        Device={"type": "object", "properties": {"volume": {"type": "integer"}}},
        Play={"type": "object", "properties": {"Device": member, "id": {"type": "string"}}},
    )

    params = tables["tools"]["start_play"]["params"]
    assert list(params) == ["Device", "id"]
    assert "volume" in tables["types"][params["Device"]["type"].removesuffix("[]")]["fields"]


def test_without_a_budget_a_long_schema_is_exact(tmp_path: Path) -> None:
    many = {f"field_{number}": {"type": "string", "description": "Long. " * 12} for number in range(150)}
    message = {
        "type": "object",
        "required": ["to"],
        "properties": {"to": {"anyOf": [{"type": "integer"}, {"type": "string"}]}, **many},
    }
    paths = {"/messages": {"post": {"operationId": "send_message", **body(message)}}}

    whole = imported(tmp_path, paths, "--all-params")["tools"]["send_message"]
    fitting = imported(tmp_path, paths)["tools"]["send_message"]

    assert whole["input_schema"]["properties"]["to"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert len(whole["input_schema"]["properties"]) == 151
    assert estimate_tokens(json.dumps(fitting)) < 1_000


def test_parts_of_a_form_are_exact_unless_one_is_a_file(tmp_path: Path) -> None:
    chat = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    text: dict[str, Any] = {
        "type": "object",
        "required": ["chat"],
        "properties": {"chat": chat, "game": {"type": "object"}},
    }
    photo = {**text, "properties": {**text["properties"], "photo": {"type": "string", "format": "binary"}}}
    tables = imported(
        tmp_path,
        {
            "/texts": {"post": {"operationId": "send_text", **body(text, "multipart/form-data")}},
            "/photos": {"post": {"operationId": "send_photo", **body(photo, "multipart/form-data")}},
        },
    )

    exact, with_file = tables["tools"]["send_text"], tables["tools"]["send_photo"]
    assert exact["body"] == "multipart"
    assert exact["input_schema"]["properties"]["chat"] == chat
    assert with_file["params"]["chat"]["type"] == "string"
    assert with_file["params"]["photo"]["file"]
