"""What each provider refuses, narrows or loses of a schema: the rows that `check` reads, with where each was seen.

A row names a pattern of `sightings.py` and the targets that mind it. A new rule is a new row; only a construct that
nobody looked for so far needs a line of code as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from toolmason.schema.findings import Severity
from toolmason.schema.target import Target

UNLISTED_KEYWORD: Final = "unlisted-keyword"
UNLISTED_ANNOTATION: Final = "unlisted-annotation"
"""Rows of these two patterns speak about every keyword that a target does not list and no other row names."""

_PARAMETERS: Final = (Target.GEMINI_PARAMETERS,)
_VERTEX: Final = (Target.GEMINI_VERTEX,)
_BOTH: Final = (Target.GEMINI_PARAMETERS, Target.GEMINI_VERTEX)
_GEMINI_JSON: Final = (Target.GEMINI_JSON,)
_GEMINI: Final = (*_BOTH, Target.GEMINI_JSON)
_OPENAI: Final = (Target.OPENAI,)
_STRICT: Final = (Target.OPENAI_STRICT,)
_OPENAIS: Final = (Target.OPENAI, Target.OPENAI_STRICT)
_ANTHROPIC: Final = (Target.ANTHROPIC,)
_MCP: Final = (Target.MCP,)
_ALL: Final = tuple(Target)
_JSON_SCHEMA: Final = (Target.MCP, Target.GEMINI_JSON, Target.OPENAI, Target.OPENAI_STRICT, Target.ANTHROPIC)
"""The targets that read JSON Schema."""

_REFUSED, _NARROWED, _LOSSY, _NOTE = Severity.REFUSED, Severity.NARROWED, Severity.LOSSY, Severity.NOTE

_PROTO: Final = "googleapis/googleapis:google/ai/generativelanguage/v1beta/content.proto"
_VERTEX_PROTO: Final = "googleapis/googleapis:google/cloud/aiplatform/v1/openapi.proto"
_JSON_SUBSET: Final = "googleapis/googleapis:google/ai/generativelanguage/v1beta/generative_service.proto"
_MCP_SPEC: Final = "modelcontextprotocol/modelcontextprotocol:schema/2026-07-28/schema.ts"
_STRICT_DOC: Final = "UnitVectorY-Labs/jsonschemaprofiles:docs/OPENAI.md"
_DRAFT_2020: Final = "json-schema.org/draft/2020-12/schema"
_MEASURED: Final = "25 client paths run over one schema each"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What some targets make of one pattern.

    `why` ends a sentence that begins with the user's own words; `source` is where the rule was seen (a thread as
    `owner/name#number`, a file as `owner/name:path`, or how it was measured). `spared` are values it is not about.
    """

    pattern: str
    targets: tuple[Target, ...]
    severity: Severity
    why: str
    source: str
    spared: frozenset[str] = frozenset()


def _row(
    pattern: str,
    targets: tuple[Target, ...],
    severity: Severity,
    why: str,
    source: str,
    *,
    spared: frozenset[str] = frozenset(),
) -> Rule:
    return Rule(pattern=pattern, targets=targets, severity=severity, why=why, source=source, spared=spared)


_STRICT_FORMATS: Final = frozenset(
    {"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
)
_NO_FIELD: Final = 'the message `Schema` has no such field (`Unknown name "...": Cannot find field`)'

_SEES_NOTHING: Final = "leads to no schema here, so the model sees nothing in its place"

_WELL_FORMED: Final = (
    _row("not-a-schema", _ALL, _REFUSED, "a schema belongs here", "smallmain/vscode-unify-chat-provider#162"),
    _row("malformed", _ALL, _REFUSED, "the keyword cannot hold this", "anthropics/claude-code#586"),
    _row("unknown-type", _ALL, _REFUSED, "no type of JSON Schema", "zereight/gitlab-mcp#166"),
    _row("not-json", _ALL, _REFUSED, "cannot be sent as JSON", "RFC 8259"),
    _row(
        "too-deep", _ALL, _REFUSED, "nobody reads that deep, and nothing below is checked", "protobuf json_format: 100"
    ),
    _row("too-large", _ALL, _REFUSED, "the rest is not checked", _MCP_SPEC),
    _row("null-keyword", _JSON_SCHEMA, _REFUSED, "null is no value for a keyword, leave it out", _DRAFT_2020),
    _row("null-keyword", _BOTH, _NOTE, "null counts as not set", "protobuf json_format"),
    _row(
        "repeated-name", _JSON_SCHEMA, _REFUSED, "is required twice, and JSON Schema wants names to differ", _DRAFT_2020
    ),
    _row(
        "text-number",
        _BOTH,
        _NOTE,
        "taken, since 64-bit numbers travel as text in proto-JSON, but no JSON Schema",
        "protobuf json_format",
    ),
    _row("upper-case-type", _JSON_SCHEMA, _REFUSED, "types are lower case in JSON Schema", _DRAFT_2020),
    _row(
        "lower-case-type",
        _BOTH,
        _NOTE,
        "taken by the REST front end, but Python's own parser of the message wants upper case (said once)",
        "protobuf json_format",
    ),
    _row(
        "snake-case",
        (Target.MCP, Target.OPENAI, Target.ANTHROPIC, Target.GEMINI_JSON),
        _LOSSY,
        "no keyword of JSON Schema, so it is ignored; write it in camelCase",
        "googleapis/python-genai:google/genai/_mcp_utils.py",
    ),
    _row("snake-case", _BOTH, _NOTE, "taken, but every reader expects camelCase", "protobuf json_format"),
    _row("property_ordering", _BOTH, _NOTE, "taken as `propertyOrdering`, which is a field since 2025", _PROTO),
)

_ROOT: Final = (
    _row(
        "root-not-object",
        _MCP,
        _REFUSED,
        "the protocol demands `type: object` at the root, and Claude Code drops all tools of the server without a word",
        "anthropics/claude-code#88049",
    ),
    _row(
        "root-not-object",
        _GEMINI,
        _REFUSED,
        "`functionDeclaration parameters schema should be of type OBJECT`",
        "spring-projects/spring-ai#1373",
    ),
    _row(
        "root-not-object",
        _OPENAIS,
        _REFUSED,
        "`schema must be a JSON Schema of 'type: \"object\"'`",
        "vercel/ai#7005",
    ),
    _row(
        "root-not-object",
        _ANTHROPIC,
        _REFUSED,
        "the root of `input_schema` must be `type: object`",
        "anthropics/claude-code#88049",
    ),
    _row(
        "root-combinator",
        _ANTHROPIC,
        _REFUSED,
        "`input_schema does not support oneOf, allOf, or anyOf at the top level`",
        "langchain-ai/langchain#39271",
    ),
    _row(
        "root-combinator",
        _OPENAIS,
        _REFUSED,
        "`schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level`",
        "langchain-ai/langchainjs#9804",
    ),
    _row(
        "root-combinator",
        _MCP,
        _REFUSED,
        "Anthropic and OpenAI refuse it at the root, Claude Code may drop the tool without a word",
        "opentokenz/mcpx#28",
    ),
    _row(
        "root-assertion",
        (*_OPENAIS, *_MCP),
        _REFUSED,
        "OpenAI takes no `enum` and no `not` at the top level",
        "langchain-ai/langchainjs#9804",
    ),
    _row("root-no-properties", _OPENAIS, _REFUSED, "`object schema missing properties`", "bnb-chain/bnbchain-mcp#68"),
    _row(
        "root-no-properties",
        _MCP,
        _NOTE,
        "24 of 25 clients take it; OpenAI answers `object schema missing properties` where a client adds none",
        "bnb-chain/bnbchain-mcp#68",
    ),
    _row(
        "reserved-name",
        _MCP,
        _LOSSY,
        "Gemini CLI adds a flag of this name to every tool and overwrites yours",
        "google-gemini/gemini-cli:packages/core/src/tools/tools.ts",
    ),
)

_TYPES: Final = (
    _row(
        "missing-type",
        _BOTH,
        _REFUSED,
        "`type: must be specified when not using one_of, any_of or all_of`",
        "danny-avila/LibreChat#6971, directus/mcp#8",
    ),
    _row("missing-type", _STRICT, _REFUSED, "`schema must have a 'type' key`", "can1357/oh-my-pi#211"),
    _row("missing-type", _MCP, _LOSSY, "9 of 25 clients keep a node without `type`", _MEASURED),
    _row("untyped-enum", _MCP, _LOSSY, "13 of 25 clients keep `enum` without `type: string`", _MEASURED),
    _row(
        "boolean-schema",
        (*_BOTH, *_STRICT),
        _REFUSED,
        "every schema must be an object here",
        _PROTO,
    ),
    _row("boolean-schema", _GEMINI_JSON, _LOSSY, "the documented subset knows no boolean schema", _JSON_SUBSET),
    _row("boolean-schema", _MCP, _LOSSY, "8 of 25 clients keep a boolean schema", _MEASURED),
    _row("type-array", _BOTH, _REFUSED, "`type` is one value of an enum; write `anyOf`", _PROTO),
    _row("type-array", _MCP, _LOSSY, "17 of 25 clients keep a list of types; write `anyOf`", _MEASURED),
    _row(
        "null-type", _VERTEX, _REFUSED, "`NULL` is not in Vertex's public `Type`; write `nullable: true`", _VERTEX_PROTO
    ),
    _row(
        "null-type",
        _MCP,
        _NOTE,
        "dies on raw Vertex and in langchain-google-vertexai; an optional argument needs no null",
        _MEASURED,
    ),
    _row("nullable", _MCP, _NOTE, "OpenAPI's word, harmless, but JSON Schema's readers do not know it", _MEASURED),
    _row("nullable", (*_OPENAI, *_ANTHROPIC), _NOTE, "OpenAPI's word, not known to JSON Schema", _DRAFT_2020),
    _row("nullable", _GEMINI_JSON, _NOTE, "not in the documented subset, though Gemini CLI writes it", _JSON_SUBSET),
)

_ARRAYS: Final = (
    _row("missing-items", _BOTH, _REFUSED, "`items: missing field`", "cline/cline#7926"),
    _row("missing-items", _OPENAIS, _REFUSED, "`array schema missing items`", "digitalocean-labs/mcp-digitalocean#265"),
    _row(
        "missing-items",
        _MCP,
        _REFUSED,
        "OpenAI and Gemini refuse the request, VS Code throws",
        "microsoft/vscode-copilot-chat:src/extension/tools/common/toolSchemaNormalizer.ts",
    ),
    _row(
        "empty-items",
        _BOTH,
        _REFUSED,
        "`items: missing field`, since an empty schema does not count",
        "anomalyco/opencode#49392",
    ),
    _row("empty-items", _STRICT, _REFUSED, "`schema must have a 'type' key`", "can1357/oh-my-pi#211"),
    _row("empty-items", _MCP, _LOSSY, "8 of 25 clients keep items without a type", _MEASURED),
    _row(
        "items-not-array",
        _BOTH,
        _REFUSED,
        "`items: field predicate failed: $type == Type.ARRAY`",
        "anomalyco/opencode#49392",
    ),
    _row(
        "items-not-array", _MCP, _LOSSY, "Gemini refuses `items` on anything but an array", "anomalyco/opencode#49392"
    ),
    _row("draft-07-items", _BOTH, _REFUSED, "`items` is one schema here", _PROTO),
    _row(
        "draft-07-items",
        (*_ANTHROPIC, *_MCP),
        _REFUSED,
        "`JSON schema is invalid. It must match JSON Schema draft 2020-12`",
        "kintone/mcp-server#547",
    ),
    _row("draft-07-items", _STRICT, _REFUSED, "one schema for all items is all that is supported", _STRICT_DOC),
    _row(
        "draft-07-items",
        (*_OPENAI, *_GEMINI_JSON),
        _LOSSY,
        "a list of `items` is draft-07 and not documented here",
        _JSON_SUBSET,
    ),
    _row("prefixItems", _MCP, _LOSSY, "7 of 25 clients keep a tuple; an object with named fields survives", _MEASURED),
)

_OBJECTS: Final = (
    _row(
        "properties-not-object",
        _BOTH,
        _REFUSED,
        "only allowed for the type OBJECT",
        "goruck/home-generative-agent#525",
    ),
    _row(
        "required-not-object",
        _BOTH,
        _REFUSED,
        "`required: only allowed for OBJECT type`",
        "goruck/home-generative-agent#525",
    ),
    _row(
        "properties-not-object",
        _MCP,
        _LOSSY,
        "Gemini refuses `properties` without `type: object`",
        "goruck/home-generative-agent#525",
    ),
    _row(
        "required-not-object",
        _MCP,
        _LOSSY,
        "Gemini refuses `required` without `type: object`",
        "goruck/home-generative-agent#525",
    ),
    _row("undeclared-required", _BOTH, _REFUSED, "`required[0]: property is not defined`", "iBUHub/AIStudioToAPI#154"),
    _row("undeclared-required", _STRICT, _REFUSED, "`Extra required key '...' supplied`", "camel-ai/camel#2629"),
    _row("undeclared-required", _MCP, _LOSSY, "Gemini refuses it, VS Code drops it", "iBUHub/AIStudioToAPI#154"),
    _row(
        "optional-property",
        _STRICT,
        _REFUSED,
        "`'required' is required to be supplied and to be an array including every key in properties`",
        "anomalyco/opencode#13737",
    ),
    _row(
        "open-object",
        _STRICT,
        _REFUSED,
        "`'additionalProperties' is required to be supplied and to be false`",
        "lastmile-ai/openai-agents-mcp#2",
    ),
    _row("additionalProperties", _PARAMETERS, _REFUSED, f"{_NO_FIELD}; Vertex has it", _PROTO),
    _row(
        "additionalProperties",
        _MCP,
        _LOSSY,
        "a boolean here crashes MCP sessions of google-genai 2.34 for Python "
        "(`'bool' object has no attribute 'items'`); leave it out",
        "googleapis/python-genai:google/genai/_mcp_utils.py",
    ),
    _row(
        "typed-map",
        _MCP,
        _NOTE,
        "22 of 25 clients keep the type of a map's values; say it in the description too",
        _MEASURED,
    ),
    _row(
        "property-name",
        _ANTHROPIC,
        _REFUSED,
        "`Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`",
        "decocms/studio#6874",
    ),
    _row(
        "property-name",
        _MCP,
        _REFUSED,
        "Anthropic refuses every request that holds it (`Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`)",
        "anthropics/claude-code#79418",
    ),
    _row(
        "nested-property-name",
        (*_ANTHROPIC, *_MCP),
        _NOTE,
        "outside `^[a-zA-Z0-9_.-]{1,64}$`, which Anthropic checks at the root only",
        "aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws#709",
    ),
    _row(
        "property-name",
        _VERTEX,
        _REFUSED,
        "names must be `[A-Za-z_][A-Za-z0-9_]*`, at most 64 characters",
        "googleapis/googleapis:google/cloud/aiplatform/v1/tool.proto",
    ),
    _row(
        "nested-property-name",
        _VERTEX,
        _REFUSED,
        "names must be `[A-Za-z_][A-Za-z0-9_]*`, at most 64 characters",
        "googleapis/googleapis:google/cloud/aiplatform/v1/tool.proto",
    ),
    _row(
        "property-name-style",
        _VERTEX,
        _NOTE,
        "outside the names that Vertex documents, `[A-Za-z_][A-Za-z0-9_]*` of at most 64 characters",
        "googleapis/googleapis:google/cloud/aiplatform/v1/tool.proto",
    ),
    _row(
        "property-name-style",
        _MCP,
        _NOTE,
        "outside the names that Vertex documents, `[A-Za-z_][A-Za-z0-9_]{0,63}`",
        "googleapis/googleapis:google/cloud/aiplatform/v1/tool.proto",
    ),
    _row("patternProperties", _MCP, _LOSSY, "lost by every client that converts to Gemini's `parameters`", _PROTO),
    _row("propertyNames", _MCP, _LOSSY, "lost by every client that converts to Gemini's `parameters`", _PROTO),
)

_CHOICES: Final = (
    _row(
        "integer-enum",
        _BOTH,
        _REFUSED,
        "`enum` is a list of text; write `minimum` and `maximum`, or name the values in the description",
        _PROTO,
    ),
    _row("mixed-enum", _BOTH, _REFUSED, "`enum` is a list of text", _PROTO),
    _row("number-enum", _BOTH, _REFUSED, "`enum` is a list of text", _PROTO),
    _row("odd-enum", _BOTH, _REFUSED, "`enum` is a list of text", _PROTO),
    _row("odd-enum", _GEMINI_JSON, _LOSSY, "`enum` is documented for text and numbers", _JSON_SUBSET),
    _row(
        "integer-enum",
        _MCP,
        _LOSSY,
        "10 of 25 clients keep it, some turn the values into text; `minimum` and `maximum` survive",
        _MEASURED,
    ),
    *(
        _row(
            pattern,
            _MCP,
            _LOSSY,
            "clients that convert to Gemini's `parameters` lose it or turn it into text",
            "anomalyco/opencode:packages/opencode/src/provider/transform.ts",
        )
        for pattern in ("mixed-enum", "number-enum", "odd-enum")
    ),
    _row("enum-type", _PARAMETERS, _REFUSED, "`enum: only allowed for STRING type`", "decolua/9router#359"),
    _row(
        "empty-enum-member",
        _BOTH,
        _REFUSED,
        "`enum[0]: cannot be empty`",
        "anomalyco/opencode:packages/llm/src/protocols/utils/gemini-tool-schema.ts",
    ),
    _row(
        "empty-enum-member",
        _MCP,
        _LOSSY,
        "Gemini refuses an empty member",
        "anomalyco/opencode:packages/llm/src/protocols/utils/gemini-tool-schema.ts",
    ),
    _row("empty-enum", _BOTH, _LOSSY, "an empty list equals not set", _PROTO),
    _row("empty-enum", _MCP, _NOTE, "no value can ever fit", _DRAFT_2020),
    _row("const", _BOTH, _REFUSED, f"{_NO_FIELD}; write an `enum` of one value", _PROTO),
    _row(
        "const", _GEMINI_JSON, _LOSSY, "not in the documented subset; write an `enum` of one value", "vercel/ai#20757"
    ),
    _row(
        "const",
        _MCP,
        _LOSSY,
        "10 of 25 clients keep it exactly; write an `enum` of one value with its `type`",
        _MEASURED,
    ),
)

_COMBINATORS: Final = (
    _row("beside-anyOf", _VERTEX, _REFUSED, "`When using any_of, it must be the only field set`", "vercel/ai#19000"),
    _row(
        "beside-anyOf",
        _MCP,
        _NOTE,
        "Vertex refuses anything beside `anyOf`; put it inside the branches",
        "patlux/pi-commandcode-provider#103",
    ),
    _row("oneOf", _BOTH, _REFUSED, f"{_NO_FIELD}; write `anyOf`", _PROTO),
    _row("oneOf", _GEMINI_JSON, _LOSSY, "read as `anyOf`, so more than one branch may fit", _JSON_SUBSET),
    _row("oneOf", _MCP, _LOSSY, "11 of 25 clients keep it; write `anyOf`", _MEASURED),
    _row("allOf", _BOTH, _REFUSED, f"{_NO_FIELD}; merge the branches", _PROTO),
    _row("allOf", _MCP, _LOSSY, "9 of 25 clients keep it; merge the branches", _MEASURED),
    _row("allOf", _STRICT, _REFUSED, "not supported with `strict`; merge the branches", _STRICT_DOC),
    *(
        _row(
            keyword,
            _MCP,
            _LOSSY,
            "lost by every client that converts to Gemini's `parameters`; say it in the description",
            _PROTO,
        )
        for keyword in (
            "not",
            "if",
            "then",
            "else",
            "contains",
            "dependencies",
            "dependentRequired",
            "dependentSchemas",
            "minContains",
            "maxContains",
            "unevaluatedItems",
            "unevaluatedProperties",
            "additionalItems",
        )
    ),
    *(
        _row(keyword, _BOTH, _REFUSED, f"{_NO_FIELD}; say it in the description", _PROTO)
        for keyword in (
            "not",
            "if",
            "then",
            "else",
            "contains",
            "dependencies",
            "dependentRequired",
            "dependentSchemas",
        )
    ),
)

_LIMITS: Final = (
    _row(
        "multipleOf",
        _MCP,
        _LOSSY,
        "lost by every client that converts to Gemini's `parameters`; say it in the description",
        _PROTO,
    ),
    _row(
        "unsaid-uniqueItems",
        _MCP,
        _LOSSY,
        "lost by every client that converts to Gemini's `parameters`; say it in the description",
        _PROTO,
    ),
    _row(
        "exclusiveMinimum",
        _MCP,
        _LOSSY,
        "7 of 25 clients keep it exactly; for integers `minimum` says the same",
        _MEASURED,
    ),
    _row(
        "exclusiveMaximum",
        _MCP,
        _LOSSY,
        "7 of 25 clients keep it exactly; for integers `maximum` says the same",
        _MEASURED,
    ),
    _row("exclusiveMinimum", _BOTH, _REFUSED, f"{_NO_FIELD}; for integers `minimum` says the same", _PROTO),
    _row("exclusiveMaximum", _BOTH, _REFUSED, f"{_NO_FIELD}; for integers `maximum` says the same", _PROTO),
    _row(
        "draft-04-exclusive",
        _GEMINI_JSON,
        _REFUSED,
        "`value at ...exclusiveMinimum must be a number`",
        "google-gemini/gemini-cli#4920",
    ),
    _row(
        "draft-04-exclusive",
        (*_ANTHROPIC, *_MCP, *_OPENAIS),
        _REFUSED,
        "a boolean is draft-04 (`It must match JSON Schema draft 2020-12`)",
        "anthropics/claude-code#586",
    ),
    _row("draft-04-exclusive", _BOTH, _REFUSED, _NO_FIELD, _PROTO),
    _row("int64", _BOTH, _REFUSED, "beyond 64 bits (`Value out of range`)", "protobuf json_format"),
    _row("zero-limit", _BOTH, _LOSSY, "0 equals not set in the message; say it in the description", _PROTO),
    _row("idle-limit", _BOTH, _NOTE, "0 equals not set in the message, and limits nothing anyway", _PROTO),
    _row(
        "zero-bound",
        _VERTEX,
        _LOSSY,
        "0 is lost, since the field is a plain `double`; say it in the description",
        _VERTEX_PROTO,
    ),
    _row("unsaid-limit", _MCP, _NOTE, "15 to 19 of 25 clients keep it; say it in the description too", _MEASURED),
    _row(
        "pattern-dialect",
        _MCP,
        _LOSSY,
        "no pattern that every engine of ECMA 262 reads, so clients that compile it with Ajv throw; write it as such",
        "ajv-validator/ajv:lib/vocabularies/validation/pattern.ts",
    ),
    _row(
        "format",
        _BOTH,
        _NOTE,
        "refused in 2025 (`only 'enum' and 'date-time' are supported for STRING type`), any value is allowed since",
        "google-gemini/gemini-cli#2237",
        spared=frozenset({"enum", "date-time", "int32", "int64", "float", "double"}),
    ),
    _row("format", _STRICT, _REFUSED, "`'...' is not a valid format`", "can1357/oh-my-pi#206", spared=_STRICT_FORMATS),
)

_REFERENCES: Final = (
    _row("$ref", _BOTH, _REFUSED, f"{_NO_FIELD}; write the definition out", "googleapis/python-genai#1122"),
    _row("$ref", _MCP, _LOSSY, "18 of 25 clients follow it; write the definition out", "github/copilot-cli#1876"),
    _row(
        "network-$ref",
        _MCP,
        _REFUSED,
        "leads out of the schema, and clients must not fetch it",
        "modelcontextprotocol/modelcontextprotocol:docs/specification/2026-07-28/server/tools.mdx",
    ),
    _row(
        "network-$ref",
        (*_GEMINI_JSON, *_STRICT),
        _REFUSED,
        "leads out of the schema, and no provider fetches it",
        "google-gemini/gemini-cli#13326",
    ),
    _row("network-$ref", (*_OPENAI, *_ANTHROPIC), _LOSSY, _SEES_NOTHING, "google-gemini/gemini-cli#13326"),
    _row("dangling-$ref", _GEMINI_JSON, _REFUSED, "`reference to undefined schema`", "google-gemini/gemini-cli#13326"),
    _row("dangling-$ref", (*_MCP, *_STRICT), _REFUSED, "leads to no schema", "agent-infra/sandbox#83"),
    _row("dangling-$ref", (*_OPENAI, *_ANTHROPIC), _LOSSY, _SEES_NOTHING, "agent-infra/sandbox#83"),
    _row("recursive-$ref", _MCP, _LOSSY, "12 of 25 clients survive a cycle; several hang or crash", _MEASURED),
    _row("recursive-$ref", _GEMINI_JSON, _NOTE, "`Cyclic references are unrolled to a limited degree`", _JSON_SUBSET),
    _row(
        "required-recursive-$ref",
        _GEMINI_JSON,
        _REFUSED,
        "a cycle `may only be used within non-required properties`",
        _JSON_SUBSET,
    ),
    _row("required-recursive-$ref", _MCP, _LOSSY, "12 of 25 clients survive a cycle; several hang or crash", _MEASURED),
    _row(
        "beside-$ref",
        _GEMINI_JSON,
        _REFUSED,
        "`If a schema node has Schema.ref set, then only description and default can be set alongside it`",
        "anomalyco/opencode#12295",
    ),
    _row("beside-$ref", _MCP, _LOSSY, "many clients drop what stands beside `$ref`", "anomalyco/opencode#25495"),
    _row("dangling-ref", _VERTEX, _REFUSED, "leads to no schema of `defs`", _VERTEX_PROTO),
    _row("nested-defs", _VERTEX, _REFUSED, "`defs` may stand at the root only", _VERTEX_PROTO),
    _row("$dynamicRef", _MCP, _LOSSY, "lost by every client that converts to Gemini's `parameters`", _PROTO),
    _row("$recursiveRef", _MCP, _LOSSY, "lost by every client that converts to Gemini's `parameters`", _PROTO),
    _row("$defs", _BOTH, _REFUSED, f"{_NO_FIELD}; write the definitions out", _PROTO),
    _row("definitions", _BOTH, _REFUSED, f"{_NO_FIELD}; write the definitions out", _PROTO),
    _row("$schema", _BOTH, _REFUSED, f"{_NO_FIELD}; leave it out", "router-for-me/CLIProxyAPI#97"),
    _row(
        "$schema",
        _MCP,
        _NOTE,
        "22 of 25 clients take it; Claude Code refuses draft-07 for outputs",
        "anthropics/claude-code#88882",
    ),
    _row("$id", _BOTH, _REFUSED, f"{_NO_FIELD}; leave it out", _PROTO),
)

_FIELDS: Final = (
    _row(
        "title",
        _BOTH,
        _NOTE,
        "a field of the message since 2025, though nothing reads it; errors were reported before",
        "googleapis/python-genai#1732",
    ),
    _row("default", _BOTH, _NOTE, "a field of the message since 2025, and ignored; say it in the description", _PROTO),
    _row("propertyOrdering", _BOTH, _NOTE, "a field of the message since 2025; older parsers refused it", _PROTO),
    _row(UNLISTED_KEYWORD, _BOTH, _REFUSED, _NO_FIELD, _PROTO),
    _row(UNLISTED_ANNOTATION, _BOTH, _REFUSED, f"{_NO_FIELD}; leave it out", _PROTO),
    _row(
        UNLISTED_KEYWORD, _GEMINI_JSON, _LOSSY, "not in the documented subset; say it in the description", _JSON_SUBSET
    ),
    _row(
        UNLISTED_ANNOTATION,
        _GEMINI_JSON,
        _NOTE,
        "not in the documented subset, and tells the model nothing",
        _JSON_SUBSET,
    ),
    *(
        _row(pattern, _STRICT, _REFUSED, "`'...' is not permitted` with `strict`", "openai/openai-node#1988")
        for pattern in (UNLISTED_KEYWORD, UNLISTED_ANNOTATION)
    ),
    _row("default", _STRICT, _REFUSED, "`'default' is not permitted` with `strict`", "dotnet/extensions#6196"),
)

_SIZES: Final = (
    _row("deep-data", _BOTH, _REFUSED, "nested too deep for the parser (`Message too deep`)", "protobuf json_format"),
    _row("depth-10", _STRICT, _REFUSED, "more than 10 levels of nesting", _STRICT_DOC),
    _row(
        "depth-10",
        _MCP,
        _NOTE,
        "more than 10 levels, which Moonshot and strict relays refuse",
        "Avick3110/houseCARL#730",
    ),
    _row(
        "depth-5",
        _GEMINI,
        _NOTE,
        "more than 5 levels; `exceeds the maximum allowed nesting depth` was seen from 6 on",
        "zereight/gitlab-mcp#223",
    ),
    _row("property-count", _STRICT, _REFUSED, "more than 5,000 properties", _STRICT_DOC),
    _row("text-length", _STRICT, _REFUSED, "more than 120,000 characters of names, choices and constants", _STRICT_DOC),
    _row("enum-count", _STRICT, _REFUSED, "more than 1,000 choices", _STRICT_DOC),
    _row("enum-length", _STRICT, _REFUSED, "more than 15,000 characters in one list of over 250 choices", _STRICT_DOC),
)

RULES: Final[tuple[Rule, ...]] = (
    *_WELL_FORMED,
    *_ROOT,
    *_TYPES,
    *_ARRAYS,
    *_OBJECTS,
    *_CHOICES,
    *_COMBINATORS,
    *_LIMITS,
    *_REFERENCES,
    *_FIELDS,
    *_SIZES,
)
"""Every rule, a pattern at most once for each target."""

_MESSAGE_FIELDS: Final = frozenset(
    {
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "maxItems",
        "minItems",
        "properties",
        "required",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "example",
        "anyOf",
        "propertyOrdering",
        "default",
    }
)

KEYWORDS: Final[Mapping[Target, frozenset[str]]] = {
    Target.GEMINI_PARAMETERS: _MESSAGE_FIELDS,
    Target.GEMINI_VERTEX: _MESSAGE_FIELDS | {"additionalProperties", "ref", "defs"},
    Target.GEMINI_JSON: frozenset(
        {
            "$id",
            "$defs",
            "$ref",
            "$anchor",
            "type",
            "format",
            "title",
            "description",
            "enum",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "anyOf",
            "oneOf",
            "properties",
            "additionalProperties",
            "required",
            "propertyOrdering",
        }
    ),
    Target.OPENAI_STRICT: frozenset(
        {
            "$schema",
            "$id",
            "$comment",
            "$defs",
            "$ref",
            "definitions",
            "title",
            "description",
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "const",
            "anyOf",
            "pattern",
            "format",
            "multipleOf",
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "minItems",
            "maxItems",
        }
    ),
}
"""The keywords a target lists. A target that is not here reads all of JSON Schema and ignores what it does not know."""

ANNOTATIONS: Final = frozenset(
    {
        "$schema",
        "$comment",
        "$id",
        "$anchor",
        "$vocabulary",
        "title",
        "description",
        "default",
        "example",
        "examples",
        "deprecated",
        "readOnly",
        "writeOnly",
    }
)
"""Keywords that limit no value, so that nothing is lost without them. So are those that JSON Schema does not know."""
