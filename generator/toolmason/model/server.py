"""The meaning of a manifest: names resolved, types resolved, defaults applied, order settled.

Templates see only this model. Everything is frozen, and no method prints source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from toolmason_runtime.programs.settings import POLICY
from toolmason_runtime.programs.spec import Program
from toolmason_runtime.protocol.answer_size import VARIABLE as MAX_ANSWER_CHARS
from toolmason_runtime.toml.positions import KeyPath

from toolmason.clients import Client
from toolmason.model.tool import CommandLine, Handler, Tool
from toolmason.model.types import ClassName, Identifier, ObjectType


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A group of tools: one sub-package of the generated server. `module` is its name there."""

    name: str
    module: Identifier
    summary: str
    tags: tuple[str, ...]
    has_json_errors: bool
    """Whether failures are told as JSON."""
    tools: tuple[Tool, ...]
    types: tuple[ObjectType, ...]
    """The types its tools use, in the order of the manifest."""
    shared_types: tuple[ClassName, ...]
    """Those of `types` that tools of other categories use, too; sorted."""
    contract_models: tuple[ClassName, ...]
    """Models its contract mentions, sorted."""
    handler_modules: tuple[str, ...]
    """Modules its handlers stand in, and the guard of its command lines, sorted."""

    @property
    def handled(self) -> tuple[Tool, ...]:
        """The tools that hand-written functions carry out."""
        return tuple(tool for tool in self.tools if tool.handler)

    @property
    def has_models(self) -> bool:
        """Whether a tool has a parameter model; one with raw JSON Schema has none."""
        return any(tool.params_class for tool in self.tools)

    @property
    def has_raw_tools(self) -> bool:
        """Whether a handler is given a plain dict."""
        return any(not tool.params_class for tool in self.handled)

    @property
    def has_content_tools(self) -> bool:
        """Whether a handler returns content instead of a structured result."""
        return any(not tool.result_class for tool in self.handled)

    @property
    def commands(self) -> tuple[CommandLine, ...]:
        """What its tools run."""
        return tuple(tool.command for tool in self.tools if tool.command)

    @property
    def programs(self) -> tuple[tuple[Identifier, Program], ...]:
        """The programs that its tools run, each once, with their constants."""
        return tuple({each.program_constant: each.tool.program for each in self.commands}.items())

    @property
    def spec_names(self) -> tuple[str, ...]:
        """What its bindings import to describe command lines, sorted."""
        if not self.commands:
            return ()
        has_places = any(each.tool.placements or each.tool.program.placements for each in self.commands)
        is_confined = any(each.tool.program.permissions for each in self.commands)
        optional = (
            *(("Permissions",) if is_confined else ()),
            *(("PlacementKind", "ArgumentPlacement") if has_places else ()),
        )
        return ("CommandTool", *optional, "Program", "Risk")

    @property
    def siblings(self) -> tuple[str, ...]:
        """The modules beside its bindings that they need, sorted."""
        return (*(("contract",) if self.handled else ()), *(("models",) if self.has_models else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cli:
    """A program that tools run, as it is shown to those who look for tools, and to who runs the server."""

    name: str
    summary: str
    category: str
    tags: tuple[str, ...]
    command: tuple[str, ...]
    variables: tuple[str, ...]
    """Environment variables of the server that it is handed, or that its command line is made with."""
    is_confined: bool = False
    """Whether the manifest declares the files and the network that it may use."""


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
class Subcommand:
    """Something else that the console command does: `name` is typed after it."""

    name: str
    summary: str
    handler: Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """How a model gets to know the tools."""

    style: str
    prefix: str
    pinned: tuple[str, ...]
    page_tokens: int
    split_calls: bool
    list_fetch_chunk: bool


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
class FileRow:
    """A row of the plan: files to render with one template. `path` may contain fields such as `{tool.name}`."""

    path: str
    template: str
    for_each: str = "server"
    only_if: str = ""
    """The field of the subject that must not be empty; for rows of ours."""
    readable: bool = True
    number: int = 0
    """Its place among the `[[files]]` of a manifest, from 1."""
    at: KeyPath = ()


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
    launch: tuple[str, ...]
    """The command line that starts the server in the root of its project."""
    tool_timeout: float | None
    """Seconds a client should wait for a tool; None if nothing is known."""
    website: str
    lifespan: Handler | None
    guard: Handler | None
    """What looks at the arguments of each command line."""
    startup_check: Handler | None
    """What gives warnings once the server runs."""
    chunk_store: str
    page_size: int
    options: tuple[Option, ...]
    pass_env: tuple[str, ...]
    """Environment variables that its handlers read."""
    subcommands: tuple[Subcommand, ...]
    discovery: Discovery
    categories: tuple[Category, ...]
    clis: tuple[Cli, ...]
    types: tuple[ObjectType, ...]
    shared_types: tuple[ObjectType, ...]
    """Those of `types` that tools of several categories use: `types.py` defines their classes."""
    commands: tuple[Command, ...]
    workflows: tuple[Workflow, ...]
    skill_description: str
    """When a model should load the skill of this server; 1,024 characters at most (Agent Skills)."""
    files: tuple[FileRow, ...] = ()
    """Files that its manifest adds."""

    @property
    def skill(self) -> str:
        """The name of its own skill."""
        return self.name.lower()

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables the server reads: of its options in their order, of its handlers, of programs."""
        own = (option.env for option in self.options if option.env)
        of_programs = (
            [POLICY, MAX_ANSWER_CHARS, *(name for cli in self.clis for name in cli.variables)] if self.clis else []
        )
        return tuple(dict.fromkeys([*own, *self.pass_env, *of_programs]))

    def environment(self, client: Client) -> dict[str, str]:
        """Return the `env` that passes on those of `variables` that `client` withholds otherwise.

        Each has an empty default: without one, Gemini CLI passes an undefined `$NAME` on as it is written.
        """
        withheld = client.withheld
        return {name: f"${{{name}:-}}" for name in self.variables if withheld and withheld.includes(name)}

    @property
    def codex_table(self) -> dict[str, Any]:
        """The server's table in the configuration of Codex."""
        timeout = {} if self.tool_timeout is None else {"tool_timeout_sec": self.tool_timeout}
        started = {"command": self.launch[0], "args": list(self.launch[1:])}
        return {**started, "env_vars": list(self.variables), "required": True, **timeout}

    @property
    def launch_anywhere(self) -> tuple[str, ...]:
        """The command line for clients that start servers outside of any project, with placeholders to fill in."""
        program, *rest = self.launch
        if rest:
            rest = [rest[0], f"<absolute path of {rest[1]}>"]
        return (f"<absolute path of {program}>", *rest, *self.example_arguments)

    @property
    def example_arguments(self) -> tuple[str, ...]:
        """Each option with a placeholder to fill in, for clients that start servers outside of any project."""
        return tuple(word for option in self.options for word in (option.flag, f"<{option.metavar}>"))

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, by category, then as in the manifest."""
        return tuple(tool for category in self.categories for tool in category.tools)
