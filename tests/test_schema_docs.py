"""`docs/schemas.md` shows what today's code does: its tables are real output, and nothing is left out of them.

`pytest tests/test_schema_docs.py --regen-all` makes the tables anew; the diff is then reviewed like anyone's change.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from toolmason.schema import (
    Finding,
    Projection,
    Severity,
    Target,
    advertise,
    check,
    emit,
    normalize,
    project,
    references,
    scan,
)
from toolmason.schema.keywords import HOLDS, SILENT
from toolmason.schema.providers import providers

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "schemas.md"
Json = dict[str, Any]


# The constructs.


@dataclass(frozen=True, slots=True, kw_only=True)
class Construct:
    """A way to write something down, and why it is sent as it is.

    `written` is the schema of the property `x`, which is optional unless `required`; with `whole` it is the whole
    schema. `unusable` says that there is nothing to send, which every target says with a finding `refused`.
    """

    name: str
    written: Any
    why: str
    required: bool = False
    whole: bool = False
    defs: Json | None = None
    rename: bool | None = None
    unusable: bool = False

    @property
    def schema(self) -> Json:
        if self.whole:
            return dict(self.written)
        schema: Json = {"type": "object", "properties": {"x": self.written}}
        if self.required:
            schema["required"] = ["x"]
        return schema | ({"$defs": self.defs} if self.defs else {})

    def projected(self, target: Target) -> Projection:
        return project(self.schema, target, rename=self.rename)

    def sent(self, target: Target) -> Any:
        schema = self.projected(target).schema
        return schema if self.whole else schema["properties"]["x"]

    def cost(self, target: Target) -> tuple[Finding, ...]:
        """Give the findings, without what is found of any object around a property."""
        if self.whole:
            return self.projected(target).findings
        plain = Construct(name="", written={"type": "string"}, why="", required=self.required)
        around = plain.projected(target).findings
        return tuple(each for each in self.projected(target).findings if each not in around)


ANYTHING = "Any value"
PAGE_MODEL: Json = {"Page": {"type": "integer", "minimum": 1, "description": "Page number"}}
NODE_MODEL: Json = {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}
TREE_MODEL: Json = {
    "Tree": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}}}
}
A_OR_B: Json = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
TAGGED: Json = {
    "oneOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "file"}, "path": {"type": "string"}},
            "required": ["kind", "path"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "url"}, "url": {"type": "string"}},
            "required": ["kind", "url"],
        },
    ]
}

CONSTRUCTS: Final[Mapping[str, tuple[Construct, ...]]] = {
    "Optional and null": (
        Construct(
            name="Optional argument",
            written={"type": "string"},
            why="A plain type that is not in `required`: 25 of 25 client paths keep it [paths]. Only strict mode wants "
            "every name in `required`, where null stands for leaving out [strict].",
        ),
        Construct(
            name="Null for an optional argument",
            written={"type": ["string", "null"]},
            why="A list of types survives on 17 of 25 paths [paths] and both `parameters` fields refuse it [proto]. A "
            "server takes null of an optional argument as absent, so `mcp` need not offer it.",
        ),
        Construct(
            name="Null that is not the default",
            written={"type": ["integer", "null"], "default": 5},
            why="Here null means something else than leaving out. Over MCP it can no longer be said, and the finding "
            "says so.",
        ),
        Construct(
            name="Null for a required argument",
            written={"anyOf": [{"type": "string"}, {"type": "null"}]},
            required=True,
            why="Must stay sayable: `anyOf` with null is kept on 23 of 25 paths [paths]. Vertex's public `Type` has no "
            "`NULL` [vertex], so both messages get `nullable`.",
        ),
        Construct(
            name="Null among several types",
            written={"type": ["string", "integer", "null"]},
            required=True,
            why="google-genai makes a node without a type of a null that stands beside several branches; nested into "
            "the first branch it survives there and in pydantic-ai. litellm sends a `NULL` to Vertex either way "
            "(tests/converters/test_converters.py).",
        ),
        Construct(
            name="Null alone",
            written={"type": "null"},
            required=True,
            why="Vertex has no type for it [vertex].",
        ),
        Construct(
            name="Schema already in Gemini's words",
            written={"type": "STRING", "nullable": True},
            required=True,
            why="Read as what it means. Only the two `parameters` fields are sent it that way: MCP wants valid JSON "
            "Schema [mcp]. (`nullable` beside a type does no harm on 25 of 25 paths [paths].)",
        ),
    ),
    "Choices": (
        Construct(
            name="Text to choose from",
            written={"enum": ["a", "b"]},
            why="`enum` without `type` survives on 13 of 25 paths, with it on 25 [paths].",
        ),
        Construct(
            name="Fixed text",
            written={"const": "a"},
            why="`const` is kept exactly on 10 of 25 paths, one choice with its type on 25 [paths]. Google's own field "
            "for JSON Schema does not document `const` either (vercel/ai#20757).",
        ),
        Construct(
            name="Choices with descriptions",
            written={
                "oneOf": [
                    {"const": "asc", "description": "Oldest first"},
                    {"const": "desc", "description": "Newest first"},
                ]
            },
            why="`anyOf` of constants survives on 12 of 25 paths [paths]; one `enum` with the words beside it on all.",
        ),
        Construct(
            name="Integers in a row",
            written={"type": "integer", "enum": [1, 2, 3]},
            why="`enum` of the message is a list of text, so a number in it fails the request [proto]; text instead "
            'makes models answer `"1"`. Integer `enum` survives on 10 of 25 paths, limits on 25 [paths].',
        ),
        Construct(
            name="Integers with gaps",
            written={"type": "integer", "enum": [1, 5]},
            why="The messages can say it exactly, as several ranges. Over MCP that would be a union for the sake of a "
            "few numbers, so one range and words are sent.",
        ),
        Construct(
            name="Fixed number",
            written={"const": 5},
            why="As above: limits, since `enum` holds text [proto].",
        ),
        Construct(
            name="Numbers to choose from",
            written={"type": "number", "enum": [0.5, 1]},
            why="As above [proto]. The documented subset of the JSON field has `enum` for text and numbers [subset].",
        ),
        Construct(
            name="Choices of several types",
            written={"enum": [1, "a", None]},
            required=True,
            why="Each value keeps its own type; none is turned into text.",
        ),
        Construct(
            name="One boolean",
            written={"type": "boolean", "enum": [True]},
            why="`enum` is for text [proto], and for text and numbers in the JSON field [subset].",
        ),
        Construct(
            name="Empty text among the choices",
            written={"enum": ["", "a"]},
            why="`enum[0]: cannot be empty` "
            "(anomalyco/opencode:packages/llm/src/protocols/utils/gemini-tool-schema.ts).",
        ),
        Construct(
            name="Constant object",
            written={"const": {"a": 1}},
            why="A constant has no keyword of its own anywhere; its parts have.",
        ),
        Construct(
            name="Choices of another type than the one beside them",
            written={"type": "integer", "enum": ["1", "2"]},
            why="Nothing fits such a schema, so its author meant the values.",
        ),
    ),
    "Numbers": (
        Construct(
            name="Exclusive bound of an integer",
            written={"type": "integer", "exclusiveMinimum": 0},
            why="The next integer says the same. `exclusiveMinimum` is kept exactly on 7 of 25 paths, `minimum: 1` on "
            "25 [paths]; the messages have no such field [proto].",
        ),
        Construct(
            name="Bounds of an integer that are no integers",
            written={"type": "integer", "minimum": 0.5, "exclusiveMaximum": 3},
            why="Rounded into the range.",
        ),
        Construct(
            name="Exclusive bound of a number",
            written={"type": "number", "exclusiveMinimum": 0},
            why="There is no next number: the bound itself gets in, and the description says that it should not. "
            "(Sending `minimum: 0.01` would refuse 0.001.)",
        ),
        Construct(
            name="Exclusive bound as draft-04 has it",
            written={"type": "integer", "minimum": 0, "exclusiveMinimum": True},
            why="A boolean fails the whole request (google-gemini/gemini-cli#4920, anthropics/claude-code#586).",
        ),
        Construct(
            name="Multiples",
            written={"type": "integer", "multipleOf": 5},
            why="Neither message nor documented subset has it [proto] [subset].",
        ),
        Construct(
            name="Lower bound of zero",
            written={"type": "integer", "minimum": 0},
            why="On Vertex the field is a plain `double`, where 0 equals not set [vertex]; the Developer API's is "
            "`optional` [proto].",
        ),
    ),
    "Text": (
        Construct(
            name="Length and pattern",
            written={"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]+$"},
            why="All 25 paths accept limits, 15 to 19 keep them [paths]: `mcp` says them twice.",
        ),
        Construct(
            name="Pattern that looks around",
            written={"type": "string", "pattern": "^(?!-)"},
            why="Nothing says that Gemini's patterns can look ahead or back, and Google's own engine, RE2, cannot.",
        ),
        Construct(
            name="Two patterns",
            written={"type": "string", "pattern": "^a", "allOf": [{"pattern": "z$"}]},
            why="One node holds one `pattern`.",
        ),
        Construct(
            name="Pattern that is Python's alone",
            written={"type": "string", "pattern": "(?i)^[a-z]+$"},
            why="JSON Schema has patterns of ECMA 262. A client that compiles others, as Ajv does, throws "
            "(ajv-validator/ajv:lib/vocabularies/validation/pattern.ts).",
        ),
        Construct(
            name="Format that all know",
            written={"type": "string", "format": "date-time"},
            why="One of two that the Developer API took in 2025 (google-gemini/gemini-cli#2237).",
        ),
        Construct(
            name="Other format",
            written={"type": "string", "format": "uri"},
            why="`only 'enum' and 'date-time' are supported for STRING type` (google-gemini/gemini-cli#2237); the "
            "message's own comment has since taken that back [proto]. OpenAI still refuses unknown ones "
            "(can1357/oh-my-pi#206).",
        ),
        Construct(
            name="Encoded content",
            written={
                "type": "string",
                "contentEncoding": "base64",
                "contentMediaType": "application/json",
                "contentSchema": {"type": "object"},
            },
            why="No message has these fields [proto]. What the decoded text must be is left to the server.",
        ),
    ),
    "Unions": (
        Construct(
            name=ANYTHING,
            written={},
            required=True,
            why="`{}` survives on 9 of 25 paths, `true` on 8, a union of all types on 23 [paths]. The message wants a "
            "type on every node (danny-avila/LibreChat#6971) and `items` that is not empty (anomalyco/opencode#49392), "
            "so arrays in arrays end at a level. Below, `ANY` stands for this union.",
        ),
        Construct(
            name="Several types and a description",
            written={"type": ["string", "integer"], "description": "Name or number"},
            why="Vertex refuses anything beside `anyOf`, even a description (vercel/ai#19000): it goes into the first "
            "branch. `anyOf` with typed branches survives on 24 of 25 paths [paths].",
        ),
        Construct(
            name="Rules beside a union",
            written={"type": "string", "anyOf": [{"minLength": 3}, {"pattern": "^#"}]},
            why="What stands beside a union holds for each branch, so each branch gets it.",
        ),
        Construct(
            name="Alternatives that exclude each other",
            written=TAGGED,
            why="`oneOf` with a tag survives on 11 of 25 paths, `anyOf` with a one-value `enum` as tag on 24 [paths]. "
            "The tags differ, so nothing is lost.",
        ),
        Construct(
            name="Exactly one of two that overlap",
            written={"oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}]},
            why="`anyOf` takes more than `oneOf` here: words say so. Google reads `oneOf` as `anyOf` itself [subset].",
        ),
        Construct(
            name="All of several",
            written={"allOf": [{"type": "integer", "minimum": 1}, {"minimum": 3, "maximum": 9}]},
            why="Intersected: the narrower bound wins, not the last one. `allOf` survives on 9 of 25 paths [paths].",
        ),
        Construct(
            name="All of several unions",
            written={"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "boolean"]}]},
            why="What is left is what is in both.",
        ),
        Construct(
            name="Parts that contradict each other",
            written={"allOf": [{"type": "string"}, {"type": "integer"}]},
            required=True,
            why="Nothing fits. The schema stays usable, and the server goes on refusing.",
        ),
        Construct(
            name="Not one of these values",
            written={"type": "string", "not": {"enum": ["root"]}},
            why="No message has `not` [proto]. OpenAI and Anthropic take it below the root.",
        ),
        Construct(
            name="Not one of these types",
            written={"not": {"type": ["object", "array", "null"]}},
            why="A union of the types that are left says it exactly.",
        ),
    ),
    "References": (
        Construct(
            name="Shared model",
            written={"$ref": "#/$defs/Page"},
            defs=PAGE_MODEL,
            why="Written out it survives on 25 of 25 paths, as `$ref` on 18 [paths]; both `parameters` fields refuse "
            "it (googleapis/python-genai#1122), and gateways drop `$defs` (google-gemini/gemini-cli#13326).",
        ),
        Construct(
            name="What stands beside a reference",
            written={"$ref": "#/$defs/Page", "minimum": 3, "description": "Where to start"},
            defs=PAGE_MODEL,
            why="Both hold, and the nearer description wins. Many clients drop one side (anomalyco/opencode#25495), "
            "Google's JSON field refuses it (anomalyco/opencode#12295).",
        ),
        Construct(
            name="Reference by anchor",
            written={"$ref": "#page"},
            defs={"Page": {"$anchor": "page", "$id": "urn:page", "type": "integer"}},
            why="`$anchor`, `$id`, escaped pointers and `%20` are followed too, inside the schema.",
        ),
        Construct(
            name="Model that holds itself",
            written={"$ref": "#/$defs/Node"},
            defs=NODE_MODEL,
            why="A cycle survives on 12 of 25 paths, unrolled on 24 [paths]: written out twice inside itself, then an "
            "object that takes anything.",
        ),
        Construct(
            name="Tree",
            written={"$ref": "#/$defs/Tree"},
            defs=TREE_MODEL,
            why="The same through a list.",
        ),
        Construct(
            name="List of itself",
            written={"$ref": "#/$defs/Lists"},
            defs={"Lists": {"type": "array", "items": {"$ref": "#/$defs/Lists"}}},
            why="Lists have to end in something typed, so the deepest can no longer be given.",
        ),
        Construct(
            name="Recursive and dynamic references",
            written={
                "$dynamicAnchor": "node",
                "$recursiveAnchor": True,
                "type": "object",
                "properties": {"a": {"$recursiveRef": "#"}, "b": {"$dynamicRef": "#node"}},
            },
            whole=True,
            why="Read as plain references, which is what they are in one document.",
        ),
        Construct(
            name="Reference that leads nowhere",
            written={"$ref": "#/$defs/Gone"},
            required=True,
            unusable=True,
            why="`reference to undefined schema` (google-gemini/gemini-cli#13326). Something is sent in its place, and "
            "the finding is `refused`: repair the source.",
        ),
        Construct(
            name="Reference out of the schema",
            written={"$ref": "https://example.com/page.json"},
            required=True,
            unusable=True,
            why="MCP forbids fetching it "
            "(modelcontextprotocol/modelcontextprotocol:docs/specification/2026-07-28/server/tools.mdx), and nothing "
            "here does.",
        ),
    ),
    "Arrays": (
        Construct(
            name="List",
            written={
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": 50,
                "uniqueItems": True,
            },
            why="Limits that are kept on 15 to 19 of 25 paths are said twice [paths]; no message has `uniqueItems` "
            "[proto].",
        ),
        Construct(
            name="List of anything",
            written={"type": "array"},
            why="No `items` survives on 4 of 25 paths, `items: {}` on 8, a union on 22 [paths]. OpenAI refuses it "
            "(digitalocean-labs/mcp-digitalocean#265), Gemini too (cline/cline#7926).",
        ),
        Construct(
            name="List that must be empty",
            written={"type": "array", "items": {"type": "string"}, "maxItems": 0},
            why="In both messages 0 equals not set [proto].",
        ),
        Construct(
            name="Tuple",
            written={
                "type": "array",
                "prefixItems": [{"type": "string"}, {"type": "integer"}],
                "items": False,
                "minItems": 2,
            },
            why="`prefixItems` survives on 7 of 25 paths, a union with limits on 23, an object with named fields on 25 "
            "[paths]: new tools had better use that.",
        ),
        Construct(
            name="Tuple with more of one type behind it",
            written={"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
            why="What may follow belongs to the union.",
        ),
        Construct(
            name="Tuple as draft-07 has it",
            written={
                "type": "array",
                "items": [{"type": "number"}, {"type": "number"}],
                "additionalItems": False,
            },
            why="A list in `items` is no 2020-12 (kintone/mcp-server#547). No smallest size is made up: shorter ones "
            "were legal.",
        ),
        Construct(
            name="Tuple closed by `unevaluatedItems`",
            written={"type": "array", "prefixItems": [{"type": "string"}], "unevaluatedItems": False},
            why="Read as `items: false`.",
        ),
        Construct(
            name="Some of the items",
            written={
                "type": "array",
                "items": {"type": "string"},
                "contains": {"const": "a"},
                "minContains": 2,
                "maxContains": 3,
            },
            why="Lost by every client that converts to `parameters` [proto].",
        ),
    ),
    "Objects": (
        Construct(
            name="Closed object",
            written={"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False},
            why="Absent is the only form that 25 of 25 paths take [paths]: MCP sessions of google-genai 2.34 crash on "
            "a boolean (googleapis/python-genai:google/genai/_mcp_utils.py), and the Developer API has no such field "
            "[proto]. Strict mode demands it [strict].",
        ),
        Construct(
            name="Object closed by `unevaluatedProperties`",
            written={
                "type": "object",
                "allOf": [{"properties": {"a": {"type": "string"}}}],
                "unevaluatedProperties": False,
            },
            why="Once the parts are joined it is the same as above.",
        ),
        Construct(
            name="Object that takes more",
            written={"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
            why="That is what absent means. Strict mode cannot take other names [strict].",
        ),
        Construct(
            name="Map",
            written={"type": "object", "additionalProperties": {"type": "integer"}},
            why="A typed map survives on 22 of 25 paths, a bare object and words on 23, an array of `{key, value}` on "
            "25 [paths]. Strict mode has no maps, and the finding says so.",
        ),
        Construct(
            name="Names and a map beside them",
            written={
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": {"type": "integer"},
            },
            why="As above.",
        ),
        Construct(
            name="Names by pattern",
            written={"type": "object", "patternProperties": {"^x-": {"type": "string"}}},
            why="Lost by every client that converts to `parameters` [proto].",
        ),
        Construct(
            name="Rule about names",
            written={"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}},
            why="As above.",
        ),
        Construct(
            name="Number of properties",
            written={"type": "object", "minProperties": 1, "maxProperties": 5},
            why="Both messages have it [proto]; the JSON field does not document it [subset].",
        ),
        Construct(
            name="Required and not declared",
            written={"type": "object", "required": ["a"]},
            why="`required[0]: property is not defined` (iBUHub/AIStudioToAPI#154).",
        ),
        Construct(
            name="Alternatives that differ in `required`",
            written={**A_OR_B, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            why="Over MCP one flat object and words read better than two that are nearly the same.",
        ),
    ),
    "The root, and rules about the whole": (
        Construct(
            name="No arguments",
            written={"type": "object"},
            whole=True,
            why="With `properties` on 25 of 25 paths, without on 24; with the `additionalProperties: false` that the "
            "MCP specification recommends on 21 [paths]. OpenAI answers `object schema missing properties` "
            "(bnb-chain/bnbchain-mcp#68).",
        ),
        Construct(
            name="Root without a type",
            written={"properties": {"a": {"type": "string"}}},
            whole=True,
            why="MCP demands `type: object` [mcp]; Claude Code drops the tools of a server without it "
            "(anthropics/claude-code#88049).",
        ),
        Construct(
            name="Root that is a reference",
            written={"$ref": "#/$defs/Query", "$defs": {"Query": A_OR_B}},
            whole=True,
            why="Written out like any other.",
        ),
        Construct(
            name="Root that is no object",
            written={"type": "array", "items": {"type": "string"}},
            whole=True,
            unusable=True,
            why="Arguments are an object everywhere.",
        ),
        Construct(
            name="Either of two arguments",
            written={**A_OR_B, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            whole=True,
            why="Anthropic and OpenAI refuse a union at the root (langchain-ai/langchain#39271, "
            "langchain-ai/langchainjs#9804); it survives on 8 of 25 paths, flat arguments and words on 25 [paths].",
        ),
        Construct(
            name="One of two objects",
            written={
                "oneOf": [
                    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]},
                ]
            },
            whole=True,
            why="As above; `oneOf` at the root survives on 5 of 25 paths [paths].",
        ),
        Construct(
            name="One argument that needs another",
            written={**A_OR_B, "dependentRequired": {"a": ["b"]}},
            whole=True,
            why="No message has it [proto].",
        ),
        Construct(
            name="The same as draft-07 has it",
            written={**A_OR_B, "dependencies": {"a": ["b"]}},
            whole=True,
            why="Read as `dependentRequired`.",
        ),
        Construct(
            name="Arguments that come with another",
            written={
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}},
            },
            whole=True,
            why="A model can only give what it sees, so `b` is declared.",
        ),
        Construct(
            name="Rule under a condition",
            written={
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "if": {"required": ["a"]},
                "then": {"properties": {"b": {"type": "integer"}}},
                "else": {"properties": {"c": {"type": "integer"}}},
            },
            whole=True,
            why="As above. OpenAI and Anthropic get the rule as it was written.",
        ),
    ),
    "Words and names": (
        Construct(
            name="Description, title and default",
            written={"type": "integer", "title": "Limit", "description": "How many", "default": 10},
            why="`title` and `default` are tolerated on 25 of 25 paths [paths], but a title tells a model nothing that "
            "the name does not. `default` is not in the documented subset [subset] and refused with `strict` "
            "(dotnet/extensions#6196): there the description says it.",
        ),
        Construct(
            name="Examples and deprecation",
            written={"type": "string", "examples": ["main", "dev"], "deprecated": True},
            why="Worth a sentence, and no provider reads the keywords.",
        ),
        Construct(
            name="One example as OpenAPI has it",
            written={"type": "string", "example": "main"},
            why="As above.",
        ),
        Construct(
            name="What says nothing to a model",
            written={"type": "string", "$comment": "Since 2.0", "readOnly": True, "writeOnly": False},
            why="Refused by both `parameters` fields [proto].",
        ),
        Construct(
            name="Dialect and vocabulary",
            written={
                "$schema": "http://json-schema.org/draft-07/schema#",
                "$id": "urn:tool",
                "$vocabulary": {},
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "definitions": {},
            },
            whole=True,
            why="22 of 25 paths take `$schema` [paths]; Claude Code refuses draft-07 for results "
            "(anthropics/claude-code#88882). What is sent is valid under draft-07 and 2020-12 alike.",
        ),
        Construct(
            name="Property named like a keyword",
            written={
                "type": "object",
                "properties": {"title": {"type": "string"}, "not": {"type": "string"}},
                "required": ["title"],
            },
            why="A property is a property, whatever its name. Converters that delete by name lose it: 198 nodes of "
            "5,587 real schemas have a property `title`.",
        ),
        Construct(
            name="Order of properties",
            written={
                "type": "object",
                "properties": {"b": {"type": "string"}, "a": {"type": "string"}},
                "propertyOrdering": ["b", "a"],
            },
            why="Properties are sent in the order in which they are written, and models keep to it.",
        ),
        Construct(
            name="Names that a provider refuses",
            written={"type": "object", "properties": {"$top": {"type": "integer"}, "a-b": {"type": "string"}}},
            whole=True,
            rename=True,
            why="With `rename=True`. Anthropic takes `^[a-zA-Z0-9_.-]{1,64}$` (decocms/studio#6874), Vertex documents "
            "`[A-Za-z_][A-Za-z0-9_]{0,63}` [tool]. `Projection.renamed` leads back. Without it, `gemini-vertex` and "
            "`anthropic` rename anyway, since they would refuse the request.",
        ),
        Construct(
            name="Not a schema",
            written="string",
            required=True,
            unusable=True,
            why="Hand-written servers send it (smallmain/vscode-unify-chat-provider#162). Nothing raises; the finding "
            "is `refused`.",
        ),
    ),
}
EVERY = tuple(each for group in CONSTRUCTS.values() for each in group)
BY_NAME = {each.name: each for each in EVERY}

OTHERS: Final = (
    {"type": "object", "anyOf": [{"properties": {"a": {}}}, {"required": ["b"]}], "unevaluatedProperties": False},
    {"type": "object", "properties": {"x": {"type": "array", "unevaluatedItems": {"type": "string"}}}},
    {"type": "object", "properties": {"x": {"oneOf": [{"enum": ["a"]}, {"enum": ["b"], "not": {"const": "c"}}]}}},
    {"type": "object", "properties": {"x": {"$ref": "#/properties/x"}}},
    {"type": ["object", "array"], "properties": {}},
    {"type": "object", "properties": {"x": {"type": "datetime", "minLength": -1, "maxLength": None}}},
    {"type": "object", "properties": {"x": {"allOf": [{"type": "string"}, {"type": "integer"}]}}},
    {"type": "object", "properties": {f"x{each}": {"type": "string"} for each in range(emit.MAX_NODES + 1)}},
)
"""Schemas that only show what else may be found."""


def deep(levels: int) -> Json:
    schema: Json = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


# What the findings of `project` mean.

FINDINGS: Final[Mapping[str, str]] = {
    "malformed": "A keyword holds what it cannot hold and is left out (`lossy`), or no schema stands where one belongs",
    "null-keyword": "A keyword is null, which says nothing",
    "unknown-type": "A type that JSON Schema does not know, read as the nearest that it knows",
    "type-case": "`STRING` for `string`",
    "type-array": "A list of types became a union",
    "nullable": "OpenAPI's `nullable` became a union with null",
    "null": "Null is not offered: for an optional argument it is left out instead (`note`), though that means "
    "something else where there is a default (`narrowed`); Vertex has no type for null alone (`lossy`)",
    "any": "Any value became a union of all types, in which arrays nest so deep and no deeper",
    "items": "The same for the items of an array",
    "false-schema": "Nothing fits: left out, or opened where it is required",
    "const": "`const` became the only choice",
    "number-enum": "Numbers to choose from became limits, and words where these say less (`lossy`)",
    "boolean-enum": "Which of the two booleans is said in words",
    "empty-enum-member": 'The choice `""` became a pattern',
    "enum-of-other-type": "No choice is of the type beside them; the choices win",
    "oneOf": "`oneOf` became `anyOf` (`note`); that exactly one may fit is said in words (`lossy`)",
    "allOf": "The parts were intersected",
    "$ref": "Written out; `refused` where it leads back to itself without saying anything",
    "dangling-$ref network-$ref": "Leads nowhere, or out of the schema",
    "recursion": "It holds itself; deeper levels take anything of the right type (`narrowed` if that is a list)",
    "depth size": "A budget ended here (see the limits), or the provider's own; what is beyond takes anything",
    "root-not-object": "Arguments are an object: the type was added (`note`), others were dropped (`narrowed`), or "
    "there is none (`refused`)",
    "root-union": "Alternatives at the root became one object and words",
    "required": "Alternatives that differ in `required` became one object and words",
    "undeclared-required": "A required name is now declared",
    "additionalProperties": "What other names may hold is left out or said in words; strict mode takes none "
    "(`narrowed` if that refuses something)",
    "condition": "A property that only a condition names is declared for every call, as it is there",
    "tuple": "The order of the items is said in words",
    "title default": "`title` is left out, `default` is said in words",
    "property-name": "A name that not every provider takes: replaced (`note`), or `refused` where it stands at the "
    "root and the whole request would fail",
    "deprecated examples example": "Said in the description, as far as it is short",
    "unevaluatedProperties unevaluatedItems": "Said in words where alternatives may each name others",
    "enum": "A rule about choices is said in words",
    "minimum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format maxItems uniqueItems "
    "minProperties maxProperties patternProperties propertyNames contains not if dependentRequired dependentSchemas "
    "contentEncoding contentMediaType": "The target has no such keyword, or not for this value; the description says "
    "the rule",
    "$anchor $comment $dynamicAnchor $id $recursiveAnchor $schema $vocabulary contentSchema propertyOrdering readOnly "
    "writeOnly": "Left out, as is any keyword that JSON Schema does not know",
}
"""Patterns to what they mean; several that mean the same stand side by side."""


@cache
def seen_findings() -> dict[str, set[Severity]]:
    """Give the patterns that the examples lead to, with their severities."""
    found: dict[str, set[Severity]] = {}
    schemas = [*((each.schema, each.rename) for each in EVERY), *((each, None) for each in (*OTHERS, deep(60)))]
    for schema, rename in schemas:
        for target in Target:
            for each in project(schema, target, rename=rename).findings:
                found.setdefault(each.pattern, set()).add(each.severity)
    return found


# The 22 patterns of the first table for Gemini.


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """A row of the work log of February 2026: what it asked for, where that is shown above, and what became of it."""

    keywords: tuple[str, ...]
    asked: str
    shown: str
    now: str


PATTERNS: Final = (
    Pattern(
        keywords=("$ref",),
        asked="dereference with jsonref",
        shown="Shared model",
        now="Written out, and what stands beside it intersects; cycles are unrolled. jsonref drops what stands beside "
        "a reference and recurses without end on a cycle, so it is asked only where it is right. Both Gemini APIs have "
        "had a field that takes `$ref` since late 2025; it is written out there as well, since gateways lose `$defs`.",
    ),
    Pattern(
        keywords=("$defs", "definitions"),
        asked="remove after dereferencing",
        shown="Model that holds itself",
        now="The same. A property called `definitions` stays.",
    ),
    Pattern(
        keywords=("$id",),
        asked="remove",
        shown="Reference by anchor",
        now="The same, once references by it are followed.",
    ),
    Pattern(keywords=("$schema",), asked="remove", shown="Dialect and vocabulary", now="The same."),
    Pattern(
        keywords=("anyOf",),
        asked="`anyOf` with null: `nullable: true`",
        shown="Null for a required argument",
        now="Only for the two `parameters` fields. `nullable` is no JSON Schema, so an MCP server must not rely on it: "
        "null of an optional argument is left out there, of a required one it stays a branch.",
    ),
    Pattern(
        keywords=("oneOf",),
        asked="`anyOf`, or flatten",
        shown="Exactly one of two that overlap",
        now="`anyOf`, and words where the alternatives can overlap: they no longer exclude each other.",
    ),
    Pattern(
        keywords=("allOf",),
        asked="merge",
        shown="All of several",
        now="Intersected. Merging as dictionaries lets the last part win, and widens bounds.",
    ),
    Pattern(
        keywords=("title",),
        asked="remove: causes errors",
        shown="Description, title and default",
        now="Left out, though no longer for errors: it is a field of the message since 2025. It repeats the name, and "
        "costs tokens. A property *named* `title` stays.",
    ),
    Pattern(
        keywords=("default",),
        asked="remove",
        shown="Description, title and default",
        now="Kept: a field of the message since 2025, put there so that nobody gets an error for it. "
        "langchain-google-genai makes nested arguments without one required. Where a field does not document it, the "
        "description says it.",
    ),
    Pattern(
        keywords=("additionalProperties",),
        asked="remove",
        shown="Map",
        now="Left out for the Developer API and MCP, with words for what a map holds; Vertex, the JSON field, OpenAI "
        "and Anthropic have it and get it.",
    ),
    Pattern(
        keywords=("const",),
        asked="`enum` of one value",
        shown="Fixed number",
        now="With its type, without which the message refuses it. Numbers become limits, since `enum` holds text; "
        "objects are written out.",
    ),
    Pattern(
        keywords=("type",),
        asked="upper case",
        shown="Several types and a description",
        now="For the two `parameters` fields only; Google's REST front end takes lower case as well, its Python parser "
        "does not. A list of types, which the table forgot, becomes a union.",
    ),
    Pattern(
        keywords=("propertyOrdering",),
        asked="remove: causes errors",
        shown="Order of properties",
        now="Left out, though a field of the message since 2025: properties stay in the order in which they are "
        "written, and models keep to that. An order that differs from it is not followed.",
    ),
    Pattern(
        keywords=("exclusiveMinimum",),
        asked="`minimum`",
        shown="Exclusive bound of an integer",
        now="Integers are rounded to the next one, so nothing is lost. Numbers get the bound and words.",
    ),
    Pattern(
        keywords=("exclusiveMaximum",),
        asked="`maximum`",
        shown="Bounds of an integer that are no integers",
        now="The same.",
    ),
    Pattern(keywords=("multipleOf",), asked="remove", shown="Multiples", now="Said in words; kept where it is read."),
    Pattern(
        keywords=("not",),
        asked="remove",
        shown="Not one of these values",
        now="Types that are excluded are taken away exactly; the rest is said in words, and kept where it is read.",
    ),
    Pattern(
        keywords=("if", "then", "else"),
        asked="remove",
        shown="Rule under a condition",
        now="Said in words; arguments that only a branch declares are declared, or a model could never give them.",
    ),
    Pattern(
        keywords=("prefixItems",),
        asked="`items` of the first item",
        shown="Tuple",
        now="A union of all items, their number, and the order in words. The first one's type would refuse the others.",
    ),
    Pattern(
        keywords=("contains",), asked="remove", shown="Some of the items", now="Said in words; kept where it is read."
    ),
    Pattern(
        keywords=("dependentRequired",),
        asked="remove",
        shown="One argument that needs another",
        now="Said in words; kept where it is read.",
    ),
    Pattern(
        keywords=("contentMediaType", "contentEncoding"),
        asked="remove",
        shown="Encoded content",
        now="Said in words; kept where it is read.",
    ),
)

BUDGETS: Final = (
    ("Schemas in what is written", emit.MAX_NODES, "`size`; what is beyond takes anything"),
    ("The same where a schema holds itself", emit.MAX_UNROLLED_NODES, "it is unrolled less often"),
    ("Times that a schema is written out inside itself", emit.MAX_UNROLLED, "`recursion`"),
    ("Levels of what is written", emit.MAX_DEPTH, "`depth`"),
    ("Characters of descriptions and choices", emit.MAX_TEXT, "`size`"),
    ("References and combinations followed at one place", normalize.MAX_DEPTH, "`depth`, `refused`"),
    ("Ranges of integers said as alternatives", emit.MAX_RUNS, "`number-enum`; words"),
    ("Schemas looked through for anchors", references.MAX_INDEXED, "`dangling-$ref`"),
    ("Schemas that rules with references lead to", references.MAX_DEREFERENCED_SCHEMAS, "`not`, `if` and so on; words"),
    ("Objects of a `oneOf` told apart two by two", normalize.MAX_COMPARED_BRANCHES, "`oneOf`"),
    ("Levels that `check` goes down", scan.MAX_DEPTH, "`too-deep`"),
    ("Keywords, names and choices that `check` looks at", scan.MAX_STEPS, "`too-large`"),
)


# From data to Markdown.

_KEYS: Final[Mapping[str, str]] = {
    "proto": "googleapis/googleapis:google/ai/generativelanguage/v1beta/content.proto",
    "vertex": "googleapis/googleapis:google/cloud/aiplatform/v1/openapi.proto",
    "tool": "googleapis/googleapis:google/cloud/aiplatform/v1/tool.proto",
    "subset": "googleapis/googleapis:google/ai/generativelanguage/v1beta/generative_service.proto",
    "mcp": "modelcontextprotocol/modelcontextprotocol:schema/2026-07-28/schema.ts",
    "strict": "UnitVectorY-Labs/jsonschemaprofiles:docs/OPENAI.md",
    "2020-12": "json-schema.org/draft/2020-12/schema",
    "paths": "25 client paths run over one schema each",
}
_THREAD: Final = re.compile(r"\b[\w.-]+/[\w.-]+#\d+")


def code(text: str) -> str:
    """Quote text in a cell."""
    text = text.replace("|", "\\|")
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}"


def quoted(value: Any) -> str:
    """Quote a value in a cell."""
    return code(json.dumps(value, ensure_ascii=False))


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(each)} |" for each in (head, ["---"] * len(head), *rows)]


def anchor(heading: str) -> str:
    """Give the name by which GitHub links to a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def link(name: str) -> str:
    return f"[{name}](#{anchor(name)})"


def cited(source: str) -> str:
    """Give a source by its key where it has one."""
    return next((f"[{key}]" for key, each in _KEYS.items() if each == source), cell(source))


def shown(value: Any, target: Target) -> str:
    """Quote what is sent; the union of any value is named after its first appearance."""
    text = json.dumps(value, ensure_ascii=False)
    for every in any_values(target):
        text = text.replace(every, "ANY")
    return code(text)


@cache
def any_values(target: Target) -> tuple[str, ...]:
    """Give what stands for any value, longest first; nothing where that is short."""
    schema: Json = {"properties": {"x": {}, "y": {"type": "array"}}, "required": ["x", "y"]}
    properties = project({"type": "object"} | schema, target).schema["properties"]
    found = [json.dumps(properties["x"]), json.dumps(properties["y"]["items"])]
    return tuple(each for each in found if each != "{}")


def cost(findings: Iterable[Finding]) -> str:
    said = sorted({(each.severity.rank, each.severity, each.pattern) for each in findings})
    return "; ".join(f"{severity} `{pattern}`" for _, severity, pattern in said)


def overview() -> Iterator[str]:
    blank = [""] * len(Target)
    rows: list[Sequence[str]] = []
    for group, constructs in CONSTRUCTS.items():
        rows += [(f"**{group}**", *blank), *map(overview_row, constructs)]
    yield from table(("construct", *Target), rows)


def overview_row(construct: Construct) -> tuple[str, ...]:
    worst = (min((each.severity for each in construct.cost(to)), key=lambda s: s.rank, default=None) for to in Target)
    return (link(construct.name), *("" if each in {None, Severity.NOTE} else str(each) for each in worst))


def details() -> Iterator[str]:
    for group, constructs in CONSTRUCTS.items():
        yield from ("", f"### {group}")
        for each in constructs:
            yield from ("", f"#### {each.name}", "", f"{written(each)}. {each.why}", "")
            yield from table(("sent to", "as", "cost"), detail_rows(each))


def written(construct: Construct) -> str:
    text = quoted(construct.written)
    text += f" with `$defs` {quoted(construct.defs)}" if construct.defs else ""
    return text + (", required" if construct.required else "")


def detail_rows(construct: Construct) -> list[tuple[str, str, str]]:
    """Give a row for each answer; targets that are given the same at the same cost share one."""
    rows: dict[tuple[str, str], list[str]] = {}
    for target in Target:
        is_shown_whole = construct.name == ANYTHING
        answer = quoted(construct.sent(target)) if is_shown_whole else shown(construct.sent(target), target)
        if renamed := construct.projected(target).renamed:
            answer += f"; renamed {quoted(dict(renamed))}"
        rows.setdefault((answer, cost(construct.cost(target))), []).append(str(target))
    return [(", ".join(targets), answer, said) for (answer, said), targets in rows.items()]


def findings() -> Iterator[str]:
    seen = seen_findings()
    rows = []
    for patterns, text in FINDINGS.items():
        severities = {each for name in patterns.split() for each in seen.get(name, ())}
        ranked = sorted(severities, key=lambda each: each.rank)
        rows.append((", ".join(map(code, patterns.split())), ", ".join(ranked), cell(text)))
    yield from table(("pattern", "severity", "means"), rows)


def first_patterns() -> Iterator[str]:
    head = ("#", "pattern", "asked for in February 2026", "`gemini-parameters` today", "why")
    rows = []
    for number, each in enumerate(PATTERNS, 1):
        sent = shown(BY_NAME[each.shown].sent(Target.GEMINI_PARAMETERS), Target.GEMINI_PARAMETERS)
        names = ", ".join(map(code, each.keywords))
        rows.append((str(number), names, each.asked, f"{link(each.shown)}: {sent}", each.now))
    yield from table(head, rows)


def rules() -> Iterator[str]:
    rows = (
        (code(each.pattern), ", ".join(each.targets), str(each.severity), cell(each.why), cited(each.source))
        for each in providers().rules
    )
    yield from table(("pattern", "targets", "severity", "why", "source"), rows)


def keywords() -> Iterator[str]:
    listed = {target: dialect.keywords for target, dialect in providers().dialects.items() if dialect.keywords}
    rows = ((target, ", ".join(map(code, sorted(keywords)))) for target, keywords in listed.items())
    yield from table(("target", "keywords that it lists"), rows)


def budgets() -> Iterator[str]:
    yield from table(("what", "at most", "beyond"), ((what, f"{most:,}", beyond) for what, most, beyond in BUDGETS))


def sources() -> Iterator[str]:
    yield from table(("key", "source"), ((key, code(source)) for key, source in _KEYS.items()))
    texts = [*(each.why for each in EVERY), *(f"{each.why} {each.source}" for each in providers().rules)]
    threads = sorted({each for text in texts for each in _THREAD.findall(text)}, key=str.lower)
    yield from ("", "Threads:", "")
    yield from (f"[{each}](https://github.com/{each.replace('#', '/issues/')})" for each in threads)
    yield ""
    yield from (f"[{key}]: #sources" for key in _KEYS)


MADE: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "overview": overview,
    "constructs": details,
    "budgets": budgets,
    "findings": findings,
    "patterns": first_patterns,
    "rules": rules,
    "keywords": keywords,
    "sources": sources,
}
_BLOCK: Final = re.compile(r"(?<=<!-- made: )(\w+) -->\n.*?(?=<!-- end -->)", re.DOTALL)
_EXAMPLE: Final = re.compile(r"```python\n(.*?)```\n\n```text\n.*?```", re.DOTALL)
_LINK: Final = re.compile(r"(?<!`)\]\(([^)#\s]*)(#[^)\s]*)?\)")


def with_tables(page: str) -> str:
    """Give the page with its tables as they are made today."""

    def made(block: re.Match[str]) -> str:
        lines = "\n".join(MADE[block[1]]()).strip()
        return f"{block[1]} -->\n\n{lines}\n\n"

    return _BLOCK.sub(made, page)


def with_output(page: str) -> str:
    """Give the page with what its examples print today."""

    def ran(example: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example[1], PAGE.name, "exec"), {})
        return f"```python\n{example[1]}```\n\n```text\n{printed.getvalue()}```"

    return _EXAMPLE.sub(ran, page)


def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def by_hand() -> str:
    """Give what people wrote of the page."""
    return _BLOCK.sub("", page())


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", text, re.MULTILINE)


def test_page_shows_what_the_code_does_today(file_regression: FileRegressionFixture, tmp_path: Path) -> None:
    made = with_output(with_tables(page()))

    file_regression.check(made, encoding="utf-8", newline="", fullpath=PAGE, obtained_filename=tmp_path / PAGE.name)


def test_every_table_has_its_place_on_the_page_and_the_example_its_output() -> None:
    assert _BLOCK.findall(page()) == list(MADE)
    assert len(_EXAMPLE.findall(page())) == page().count("```python") == 1


@pytest.mark.parametrize("target", Target)
@pytest.mark.parametrize("construct", EVERY, ids=lambda each: each.name)
def test_what_the_page_shows_is_taken_by_the_target(construct: Construct, target: Target) -> None:
    found = construct.projected(target)

    assert [str(each) for each in check(found.schema, target) if each.severity is Severity.REFUSED] == []
    assert any(each.severity is Severity.REFUSED for each in found.findings) == construct.unusable


def test_names_of_constructs_are_names_of_one_heading_each() -> None:
    anchors = [anchor(each) for each in headings(page())]

    assert len(BY_NAME) == len(EVERY)
    assert len(set(anchors)) == len(anchors)


def test_every_keyword_that_is_read_or_left_out_is_in_an_example() -> None:
    sighted = {each.keyword for one in EVERY for each in scan.look(one.schema) if each.is_keyword}

    assert (HOLDS.keys() | SILENT) - sighted == set()


def test_every_pattern_of_a_finding_is_explained_and_met_by_an_example() -> None:
    explained = [pattern for patterns in FINDINGS for pattern in patterns.split()]

    assert len(set(explained)) == len(explained)
    assert set(explained) == seen_findings().keys()


def test_every_target_and_every_severity_is_explained() -> None:
    for each in (*Target, *Severity):
        assert re.search(rf"^\| `{each}` \| \S", by_hand(), re.MULTILINE), each


def test_patterns_of_the_work_log_are_all_answered_with_an_example_of_theirs() -> None:
    assert len(PATTERNS) == 22
    for each in PATTERNS:
        sighted = {found.keyword for found in scan.look(BY_NAME[each.shown].schema)}
        assert sighted.intersection(each.keywords), each


def test_every_rule_stands_on_the_page_with_its_source() -> None:
    rows = set(page().splitlines())

    assert set(rules()) <= rows
    for source in {each.source for each in providers().rules}:
        assert source in page(), source


def test_links_of_the_page_lead_to_a_file_or_a_heading() -> None:
    anchors = {f"#{anchor(each)}" for each in headings(page())}
    links = _LINK.findall(page())

    assert len(links) > len(EVERY)
    for path, place in links:
        assert path.startswith("https://") or (PAGE.parent / path).resolve().exists(), path
        assert path or place in anchors, place


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:generator|runtime|tests|bench|docs)/[\w./-]+)`", by_hand())

    assert len(named) > 10
    for each in named:
        assert (ROOT / each).exists(), each


def test_versions_on_the_page_are_those_of_the_tests() -> None:
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    pinned = {each for each in groups["tests"] if isinstance(each, str) and each.startswith("google-")}

    assert pinned
    for each in pinned:
        assert f"{each.replace('==', ' ')}" in by_hand(), each


def test_server_side_of_the_page_holds_for_the_smallest_schema() -> None:
    sent = advertise({"type": "object", "properties": {"$top": {"type": ["integer", "null"]}}}, rename=True)

    assert sent.schema == {"type": "object", "properties": {"top": {"type": "integer"}}}
    assert sent.renamed == {"top": "$top"}
