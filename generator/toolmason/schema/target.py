"""The dialects a schema can be projected to. `docs/schemas.md` gives the source of each row."""

from __future__ import annotations

from enum import StrEnum


class Target(StrEnum):
    """Whom a schema is for."""

    MCP = "mcp"
    """`inputSchema` of an MCP tool: JSON Schema that survives every client's own converter."""
    GEMINI_PARAMETERS = "gemini-parameters"
    """`FunctionDeclaration.parameters` of the Gemini Developer API: the protobuf message `Schema`."""
    GEMINI_VERTEX = "gemini-vertex"
    """The same field on Vertex AI."""
    GEMINI_JSON = "gemini-json"
    """`FunctionDeclaration.parametersJsonSchema` of both."""
    OPENAI = "openai"
    """`function.parameters` of OpenAI with `strict` off."""
    OPENAI_STRICT = "openai-strict"
    """`function.parameters` of OpenAI with `strict: true`."""
    ANTHROPIC = "anthropic"
    """`input_schema` of Anthropic."""
