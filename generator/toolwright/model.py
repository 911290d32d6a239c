"""What a manifest means: names settled, types resolved, defaults applied, order decided.

Templates see only this. Everything is frozen, and no method prints source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NewType

from toolwright.paths import KeyPath

Identifier = NewType("Identifier", str)
"""A name that is legal Python and no keyword. Made in `names`."""

ClassName = NewType("ClassName", str)
"""An identifier in PascalCase. Made in `names`."""

JsonSchema = dict[str, Any]
"""A JSON Schema object, in wire order."""


@dataclass(frozen=True, slots=True)
class Primitive:
    """A type every language has."""

    kind: Literal["string", "integer", "number", "boolean", "object"]


@dataclass(frozen=True, slots=True)
class Named:
    """A reference to `[types.NAME]`."""

    name: ClassName


@dataclass(frozen=True, slots=True)
class ListOf:
    """`T[]`."""

    item: TypeRef


@dataclass(frozen=True, slots=True)
class MapOf:
    """`map<T>`: free keys, values of one type."""

    value: TypeRef


TypeRef = Primitive | Named | ListOf | MapOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A parameter or a field. `default` means something only where `has_default`."""

    name: str
    type: TypeRef
    description: str = ""
    required: bool = True
    nullable: bool = False
    has_default: bool = False
    default: Any = None
    constraints: Mapping[str, Any] = field(default_factory=dict)
    """JSON Schema keywords with their values: `enum`, `minimum`, `minItems`, ... in schema order."""
    at: KeyPath = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectType:
    """`[types.NAME]`."""

    name: ClassName
    description: str
    fields: tuple[Value, ...]
    at: KeyPath = ()


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
class Tool:
    """One tool, ready to print.

    `schema` is what arguments must fit; `input_schema` and `output_schema` are as sent to clients. `renamed` leads
    from a name in `input_schema` to the one in `schema` that some provider refuses. `params_class` is empty for a
    tool with raw JSON Schema, whose handler is given a plain dict; `result_class` for one that returns content.
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
    hints: Hints
    related: tuple[str, ...]
    aliases: tuple[str, ...]
    deprecated: Deprecation | None
    enabled: bool
    since: str
    ext: Mapping[str, Any]
    handler: Handler
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A group of tools: one sub-package of the generated server. `module` is its name there."""

    name: str
    module: Identifier
    summary: str
    tags: tuple[str, ...]
    tools: tuple[Tool, ...]
    types: tuple[ObjectType, ...]
    """The types its tools use, in the order of the manifest."""
    contract_models: tuple[ClassName, ...]
    """Models its contract mentions, sorted."""
    handler_modules: tuple[str, ...]
    """Modules its handlers stand in, sorted."""

    @property
    def has_models(self) -> bool:
        """Whether a tool has a parameter model; one with raw JSON Schema has none."""
        return any(tool.params_class for tool in self.tools)

    @property
    def has_raw_tools(self) -> bool:
        """Whether a tool is given a plain dict."""
        return any(not tool.params_class for tool in self.tools)

    @property
    def has_content_tools(self) -> bool:
        """Whether a tool returns content instead of a structured result."""
        return any(not tool.result_class for tool in self.tools)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A setting of the running server. `name` is the key in the manifest, `flag` how it is typed."""

    name: str
    flag: str
    description: str
    env: str
    many: bool
    default: str
    metavar: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """How a model gets to know the tools."""

    style: str
    prefix: str
    pinned: tuple[str, ...]
    page_tokens: int
    split_calls: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command. `prompt` still holds `{arguments}`."""

    name: str
    summary: str
    argument_hint: str
    tools: tuple[str, ...]
    claude_tools: tuple[str, ...]
    """What Claude Code may run for it without asking, in its own spelling."""
    runner: str
    """The meta-tool that runs those of its tools that are not listed; empty if all are."""
    prompt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a workflow; `tool` may be empty."""

    title: str
    tool: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A procedure over several tools."""

    name: str
    summary: str
    description: str
    steps: tuple[Step, ...]
    runner: str
    """The meta-tool that runs those of its tools that are not listed; empty if all are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One server, whole. `source` is the manifest's path relative to the project, for headers."""

    source: str
    name: str
    title: str
    version: str
    package: Identifier
    handlers: str
    instructions: str
    command: str
    website: str
    lifespan: Handler | None
    page_size: int
    options: tuple[Option, ...]
    discovery: Discovery
    categories: tuple[Category, ...]
    types: tuple[ObjectType, ...]
    commands: tuple[Command, ...]
    workflows: tuple[Workflow, ...]
    skill_description: str
    """When a model should load the skill of this server; 1,024 characters at most (Agent Skills)."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables the server reads, in the order of its options."""
        return tuple(option.env for option in self.options if option.env)

    @property
    def example_arguments(self) -> tuple[str, ...]:
        """Each option with a placeholder to fill in, for clients that start servers outside of any project."""
        return tuple(word for option in self.options for word in (option.flag, f"<{option.metavar}>"))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, by category, then as in the manifest."""
        return tuple(tool for category in self.categories for tool in category.tools)
