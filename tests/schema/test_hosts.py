"""The providers of `hosts.toml`: each rule with a schema that breaks it, and what `project` sends instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bench.schemas.corpus import load_corpus

from toolmason.schema import Severity, Target, check, project, report
from toolmason.schema.check import rules_for
from toolmason.schema.hosts import Host, hosts
from toolmason.schema.keywords import NO_EFFECT, VALUE_CHECKS
from toolmason.schema.providers import providers

TEXT: dict[str, Any] = {"type": "string"}
ARRAY: dict[str, Any] = {"type": "array", "items": TEXT}


def tool(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def nested(levels: int) -> dict[str, Any]:
    schema = TEXT
    for _ in range(levels):
        schema = tool(a=schema)
    return schema


BREAKS: dict[str, Any] = {
    "int32": tool(a={"type": "integer", "maximum": 2**31}),
    "$id": tool() | {"$id": "https://example.com/a"},
    "$schema": tool() | {"$schema": "https://json-schema.org/draft/2020-12/schema"},
    "optional-property": tool(a=TEXT),
    "required-alone": {"type": "object", "required": ["a"]},
    "type-beside-anyOf": tool(a={"type": "string", "anyOf": [TEXT]}),
    "beside-$ref": tool(a={"$ref": "#/$defs/A", "minLength": 1}) | {"$defs": {"A": TEXT}},
    "outside-$defs": tool(a={"$ref": "#/definitions/A"}) | {"definitions": {"A": TEXT}},
    "missing-type": tool(a={"description": "Anything"}),
    "untyped-enum": tool(a={"enum": ["b"]}),
    "depth-10": nested(11),
    "object-depth-5": nested(6),
    "property-count-100": tool(**{f"a{number}": TEXT for number in range(101)}),
    "root-combinator": tool() | {"anyOf": [tool(a=TEXT)]},
    "empty-items": tool(a={"type": "array", "items": {}}),
    "untyped-map": tool(a={"type": "object", "additionalProperties": {}}),
    "required-alternatives": tool(a=tool(b=TEXT) | {"anyOf": [{"required": ["b"]}]}),
    "open-object": tool(),
    "missing-required": tool(),
    "repetition": tool(a={"type": "string", "maxLength": 2_000}),
    "recursive-$ref": tool(a={"$ref": "#"}),
    "required-recursive-$ref": tool(a={"$ref": "#"}) | {"required": ["a"]},
    "look-around": tool(a={"type": "string", "pattern": "^(?=a)b$"}),
    "unanchored-pattern": tool(a={"type": "string", "pattern": "^a"}),
    "pattern-class": tool(a={"type": "string", "pattern": "^\\d+$"}),
    "optional-count": tool(**{f"a{number}": TEXT for number in range(25)}),
    "root-no-properties": {"type": "object"},
    "$ref": tool(a={"$ref": "#/$defs/A"}) | {"$defs": {"A": TEXT}},
    "dangling-$ref": tool(a={"$ref": "#/$defs/Missing"}),
    "network-$ref": tool(a={"$ref": "https://example.com/a.json"}),
    "unpointed-$ref": tool(a=tool(b={"$ref": "#"})),
    "named-$ref": tool(a={"$ref": "#A"}) | {"$defs": {"B": {"$anchor": "A", **TEXT}}},
    "escaped-$ref": tool(a={"$ref": "#/$defs/a~1b"}) | {"$defs": {"a/b": TEXT}},
    "rule-beside-$ref": tool(a={"$ref": "#/$defs/A", "minLength": 1}) | {"$defs": {"A": TEXT}},
    "unnamed-group": tool(a={"type": "string", "pattern": "^(?:a|b)$"}),
    "boolean-schema": tool(a=True),
    "large-count": tool(a={"type": "string", "maxLength": 1_001}),
    "int64": tool(a={"type": "string", "maxLength": 2**70}),
    "format": tool(a={"type": "string", "format": "color"}),
    "unlisted-keyword": tool(a={"type": "string", "minLength": 3}),
    "unlisted-annotation": tool(a={"type": "string", "title": "A"}),
    "pattern": tool(a={"type": "string", "pattern": "^a$"}),
    "allOf": tool(a={"allOf": [TEXT]}),
    "oneOf": tool(a={"oneOf": [TEXT]}),
    **{name: tool(a={"type": "integer", name: 1}) for name in ("minimum", "maximum", "multipleOf")},
    **{name: tool(a={"type": "integer", name: 1}) for name in ("exclusiveMinimum", "exclusiveMaximum")},
    **{name: tool(a={"type": "string", name: 3}) for name in ("minLength", "maxLength")},
    **{name: tool(a={**ARRAY, name: 3}) for name in ("minItems", "maxItems", "minContains", "maxContains")},
    "short-minItems": tool(a={**ARRAY, "minItems": 1}),
    "uniqueItems": tool(a={**ARRAY, "uniqueItems": True}),
    **{name: tool(a={**ARRAY, name: TEXT}) for name in ("contains", "unevaluatedItems")},
    **{name: tool(a={**TEXT, name: {"const": "b"}}) for name in ("not", "if", "then", "else")},
    **{name: tool(a={**tool(), name: {"b": TEXT}}) for name in ("patternProperties", "dependentSchemas")},
    **{name: tool(a={**tool(), name: TEXT}) for name in ("propertyNames", "unevaluatedProperties")},
    "dependentRequired": tool(a={**tool(), "dependentRequired": {"b": ["c"]}}),
}
RULES = [(key, pattern) for key, host in hosts().items() for pattern in host.rules]


@pytest.mark.parametrize(("key", "pattern"), RULES)
def test_each_rule_reports_its_violation(key: str, pattern: str) -> None:
    rule = hosts()[key].rules[pattern]
    keyword = {"unlisted-keyword": "minLength", "unlisted-annotation": "title"}.get(pattern, pattern)
    found = [finding for finding in check(BREAKS[pattern], key) if finding.pattern == keyword]

    assert [(finding.severity, finding.reason) for finding in found[:1]] == [(rule.severity, rule.reason)]


@pytest.mark.parametrize("key", hosts())
def test_what_is_sent_is_not_refused(key: str) -> None:
    """The totals of arguments and optional arguments cannot be changed by a conversion."""
    for schema in (*BREAKS.values(), *(row.schema for row in load_corpus())):
        sent = project(schema, key)
        refused = {finding.pattern for finding in check(sent.schema, key) if finding.severity is Severity.REFUSED}
        if all(finding.severity is not Severity.REFUSED for finding in sent.findings):
            assert refused <= {"optional-count", "property-count-100"}, (schema, sent.schema)


@pytest.mark.parametrize("key", hosts())
def test_each_provider_has_sources_and_known_keywords(key: str) -> None:
    host = hosts()[key]
    sources = [host.source, *(rule.source for rule in host.rules.values())]

    assert all(sources)
    assert host.checked.year >= 2026
    assert key not in list(Target)
    assert host.dialect.keywords is None or host.dialect.keywords <= VALUE_CHECKS.keys() | NO_EFFECT
    assert host.rules or host.max_tools or _differs(host)


def _differs(host: Host) -> bool:
    """Return whether the dialect has another form than the target's, apart from its source."""
    base = providers().dialects[host.target]
    return replace(host.dialect, sources=base.sources, checked=base.checked) != base


def test_rules_of_the_target_apply_where_a_provider_has_none() -> None:
    missing_items = tool(a={"type": "array"})

    assert [finding.pattern for finding in check(missing_items, "groq") if finding.severity is Severity.REFUSED] == [
        "missing-items"
    ]
    assert {rule.pattern for rule in rules_for("openai")} >= {"missing-items"}
    assert report({"a": missing_items}, "groq").startswith("refused  missing-items: ")


def test_there_are_fifteen_providers_with_rules_of_their_own() -> None:
    assert len(hosts()) >= 15


def test_langchain_gets_optional_members_and_open_objects() -> None:
    inner = tool(b=TEXT, c={"type": "integer", "default": 5}, d=tool(e=TEXT)) | {"required": ["d"]}
    listed = {"type": "array", "items": tool(b=TEXT)}
    schema = tool(a=inner, open={"type": "object"}, listed=listed)
    sent = project(schema, "langchain").schema

    assert sent["properties"]["a"]["properties"] == {
        "b": {**TEXT, "default": None},
        "c": {"type": "integer", "default": 5},
        "d": tool(e=TEXT),
    }
    assert sent["properties"]["open"] == {"type": "object", "additionalProperties": True}
    assert sent["properties"]["listed"] == project(schema, "mcp").schema["properties"]["listed"]


@pytest.mark.parametrize("name", ["nobody", "", "OpenAI", "MCP", "openai "])
def test_an_unknown_provider_is_an_error_with_the_names_of_all(name: str) -> None:
    for call in (check, project):
        with pytest.raises(ValueError, match=f"^unknown target `{name}`; use one of mcp, .*, openai, .*, groq, .*"):
            call({}, name)
    with pytest.raises(ValueError, match=f"unknown target `{name}`"):
        report({"find": {}}, name)
