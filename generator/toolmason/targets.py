"""The destinations of schemas: providers and MCP, with the form of a tool in a request.

What each one accepts is in `schema/providers.toml`. This module imports nothing of the toolkit, since the command line
lists the targets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class Target(StrEnum):
    """The destination of a schema. `docs/schemas.md` lists the source of each row."""

    MCP = "mcp"
    GEMINI_PARAMETERS = "gemini-parameters"
    GEMINI_VERTEX = "gemini-vertex"
    GEMINI_JSON = "gemini-json"
    OPENAI = "openai"
    OPENAI_STRICT = "openai-strict"
    ANTHROPIC = "anthropic"

    @property
    def request(self) -> RequestForm:
        """The form of a tool in a request."""
        if self not in _REQUESTS:
            raise ValueError(f"targets.py: the target `{self}` has no row in `_REQUESTS`")
        return _REQUESTS[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestForm:
    """The form of the tools of one request."""

    description: str
    """The place of the schema, in Markdown."""
    schema_member: str
    """Member of a tool that contains its schema."""
    list_member: str = ""
    """Member that contains the list of tools; empty if the list is not in an object."""
    wrapper: str = ""
    """Member, beside `type`, that contains a tool; empty without one. `type` is the name of the member."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Further members of a tool."""
    has_groups: bool = False
    """Whether a request has a list of objects with `list_member`."""

    def tool(self, common: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
        """Return one tool, with the members `common` that all targets share."""
        content = {**common, **self.fixed, self.schema_member: schema}
        return {"type": self.wrapper, self.wrapper: content} if self.wrapper else content

    def tools(self, tools: list[dict[str, Any]]) -> Any:
        """Return the part of a request with all tools."""
        content: Any = {self.list_member: tools} if self.list_member else tools
        return [content] if self.has_groups else content


_DECLARATIONS: Final[Mapping[str, Any]] = {"list_member": "functionDeclarations", "has_groups": True}
_REQUESTS: Final[Mapping[Target, RequestForm]] = {
    Target.MCP: RequestForm(
        description="`inputSchema` of an MCP tool: JSON Schema that every client's converter preserves",
        schema_member="inputSchema",
        list_member="tools",
    ),
    Target.GEMINI_PARAMETERS: RequestForm(
        description="`parameters` of a Gemini function declaration, Developer API: protobuf message `Schema`",
        schema_member="parameters",
        **_DECLARATIONS,
    ),
    Target.GEMINI_VERTEX: RequestForm(
        description="`parameters` of a Gemini function declaration on Vertex AI",
        schema_member="parameters",
        **_DECLARATIONS,
    ),
    Target.GEMINI_JSON: RequestForm(
        description="`parametersJsonSchema` of a Gemini function declaration, both APIs",
        schema_member="parametersJsonSchema",
        **_DECLARATIONS,
    ),
    Target.OPENAI: RequestForm(
        description="`function.parameters` of OpenAI, `strict` off", schema_member="parameters", wrapper="function"
    ),
    Target.OPENAI_STRICT: RequestForm(
        description="`function.parameters` of OpenAI with `strict: true`",
        schema_member="parameters",
        wrapper="function",
        fixed={"strict": True},
    ),
    Target.ANTHROPIC: RequestForm(description="`input_schema` of Anthropic", schema_member="input_schema"),
}
