"""The field `tools` of a request to a model, as each client builds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from toolmason_runtime.wire.results import compact_json

from toolmason.catalogue.tools_field import tools_field
from toolmason.clients import CLAUDE_CODE, CODEX, GEMINI_CLI, clients
from toolmason.diagnostics import Diagnostics
from toolmason.model.server import Server
from toolmason.pipeline import read
from toolmason.project import Project

WORD = {"type": "string", "description": "A word.", "minLength": 1, "pattern": "^a", "default": "a"}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "word": WORD,
        "words": {"type": "array", "items": WORD, "minItems": 1, "maxItems": 5},
        "pattern": {"anyOf": [WORD, True]},
        "link": {"$ref": "#/$defs/link"},
    },
    "required": ["word"],
    "additionalProperties": False,
    "$defs": {"link": {"type": "object", "properties": {"format": {**WORD, "format": "uri"}}}},
}


@pytest.fixture
def server(project: Project) -> Server:
    reading = read(project, diagnostics=Diagnostics())
    assert reading is not None
    return reading.server


def sent_schema(client: str, server: Server, schema: Mapping[str, Any]) -> Any:
    """The schema of the only tool in the field `tools` of a client."""
    listed: Any = [{"name": "find", "description": "Find", "inputSchema": schema}]
    [entry] = tools_field(clients()[client], server, listed)
    [tool] = entry.get("tools", [entry])
    return tool.get("parameters") or tool.get("parametersJsonSchema") or tool["input_schema"]


def test_codex_sends_a_few_keywords_of_every_subschema(server: Server) -> None:
    word = {"type": "string", "description": "A word."}

    assert sent_schema(CODEX, server, SCHEMA) == {
        "type": "object",
        "properties": {
            "word": word,
            "words": {"type": "array", "items": word, "minItems": 1},
            "pattern": {"anyOf": [word, True]},
            "link": {"$ref": "#/$defs/link"},
        },
        "required": ["word"],
        "additionalProperties": False,
        "$defs": {"link": {"type": "object", "properties": {"format": word}}},
    }


def test_codex_sends_no_description_in_a_schema_of_more_than_5000_bytes(server: Server) -> None:
    def described(length: int) -> dict[str, Any]:
        return {"type": "object", "properties": {"description": {"type": "string", "description": "a" * length}}}

    longest = 5000 - len(compact_json(described(0)))
    assert sent_schema(CODEX, server, described(longest)) == described(longest)
    assert sent_schema(CODEX, server, described(longest + 1)) == {
        "type": "object",
        "properties": {"description": {"type": "string"}},
    }


def test_claude_code_sends_a_schema_unchanged(server: Server) -> None:
    assert sent_schema(CLAUDE_CODE, server, SCHEMA) == SCHEMA


def test_gemini_cli_adds_a_parameter(server: Server) -> None:
    sent = sent_schema(GEMINI_CLI, server, SCHEMA)

    assert sent["properties"].pop("wait_for_previous")["type"] == "boolean"
    assert sent == SCHEMA
