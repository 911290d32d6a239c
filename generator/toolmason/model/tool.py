"""Tools of the model: one tool with its parameters, examples and implementation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolmason_runtime.apis.spec import HttpTool
from toolmason_runtime.programs.spec import CommandTool
from toolmason_runtime.upstreams.spec import UpstreamTool

from toolmason.manifest.tables import ToolTable
from toolmason.model.from_table import FromTable
from toolmason.model.json_schema import rules
from toolmason.model.types import ClassName, Identifier, JsonSchema, Property


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Effects of a tool: the hints that MCP calls annotations."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A valid call. `invocation` is its Python expression: `read_files(files=[...])`."""

    description: str
    arguments: Mapping[str, Any]
    invocation: str
    expected_output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A hand-written function; `module` is absolute."""

    module: str
    function: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class CliBinding:
    """The command line of a tool. `program_constant` is its program in generated code; the rest is for docs."""

    tool: CommandTool
    program_constant: Identifier
    usage: str
    risk: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpBinding:
    """The request of a tool. `api_constant` is its API in generated code; `usage` is for docs."""

    tool: HttpTool
    api_constant: Identifier
    usage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamBinding:
    """The tool of an upstream. `upstream_constant` is the upstream in generated code.

    Of hints that contradict each other in the manifest, the worse one counts.
    """

    tool: UpstreamTool
    upstream_constant: Identifier
    has_contradicting_hints: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimParam:
    """A parameter whose value is the claim `claim` of the caller's access token."""

    value: Property
    claim: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(FromTable):
    """One tool, ready to print.

    Arguments are checked against `schema`; clients get `input_schema`. Results are checked against `output_schema`.
    `renamed` maps names in `input_schema` to names in `schema` that some provider rejects. `params_class` is empty for
    raw JSON Schema, whose handler gets a plain dict; `result_class` is empty for a tool that returns content. A tool
    has one of `handler`, `command`, `http` and `upstream`.
    """

    name: str
    table: ToolTable
    description: str
    """Description for models, with the scopes that a call needs."""
    category: str
    hints: Hints
    handler: Handler | None
    command: CliBinding | None
    http: HttpBinding | None
    upstream: UpstreamBinding | None
    params: tuple[Property, ...]
    """Parameters that callers see."""
    claims: tuple[ClaimParam, ...]
    """Parameters that are filled from claims: they are in the parameter model only."""
    schema: JsonSchema
    input_schema: JsonSchema
    renamed: Mapping[str, str]
    complete_schema: JsonSchema | None
    """The schema in search answers, without references; None if `input_schema` has all rules as keywords."""
    output_schema: JsonSchema | None
    examples: tuple[Example, ...]
    protocol: ClassName
    constant: Identifier
    params_class: ClassName | Literal[""]
    result_class: ClassName | Literal[""]
    allow: Mapping[str, str]
    """Suppressed lint code -> reason."""

    @property
    def fields(self) -> tuple[Property, ...]:
        """Fields of its parameter model."""
        return (*self.params, *(param.value for param in self.claims))

    @property
    def has_lazy_params(self) -> bool:
        """Whether a server can check its arguments without its model: `input_schema` has every rule of `schema`."""
        has_no_handler = bool((self.command or self.http) and self.params_class and not self.claims)
        return has_no_handler and rules(self.input_schema) == rules(self.schema)
