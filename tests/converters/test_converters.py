"""The converters of real clients leave what we send whole; where one does not, it is written down here.

Whoever changes an encoding or the version of a converter sees in these tables what that changes, for better or worse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest
from conversions import Conversions
from hard_schemas import HARD, Schema
from survival import losses, lost_limits, places, refusals

from toolmason.schema import advertise
from workbench_server.catalogue import CATALOGUE

FIELDS: Final = {
    "google-genai MCP": "parameters",
    "google-genai Schema": "parameters",
    "langchain-google-genai": "parameters",
    "litellm gemini": "parameters",
    "litellm vertex_ai": "parameters of Vertex",
    "pydantic-ai": "parametersJsonSchema",
    "pydantic-ai Live": "parameters",
    "@ai-sdk/google 3": "parameters",
    "@ai-sdk/google 4": "parametersJsonSchema",
    "@google/genai": "parametersJsonSchema",
    "@google/gemini-cli-core": "parametersJsonSchema",
    "@mastra/schema-compat": "parametersJsonSchema",
}
"""The converters, and the field of Gemini's declaration that each fills."""

EXPECTED: Final[Mapping[str, Mapping[str, str]]] = {
    "langchain-google-genai": {
        # An object without properties becomes text. Our servers take JSON text where they want an object.
        "search-call: call": "types",
        "search-call: call_read": "types",
        "list-describe: call_tool": "types",
        "discover-schema: call_tool": "types",
        "open object": "types",
        "map of numbers": "types",
        "map of models": "types",
        "map by pattern": "types",
        # Inside an object that is no item of a list, each property without a `default` becomes required.
        "optional model or null": "required",
        "required object or null": "required",
        "tree": "required",
        "open object with properties": "required",
        "closed object": "required",
        "described reference": "required",
        "intersection": "required",
        "six levels": "required",
        # Both of them.
        "chain": "required types",
        # Of a union of items the last branch is kept, without what is in it.
        "list of a union": "lost types",
        "closed tuple": "lost types",
        "open tuple": "lost types",
        "list of anything": "lost types",
        "list without items": "lost types",
    },
}
"""What is not kept whole, by converter and schema: see `kinds`."""

EXPECTED_IN_ITS_FORM: Final[Mapping[str, str]] = {
    # It computes `required` twice, the second time without the defaults that it dropped.
    "chain": "required types",
    "six levels": "required",
    "list of a union": "lost types",
    "closed tuple": "lost types",
    "open tuple": "lost types",
    "list of anything": "lost types",
    "list without items": "lost types",
}
"""What langchain does not keep whole of schemas in the form for it."""

RAISED: Final[Mapping[str, set[str]]] = {
    # It resolves `$ref` also in the data of a default.
    "langchain-google-genai": {"by hand examples_with_refs"},
}
"""The schemas of the corpus on which a converter raises."""

DROPPED: Final[Mapping[str, str]] = {
    "google-genai MCP": "maxItems maxLength minItems minLength",
    "langchain-google-genai": "default format maxItems maxLength maximum minItems minLength minimum pattern",
    "litellm gemini": "format",
    "litellm vertex_ai": "format",
    "pydantic-ai": "format",
    "pydantic-ai Live": "format",
    "@ai-sdk/google 3": "default maxItems maxLength maximum minItems minimum pattern",
    "@mastra/schema-compat": "format maxItems maxLength maximum minItems minLength minimum pattern",
}
"""The limits that a converter drops: our descriptions say them too, and those are kept."""

ADDED: Final[Mapping[str, set[str]]] = {"@google/gemini-cli-core": {"$.wait_for_previous"}}
"""What a converter adds to every tool."""


def kinds(wanted: Schema, result: Mapping[str, Any], field: str) -> str:
    """Say what is wrong with a result: `raises`, or any of `choices lost refused required types words`."""
    if "error" in result:
        return "raises"
    found = {"lost" if each.endswith(" is lost") else each.split()[0] for each in losses(wanted, result["schema"])}
    return " ".join(sorted(found | ({"refused"} if refusals(result["schema"], field) else set())))


def is_kept_as_written(conversions: Conversions, converter: str, name: str) -> bool:
    """Whether a converter keeps a schema that was sent as its author wrote it, but for the words that we add."""
    result, field = conversions.of_written(converter, name), FIELDS[converter]
    if "error" in result or refusals(result["schema"], field):
        return False
    # This field takes references and lists of types, which the comparison does not read.
    plain = advertise(result["schema"]).schema if field == "parametersJsonSchema" else result["schema"]
    return all(each.startswith("words ") for each in losses(conversions.sent[name], plain))


def test_every_converter_was_run(conversions: Conversions) -> None:
    assert conversions.results.keys() == FIELDS.keys()
    assert conversions.sent.keys() >= {*CATALOGUE["tools"], *HARD}


@pytest.mark.parametrize("converter", FIELDS)
def test_converter_changes_only_the_expected_keywords(conversions: Conversions, converter: str) -> None:
    found = {
        name: said
        for name, schema in conversions.sent.items()
        if (said := kinds(schema, conversions.of_sent(converter, name), FIELDS[converter]))
    }

    assert found == EXPECTED.get(converter, {})


def test_langchain_keeps_more_of_the_schemas_in_the_form_for_it(conversions: Conversions) -> None:
    name = "langchain-google-genai"
    found = {
        case: said
        for case in HARD
        if (said := kinds(conversions.sent[case], conversions.of_langchain(name, case), FIELDS[name]))
    }

    assert found == EXPECTED_IN_ITS_FORM
    assert len(found) < len(EXPECTED[name])


@pytest.mark.parametrize("converter", sorted(FIELDS.keys() - {"google-genai MCP"}))
def test_other_converters_keep_the_form_for_langchain(conversions: Conversions, converter: str) -> None:
    """google-genai fails on `additionalProperties: true` of an MCP tool, so that this form is not the usual one."""
    for case in HARD:
        before = kinds(conversions.sent[case], conversions.of_sent(converter, case), FIELDS[converter])
        after = kinds(conversions.sent[case], conversions.of_langchain(converter, case), FIELDS[converter])
        assert after == before or converter == "langchain-google-genai", case


@pytest.mark.parametrize("converter", FIELDS)
def test_no_converted_schema_of_the_corpus_is_refused(conversions: Conversions, converter: str) -> None:
    field, results = FIELDS[converter], conversions.of_corpus(converter)
    refused = {
        name: result.get("error") or refusals(result["schema"], field)
        for name, result in results.items()
        if "error" in result or refusals(result["schema"], field)
    }

    assert len(results) > 160
    assert refused.keys() == RAISED.get(converter, set())


@pytest.mark.parametrize("converter", FIELDS)
def test_converter_keeps_each_tool_of_workbench_whole(conversions: Conversions, converter: str) -> None:
    for name in CATALOGUE["tools"]:
        result = conversions.of_sent(converter, name)
        assert (name, kinds(conversions.sent[name], result, FIELDS[converter])) == (name, "")


@pytest.mark.parametrize("converter", FIELDS)
def test_converter_drops_only_limits_that_are_known_to_be_dropped(conversions: Conversions, converter: str) -> None:
    results = {name: conversions.of_sent(converter, name) for name in conversions.sent}
    dropped = {
        each for name, result in results.items() for each in lost_limits(conversions.sent[name], result["schema"])
    }

    assert dropped == set(DROPPED.get(converter, "").split())


@pytest.mark.parametrize("converter", FIELDS)
def test_converter_adds_nothing_that_is_not_known(conversions: Conversions, converter: str) -> None:
    added: set[str] = set()
    for name, schema in conversions.sent.items():
        result = conversions.of_sent(converter, name)["schema"]
        added |= {path for path, _ in places(result or {"type": "object"})} - {path for path, _ in places(schema)}

    assert added == ADDED.get(converter, set())


@pytest.mark.parametrize("converter", FIELDS)
def test_converter_keeps_fewer_of_the_same_schemas_as_they_were_written(
    conversions: Conversions, converter: str
) -> None:
    written = {name for name in conversions.written if is_kept_as_written(conversions, converter, name)}
    sent = {name for name in conversions.written if name not in EXPECTED.get(converter, {})}

    assert len(written) < len(sent)


def test_read_files_items_stay_objects_in_every_converter(conversions: Conversions) -> None:
    for converter in FIELDS:
        found = dict(places(conversions.of_sent(converter, "read_files")["schema"]))
        assert found["$.files[*]"].types == {"object"}, converter
        assert found["$.files[*]"].required == {"path"}, converter
        assert found["$.files[*].path"].types == {"string"}, converter
