"""The tokens of imported tools: shorter texts, folded values and rare parameters, all of them reported."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from click.testing import CliRunner
from toolmason_runtime.shared.tokens import estimate_tokens

from toolmason.catalogue.table import catalogue
from toolmason.commands import toolmason
from toolmason.diagnostics import Diagnostics
from toolmason.importers.design.budget import sentences, usefulness
from toolmason.importers.manifest_writer import resolve_tables

LONG = "Only the items of this shop. " + "It explains everything again at length, with words. " * 6
TEXT = {"type": "string"}


def imported(
    tmp_path: Path, parameters: list[dict[str, Any]], *options: str, body: dict[str, Any] | None = None
) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Import one operation; return its tool and the losses."""
    operation: dict[str, Any] = {"operationId": "findItems", "summary": "Find items by color", "parameters": parameters}
    if body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    source, report = tmp_path / "shop.json", tmp_path / "report.json"
    paths = {"/items": {"post" if body else "get": operation}}
    source.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "Shop"}, "paths": paths}), encoding="utf-8")
    manifest = tmp_path / "shop.toml"
    command = ["import", "openapi", str(source), "-o", str(manifest), "--report", str(report), *options]
    result = CliRunner().invoke(toolmason, command)
    assert result.exit_code == 0, result.output
    [losses] = [entry["losses"] for entry in json.loads(report.read_text(encoding="utf-8"))["operations"].values()]
    return tomllib.loads(manifest.read_text(encoding="utf-8")), losses


def tokens(data: dict[str, Any]) -> int:
    """Return the tokens of the parameters of the only tool as clients get them."""
    server = resolve_tables(data, tomli_w.dumps(data), diagnostics=Diagnostics(), root=Path())
    assert server
    [entry] = catalogue(server)["tools"].values()
    return estimate_tokens(json.dumps(entry["tool"]["inputSchema"], separators=(",", ":")))


def query(count: int, **schema: Any) -> list[dict[str, Any]]:
    return [
        {"name": f"part{number}", "in": "query", "description": LONG, "schema": {**TEXT, **schema}}
        for number in range(count)
    ]


def nested(*, required: bool) -> dict[str, Any]:
    members = {f"member{number}": {**TEXT, "description": LONG} for number in range(40)}
    inner = {"type": "object", "required": ["member0"], "properties": members}
    properties = {"address": inner, "name": TEXT}
    return {"type": "object", "properties": properties, "required": ["address"] if required else []}


def test_descriptions_are_shortened_after_a_sentence(tmp_path: Path) -> None:
    data, losses = imported(tmp_path, query(8))

    params = data["tools"]["find_items"]["params"]
    assert len(params) == 8
    assert {entry["description"][-1] for entry in params.values()} == {"."}
    assert all(LONG.startswith(entry["description"]) for entry in params.values())
    assert "rare" not in {loss["kind"] for loss in losses}
    assert tokens(data) <= 600


def test_rare_parameters_are_left_out_and_reported(tmp_path: Path) -> None:
    parameters = [*query(60), {"name": "limit", "in": "query", "schema": {"type": "integer"}}]
    parameters += [{"name": "color", "in": "query", "schema": TEXT}, {"name": "shop", "in": "query", "required": True}]

    data, losses = imported(tmp_path, parameters)

    params = data["tools"]["find_items"]["params"]
    assert {"shop", "limit", "color", "part0"} <= params.keys()
    left_out = [loss["detail"] for loss in losses if loss["kind"] == "rare"]
    assert {*left_out, *params} == {parameter["name"] for parameter in parameters}
    assert left_out
    assert 400 < tokens(data) <= 600


@pytest.mark.parametrize(
    ("options", "maximum"), [(["--all-params"], 20_000), (["--max-tokens", "300"], 300), (["--max-tokens", "900"], 900)]
)
def test_the_budget_can_be_chosen(tmp_path: Path, options: list[str], maximum: int) -> None:
    data, losses = imported(tmp_path, query(60), *options)

    assert maximum / 2 < tokens(data) or "--all-params" in options
    assert tokens(data) <= maximum
    assert (len(data["tools"]["find_items"]["params"]) == 60) == ("--all-params" in options)
    assert bool(losses) != ("--all-params" in options)


def test_long_enumerations_are_folded(tmp_path: Path) -> None:
    data, losses = imported(tmp_path, query(3, enum=[f"choice_{number}" for number in range(90)]))

    params = data["tools"]["find_items"]["params"]
    assert [("enum" in entry) for entry in params.values()] == [False] * 3
    assert params["part0"]["description"].endswith(
        "One of 90 values, such as `choice_0`, `choice_1`, `choice_2`, `choice_3`"
    )
    assert {"kind": "constraint", "detail": "part0: 90 choices, which need too many tokens"} in losses


@pytest.mark.parametrize("required", [True, False])
def test_types_are_folded_with_the_names_of_their_members(tmp_path: Path, *, required: bool) -> None:
    data, losses = imported(tmp_path, query(1), body=nested(required=required))

    address = data["tools"]["find_items"]["params"]["address"]
    assert address["type"] == "object"
    assert "Members: member0 (required), member1, member2" in address["description"]
    assert {"kind": "large", "detail": "address"} in losses
    assert tokens(data) <= 600


def test_an_exact_schema_fits_or_is_replaced(tmp_path: Path) -> None:
    anything = {"anyOf": [{"type": "string"}, {"type": "object"}, {"type": "array", "items": {}}]}
    properties = {f"part{number}": {**anything, "description": LONG} for number in range(14)}

    data, losses = imported(tmp_path, [], body={"type": "object", "required": ["part0"], "properties": properties})

    schema = data["tools"]["find_items"]["input_schema"]
    assert "part0" in schema["properties"]
    assert {*schema["properties"], *(loss["detail"] for loss in losses)} == properties.keys()
    assert tokens(data) <= 600

    (tmp_path / "shop.toml").unlink()
    data, losses = imported(
        tmp_path, [], body={"type": "object", "required": list(properties), "properties": properties}
    )
    assert "input_schema" not in data["tools"]["find_items"]
    assert {"kind": "any", "detail": "body: its exact schema has more than 600 tokens"} in losses


@pytest.mark.parametrize("is_exact", [True, False])
def test_the_only_parameter_is_never_left_out(tmp_path: Path, *, is_exact: bool) -> None:
    anything = {"anyOf": [TEXT, {"type": "object"}, {"type": "array", "items": {}}]} if is_exact else TEXT
    members = {f"member{number}": {**anything, "description": LONG} for number in range(60)}
    items = {"type": "array", "items": {"type": "object", "properties": members}}

    data, losses = imported(tmp_path, [], body={"type": "object", "properties": {"items": items}})

    assert data["tools"]["find_items"]["params"]["items"]["type"] == "object[]"
    assert {"kind": "large", "detail": "items"} in losses
    assert tokens(data) <= 600


def test_an_update_leaves_out_no_parameter_of_the_manifest(tmp_path: Path) -> None:
    before, _ = imported(tmp_path, query(60), "--all-params")
    record = tmp_path / "shop.openapi.json"
    content = json.loads(record.read_text(encoding="utf-8"))
    del content["options"]["max_tokens"]  # as earlier versions wrote it
    record.write_text(json.dumps(content), encoding="utf-8")

    after, losses = imported(tmp_path, query(60))

    assert after == before
    assert not losses

    limited, _ = imported(tmp_path, query(61), "--max-tokens", "600")
    assert limited["tools"]["find_items"]["params"].keys() == before["tools"]["find_items"]["params"].keys()


def test_headers_deprecated_and_shared_parameters_are_used_least() -> None:
    params: dict[str, dict[str, Any]] = {
        "color": {},
        "legacy_id": {},
        "trace": {"header": "X-Trace"},
        "size": {"description": "Deprecated: use width."},
        "quotaUser": {},
        "tenant": {},
        "limit": {},
    }

    use = usefulness(params, "Find items by color", {"tenant", "limit"})

    assert {*sorted(params, key=lambda name: -use[name])[:2]} == {"color", "limit"}
    assert max(use[name] for name in ("legacy_id", "trace", "size", "quotaUser", "tenant")) < 0


@pytest.mark.parametrize(
    ("text", "length", "short"),
    [
        ("One. Two. Three.", 10, "One. Two."),
        ("A first sentence that is longer than the limit. Two.", 20, "A first sentence that is longer than the limit."),
        ("word " * 60, 70, ("word " * 31).strip() + "…"),
    ],
)
def test_a_description_ends_with_a_sentence_if_possible(text: str, length: int, short: str) -> None:
    assert sentences(text, length) == short
