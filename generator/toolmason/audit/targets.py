"""The targets in words, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolmason.schema import Target

_TEXTS: Final[Mapping[Target, str]] = {
    Target.MCP: "`inputSchema` of an MCP tool: JSON Schema that survives every client's own converter",
    Target.GEMINI_PARAMETERS: "`parameters` of a Gemini function declaration, Developer API: the message `Schema`",
    Target.GEMINI_VERTEX: "`parameters` of a Gemini function declaration on Vertex AI",
    Target.GEMINI_JSON: "`parametersJsonSchema` of a Gemini function declaration, both APIs",
    Target.OPENAI: "`function.parameters` of OpenAI, `strict` off",
    Target.OPENAI_STRICT: "`function.parameters` of OpenAI with `strict: true`",
    Target.ANTHROPIC: "`input_schema` of Anthropic",
}


def described() -> tuple[tuple[str, str], ...]:
    """Give each target's name and what it is."""
    return tuple((str(target), text) for target, text in _TEXTS.items())
