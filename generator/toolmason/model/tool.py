"""Tools of the model: one tool with its parameters, examples and implementation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolmason_runtime.programs.spec import CommandTool
from toolmason_runtime.toml.positions import KeyPath

from toolmason.model.types import ClassName, Identifier, JsonSchema, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What running a tool may do."""

    read_only: bool
    destructive: bool
    idempotent: bool
    open_world: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A call that works. `invocation` is the same as call syntax: `read_files(files=[...])`."""

    description: str
    arguments: Mapping[str, Any]
    invocation: str
    expected_output: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deprecation:
    """Why a tool should no longer be used, and what instead."""

    since: str
    replaced_by: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """Where a hand-written function is; `module` is absolute."""

    module: str
    function: Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """What a tool runs. `program_constant` names its program in generated code; the last two are for people."""

    tool: CommandTool
    program_constant: Identifier
    usage: str
    risk: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool, ready to print.

    `schema` is what arguments must fit, `input_schema` is as sent to clients, and `output_schema` is what a result must
    fit, with all its texts. `renamed` leads from a name in `input_schema` to the one in `schema` that some provider
    refuses. `params_class` is empty for a tool with raw JSON Schema, whose handler is given a plain dict;
    `result_class` for one that returns content.
    A tool has either a `handler` or a `command`.
    """

    name: str
    title: str
    summary: str
    description: str
    category: str
    keywords: tuple[str, ...]
    use_cases: tuple[str, ...]
    complexity: str
    tier: str
    requires_codebase: bool
    hints: Hints
    related: tuple[str, ...]
    aliases: tuple[str, ...]
    deprecated: Deprecation | None
    enabled: bool
    since: str
    ext: Mapping[str, Any]
    handler: Handler | None
    command: CommandLine | None
    params: tuple[Value, ...]
    schema: JsonSchema
    input_schema: JsonSchema
    renamed: Mapping[str, str]
    output_schema: JsonSchema | None
    examples: tuple[Example, ...]
    protocol: ClassName
    constant: Identifier
    params_class: ClassName | Literal[""]
    result_class: ClassName | Literal[""]
    allow: Mapping[str, str]
    """Lint codes switched off, with the reasons."""
    at: KeyPath
