"""docs/openapi.md: its manifest and update are those of the import, its options and limits those of the code."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Final

import pytest
import yaml
from click.testing import CliRunner
from pages import quoted, read

from toolmason.commands import toolmason
from toolmason.commands.import_openapi import openapi
from toolmason.importers.design.parameter_names import parameter_name
from toolmason.importers.openapi.raw import MAX_CHARACTERS
from toolmason.importers.openapi.values import MAX_LEVELS, MAX_SIZE

PAGE: Final = read("docs/openapi.md")


def imported(source: Path, manifest: Path) -> str:
    """Import a document and return what the command prints to stderr."""
    result = CliRunner().invoke(toolmason, ["import", "openapi", str(source), "-o", str(manifest)])
    assert result.exit_code == 0, result.output
    return result.stderr


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """The manifest of the page's document."""
    source, manifest = tmp_path / "shop.yaml", tmp_path / "shop.toml"
    source.write_text(PAGE.block("yaml"), encoding="utf-8")
    imported(source, manifest)
    return manifest


def test_the_manifest_of_the_page_is_that_of_the_import(manifest: Path) -> None:
    assert manifest.read_text(encoding="utf-8") == PAGE.block("toml")


def test_the_update_of_the_page_prints_its_report(manifest: Path) -> None:
    text = manifest.read_text(encoding="utf-8")
    manifest.write_text(text.replace("Words for the shop", "Wishes"), encoding="utf-8")
    document = yaml.safe_load(PAGE.block("yaml"))
    document["components"]["schemas"]["Order"]["properties"]["note"]["description"] = "Note for the shop"
    document["components"]["schemas"]["Line"]["properties"]["count"]["minimum"] = 2
    document["paths"]["/orders"]["get"] = {"operationId": "listOrders", "tags": ["orders"]}
    newer = manifest.with_name("newer.json")
    newer.write_text(json.dumps(document), encoding="utf-8")

    printed = imported(newer, manifest)

    assert all(line in printed.splitlines() for line in PAGE.block("text", "tools.").splitlines())
    assert "Wishes" in manifest.read_text(encoding="utf-8")


def test_the_note_of_the_page_names_the_other_credential(tmp_path: Path) -> None:
    document = yaml.safe_load(PAGE.block("yaml"))
    document["components"]["securitySchemes"]["key"] = {"type": "apiKey", "in": "header", "name": "X-Api-Key"}
    document["security"].append({"key": []})
    source = tmp_path / "shop.json"
    source.write_text(json.dumps(document), encoding="utf-8")

    assert PAGE.block("text", "the API").strip() in imported(source, tmp_path / "shop.toml").splitlines()


def test_the_options_and_limits_of_the_page_are_those_of_the_command() -> None:
    listed = [name for option, _ in PAGE.rows("option", "effect") for name in re.findall(r"--[a-z-]+", option)]
    known = [name for option in openapi.params for name in option.opts if name.startswith("--")]
    assert sorted(set(listed)) == sorted(known)
    losses = " ".join(f"{loss} {result}" for loss, result in PAGE.rows("loss", "result"))
    assert f"more than {MAX_SIZE} values or {MAX_LEVELS} levels" in losses
    assert f"at most {MAX_CHARACTERS:,} characters" in losses
    assert quoted(PAGE.rows("document", "manifest")[0][1])[0] == "[tools.NAME]"


def test_the_names_of_the_page_are_those_that_the_import_chooses() -> None:
    for wires, names in PAGE.rows("in the document", "name"):
        if "path" in wires:
            continue
        for wire, name in zip(quoted(wires), quoted(names), strict=False):
            place = "header" if wire.startswith("X-") else "query"
            schema = {"type": "number"} if "no time" in wires else {"type": "string", "format": "date-time"}
            assert parameter_name(wire, place, schema) == name


def test_the_tools_of_the_page_have_the_names_of_the_import(tmp_path: Path) -> None:
    for operation, tool in PAGE.rows("operation", "tool"):
        *operation_id, request = quoted(operation)
        method, path = request.split()
        source = tmp_path / "one.json"
        data = {"paths": {path: {method.lower(): {"operationId": "".join(operation_id)}}}}
        source.write_text(json.dumps({"openapi": "3.1.0", "info": {"title": "Shop"}, **data}), encoding="utf-8")
        manifest = tmp_path / "one.toml"
        manifest.unlink(missing_ok=True)
        imported(source, manifest)
        assert list(tomllib.loads(manifest.read_text(encoding="utf-8"))["tools"]) == quoted(tool)
