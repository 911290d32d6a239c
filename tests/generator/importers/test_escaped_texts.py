"""Texts of others have no placeholders: one that looks like it is shown as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from toolmason_runtime.shared.placeholders import placeholders_in

from toolmason.commands import toolmason
from toolmason.importers.server.tools import neutral_texts

LOOKS_LIKE = "Find by {search} as {tool:none}, {calling:a,b} or {discovery}"


def document() -> dict[str, Any]:
    """Return an OpenAPI document whose texts look like placeholders."""
    parameter = {"name": "q", "in": "query", "schema": {"type": "string"}, "description": LOOKS_LIKE}
    operation = {"operationId": "find", "summary": LOOKS_LIKE[:40], "description": LOOKS_LIKE + ".", "responses": {}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Find", "version": "1", "description": LOOKS_LIKE},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {"/find/{search}": {"get": operation | {"parameters": [parameter]}}},
    }


def test_an_imported_api_has_no_placeholders(tmp_path: Path) -> None:
    (tmp_path / "api.json").write_text(json.dumps(document()), encoding="utf-8")
    out = tmp_path / "manifest" / "api.toml"
    result = CliRunner().invoke(toolmason, ["import", "openapi", str(tmp_path / "api.json"), "-o", str(out)])

    assert result.exit_code == 0, result.output
    lines = out.read_text(encoding="utf-8").splitlines()
    texts = [line for line in lines if "description" in line or line.startswith("summary")]
    assert any("{{search}}" in line for line in texts)
    assert [line for line in texts if list(placeholders_in(line))] == []


@pytest.mark.parametrize("text", ["{search}", "{call} {{call_read}}"])
def test_a_schema_of_another_server_has_no_placeholders(text: str) -> None:
    schema = {"description": text, "properties": {"title": {"description": text, "default": "{search}"}}}
    escaped = neutral_texts(schema)

    assert list(placeholders_in(escaped["description"] + escaped["properties"]["title"]["description"])) == []
    assert escaped["properties"]["title"]["default"] == "{search}"
