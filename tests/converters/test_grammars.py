"""llguidance, the grammar engine of vLLM, SGLang and others, compiles what we send, and refuses what is malformed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench.schemas.corpus import SMALL_CASES, load_corpus
from hard_schemas import HARD
from llguidance import LLMatcher  # type: ignore[import-not-found, unused-ignore]  # only in the session `converters`

from toolmason.schema import advertise, project

SCHEMAS: dict[str, Any] = {f"{row.style}: {row.name}": row.schema for row in load_corpus()} | HARD
SCHEMAS |= {
    f"small: {number}": json.loads(line)["schema"]
    for number, line in enumerate(SMALL_CASES.read_text(encoding="utf-8").splitlines())
}


def refusal(schema: Any) -> str:
    """Return the error of the grammar compiler; an empty string if it accepts the schema."""
    error: str = LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(json.dumps(schema)), None)
    return error


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"type": "strin"}, "Invalid type"),
        ({"$ref": "#/$defs/None"}, "does not exist"),
        ({"type": "string", "pattern": "("}, "unclosed group"),
        ({"type": "string", "pattern": "(?=a)"}, "look-around"),
        ({"type": "string", "format": "no-format"}, "Unknown format"),
    ],
    ids=str,
)
def test_malformed_schemas_are_refused(value: dict[str, Any], message: str) -> None:
    assert message in refusal({"type": "object", "properties": {"a": value}})


def test_each_schema_in_the_form_for_the_engine_is_compiled() -> None:
    refused = {
        name: error for name, schema in SCHEMAS.items() if (error := refusal(project(schema, "vllm-guidance").schema))
    }

    assert refused == {}


def test_more_advertised_schemas_are_compiled_than_original_ones() -> None:
    original = {name for name, schema in SCHEMAS.items() if refusal(schema)}
    advertised = {name for name, schema in SCHEMAS.items() if refusal(advertise(schema).schema)}

    assert len(advertised) < len(original)
    assert not advertised - original
