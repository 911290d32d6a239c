"""The model of one server, with names, types, defaults and order resolved. It is frozen, and templates use only it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from toolmason_runtime.shared.answer_size import VARIABLE as MAX_ANSWER_CHARS
from toolmason_runtime.shared.extras import HTTP, contained_in
from toolmason_runtime.shared.search.query_model import MODEL_VARIABLE
from toolmason_runtime.shared.shown_names import default_prefix
from toolmason_runtime.shared.toml.positions import KeyPath
from toolmason_runtime.toolkit import POLICY

from toolmason.manifest.tables import (
    CategoryTable,
    CommandTable,
    DiscoveryTable,
    OptionTable,
    OutputsTable,
    ServerTable,
    StepTable,
    SubcommandTable,
    WorkflowTable,
)
from toolmason.model.from_table import FromTable
from toolmason.model.implementation import Group, Handler, Implementation
from toolmason.model.prompt import Prompt, Resource, SurfaceModule
from toolmason.model.tool import Tool
from toolmason.model.types import ClassName, DeclaredType, Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class Category(FromTable):
    """A group of tools: the sub-package `module` of the generated server."""

    name: str
    module: Identifier
    table: CategoryTable
    has_json_errors: bool
    """Whether errors are JSON."""
    tools: tuple[Tool, ...]
    types: tuple[DeclaredType, ...]
    """Types of its tools, in the order of the manifest."""
    shared_types: tuple[ClassName, ...]
    """Those of `types` that other categories use as well, sorted."""
    contract_models: tuple[ClassName, ...]
    """Models in its contract, sorted."""
    handler_modules: tuple[str, ...]
    """Modules of its handlers and of the guard of its command lines, sorted."""
    kinds: tuple[str, ...]
    """Kinds of its tools, in the order of their bindings."""

    @property
    def handled(self) -> tuple[Tool, ...]:
        """Tools with a handler."""
        return tuple(tool for tool in self.tools if tool.implementation.handler)

    @property
    def imports_models(self) -> bool:
        """Whether its bindings import a parameter model."""
        return any(tool.params_class and not tool.has_lazy_params for tool in self.tools)

    @property
    def has_raw_tools(self) -> bool:
        """Whether any handler gets a plain dict."""
        return any(not tool.params_class for tool in self.handled)

    @property
    def has_content_tools(self) -> bool:
        """Whether any handler returns content instead of a structured result."""
        return any(not tool.result_class for tool in self.handled)

    @property
    def implementations(self) -> tuple[Implementation, ...]:
        """How its tools are carried out."""
        return tuple(tool.implementation for tool in self.tools)

    @property
    def groups(self) -> tuple[tuple[Identifier, Any], ...]:
        """Distinct objects that its tools share, such as programs, with their constants."""
        return tuple(dict(found.group for found in self.implementations if found.group).items())

    @property
    def plurals(self) -> tuple[str, ...]:
        """Words for the objects that carry out its tools, besides programs and handlers; sorted."""
        return tuple(sorted({found.plural for found in self.implementations if found.plural}))

    def tools_of(self, kind: str) -> tuple[Tool, ...]:
        """Return its tools of a kind."""
        return tuple(tool for tool in self.tools if tool.implementation.kind == kind)

    def groups_of(self, kind: str) -> tuple[tuple[Identifier, Any], ...]:
        """Return the distinct objects that its tools of a kind share, with their constants."""
        found = (tool.implementation.group for tool in self.tools_of(kind))
        return tuple(dict(group for group in found if group).items())

    @property
    def runtime_imports(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Modules of the runtime with the names that its bindings import: sorted, functions last."""
        names: dict[str, set[str]] = {"toolmason_runtime.serving": {"Binding"}}
        for implementation in self.implementations:
            for module, used in implementation.imports.items():
                names.setdefault(module, set()).update(used)
        return tuple((module, tuple(sorted(used, key=_import_order))) for module, used in sorted(names.items()))

    @property
    def siblings(self) -> tuple[str, ...]:
        """Modules of the sub-package that its bindings import, sorted."""
        return (*(("contract",) if self.handled else ()), *(("models",) if self.imports_models else ()))


def _import_order(name: str) -> tuple[bool, str]:
    return name[0].islower(), name


SECRET_NAME: Final = re.compile(r"(?i)(^|_)(token|secret|password|passwd|(api)?key|credentials?)(_|$)")
"""Names of variables that look like those of secrets."""
MIN_TOOLS: Final = 8
"""Minimum tools of a server with pictures in its documentation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option(FromTable):
    """A setting of the running server. `name` is the key in the manifest, `flag` includes the dashes."""

    name: str
    flag: str
    table: OptionTable
    default: str | int | float | bool | None
    metavar: str
    field: Identifier
    """Name in the class `Options`."""

    @property
    def usage(self) -> tuple[str, ...]:
        """The flag in the documentation with its value, in brackets if that may be left out; empty for a secret."""
        if self.table.secret:
            return ()
        value = f"[{self.metavar}]" if self.table.implicit else self.metavar
        return (self.flag,) if self.table.type == "boolean" else (self.flag, value)

    @property
    def annotation(self) -> str:
        """Python type of the field."""
        kind = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[self.table.type]
        if self.table.many:
            return f"tuple[{kind}, ...]"
        return kind if self.table.required or self.default is not None else f"{kind} | None"

    @property
    def initial(self) -> str | int | float | bool | tuple[object, ...] | None:
        """Default of the field, for options that are not required."""
        return (() if self.default is None else (self.default,)) if self.table.many else self.default


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A secret that a server reads from the variable `env`, for bundles and registries."""

    name: str
    env: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand(FromTable):
    """A further subcommand of the console command."""

    name: str
    table: SubcommandTable
    handler: Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand(FromTable):
    """A slash command."""

    name: str
    """Name with the prefix of `[outputs]`."""
    base_name: str
    """Name in the manifest."""
    table: CommandTable
    claude_tools: tuple[str, ...]
    """Tools that Claude Code may run without asking, in its spelling."""
    plugin_tools: tuple[str, ...]
    """The same tools in the spelling of a Claude Code plugin."""
    call_hint: str
    """Sentence with the meta-tools that call its unlisted tools, or its placeholder; empty if all are listed."""
    template: str
    """Text with `{arguments}` and `{COMMAND_NAME}`; a server replaces both at run time."""
    allow: Mapping[str, str]
    """Code of a suppressed lint rule -> reason."""

    @property
    def prompt(self) -> str:
        """Text of its file, with `{arguments}`."""
        return self.template.replace("{COMMAND_NAME}", self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(FromTable):
    """One step of a workflow; `tool` may be empty."""

    table: StepTable
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow(FromTable):
    """A procedure over several tools."""

    name: str
    """Name with the prefix of `[outputs]`."""
    base_name: str
    """Name in the manifest."""
    table: WorkflowTable
    title: str
    description: str
    steps: tuple[Step, ...]
    call_hint: str
    """Sentence with the meta-tools that call its unlisted tools, or its placeholder; empty if all are listed."""
    allow: Mapping[str, str]
    """Code of a suppressed lint rule -> reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The page that clients show beside the results of a tool."""

    tool: str
    page: Handler
    action: Handler | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRow:
    """A row of the plan: files to render with one template. `path` may contain fields such as `{tool.name}`."""

    path: str
    template: str
    for_each: str = "server"
    only_if: str = ""
    """Field of the subject that must be non-empty; for packaged rows."""
    readable: bool = True
    number: int = 0
    """1-based index in the `[[files]]` of a manifest."""
    at: KeyPath = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Server(FromTable):
    """One server. `source` is the manifest's path relative to the project, for headers.

    Servers are compared by identity.
    """

    source: str
    table: ServerTable
    package: Identifier
    summary: str
    instructions: str
    command: str
    launch: tuple[str, ...]
    """The command line that starts the server in the root of its project."""
    declared_extras: frozenset[str] | None
    """Extras of toolmason that the project requires; None if its pyproject.toml does not list toolmason."""
    tool_timeout: float | None
    """Client-side timeout of a tool call in seconds; None if unknown."""
    lifespan: Handler | None
    guard: Handler | None
    """Check of the arguments of each command line."""
    startup_check: Handler | None
    """Check that returns warnings once the server runs."""
    routes: Handler | None
    """Routes beside that of MCP, over HTTP."""
    middleware: Handler | None
    """Wrapper of the ASGI application."""
    options: tuple[Option, ...]
    pass_env: tuple[str, ...]
    """Environment variables that its handlers read."""
    subcommands: tuple[Subcommand, ...]
    discovery: DiscoveryTable
    pins: Mapping[str, tuple[str, ...]]
    """Pinned tools of the styles that do not list `discovery.pinned`."""
    outputs: OutputsTable
    categories: tuple[Category, ...]
    groups: Mapping[str, tuple[Group, ...]]
    """The programs, APIs and the like that tools use, by the name of their kind."""
    types: tuple[DeclaredType, ...]
    shared_types: tuple[DeclaredType, ...]
    """Those of `types` that several categories use; `types.py` defines their classes."""
    prompts: tuple[Prompt, ...]
    """Prompts of the manifest, then one for each slash command."""
    resources: tuple[Resource, ...]
    surface_modules: tuple[SurfaceModule, ...]
    """The sub-packages with the handlers of prompts and of resources."""
    commands: tuple[SlashCommand, ...]
    workflows: tuple[Workflow, ...]
    apps: tuple[App, ...]
    skill_description: str
    """When a model should load the skill of this server; 1,024 characters at most (Agent Skills)."""
    files: tuple[FileRow, ...] = ()
    """Files that its manifest adds."""
    postings: str = ""
    """Content of `semantic.postings`; empty if the project has none."""
    unfilled: Server | None = None
    """The same server with the placeholders in its texts, from which files for running servers are made; None if this
    one has them.
    """

    @property
    def prefix(self) -> str:
        """Prefix of the names of tools in clients that add none; empty for none."""
        prefix = self.discovery.prefix
        return default_prefix(self.table.name) if prefix is None else prefix

    @property
    def missing_extras(self) -> tuple[str, ...]:
        """Extras of toolmason that it needs and the project does not require, sorted."""
        if self.declared_extras is None:
            return ()
        needed = self.tool_extras
        if self.routes or self.middleware or self.table.auth:
            needed.add(HTTP)
        return tuple(sorted(needed - self.declared_extras - contained_in(needed | self.declared_extras)))

    @property
    def tool_extras(self) -> set[str]:
        """Extras of toolmason that its tools need on every transport."""
        return {extra for tool in self.tools for extra in tool.implementation.extras}

    @property
    def skill(self) -> str:
        """Name of the server's skill."""
        return self.table.name.lower()

    @property
    def wheel(self) -> str:
        """Name of the distribution in the name of its wheel, as in `notes_server-0.1.0-py3-none-any.whl`."""
        return re.sub(r"[-_.]+", "_", self.table.distribution.partition("[")[0]).lower()

    @property
    def extras(self) -> str:
        """Extras of the distribution in brackets, such as `[server]`; empty for none."""
        return self.table.distribution[len(self.table.distribution.partition("[")[0]) :]

    @property
    def required_options(self) -> tuple[Option, ...]:
        """Options whose flag needs a value."""
        return tuple(
            option
            for option in self.options
            if not (option.table.secret or option.default or option.table.implicit or option.table.type == "boolean")
        )

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """Secret options, then variables of no option whose names look like those of secrets."""
        of_options = [
            Secret(
                name=option.name,
                env=option.table.env,
                description=option.table.description,
                required=option.table.required,
            )
            for option in self.options
            if option.table.secret
        ]
        taken = {option.table.env for option in self.options}
        others = [
            Secret(name=name, env=name, description=f"Environment variable {name}", required=False)
            for name in self.variables
            if name not in taken and SECRET_NAME.search(name)
        ]
        return (*of_options, *others)

    @property
    def has_pictures(self) -> bool:
        """Whether it has enough tools and categories for pictures in its documentation."""
        enabled = [tool for tool in self.tools if tool.table.enabled]
        return len(enabled) >= MIN_TOOLS and len({tool.category for tool in enabled}) > 1

    @property
    def pictures(self) -> tuple[str, ...]:
        """The pictures that its documentation shows: those that `[outputs]` does not leave out."""
        names = ("effects.svg", "tokens.svg") if self.has_pictures else ()
        return tuple(name for name in names if f"docs/{name}" not in self.outputs.omit)

    @property
    def has_options(self) -> bool:
        """Whether the class `Options` is generated."""
        return bool(self.options or self.lifespan)

    @property
    def hooks(self) -> tuple[tuple[Identifier, str, Handler], ...]:
        """The functions of `[server]`: a constant, its type, and the function."""
        own = [
            ("LIFESPAN", "LifespanFactory[Options]", self.lifespan),
            ("GUARD", "PreRunHook", self.guard),
            ("STARTUP_CHECK", "StartupCheck", self.startup_check),
        ]
        commands = [
            (f"RUN_{command.name.upper().replace('-', '_')}", "SubcommandFunction", command.handler)
            for command in self.subcommands
        ]
        return tuple((Identifier(name), kind, handler) for name, kind, handler in [*own, *commands] if handler)

    @property
    def has_programs(self) -> bool:
        """Whether it runs programs, APIs or upstreams, which a policy can restrict."""
        # Handlers are neither.
        categories = (category for category in self.categories if category.kinds != ("handler",))
        return bool(self.groups) or any(
            "kind" in tool.implementation.entry for category in categories for tool in category.tools
        )

    @property
    def variables(self) -> tuple[str, ...]:
        """Environment variables of the server: of options in their order, of handlers, commands, programs, searches."""
        of_options = (option.table.env for option in self.options if option.table.env)
        of_commands = filter(None, [self.outputs.command_prefix_env])
        of_groups = [name for groups in self.groups.values() for group in groups for name in group.variables]
        of_policy = [POLICY, MAX_ANSWER_CHARS] if self.has_programs else []
        of_search = [MODEL_VARIABLE] if self.postings else []
        return tuple(dict.fromkeys([*of_options, *self.pass_env, *of_commands, *of_policy, *of_search, *of_groups]))

    @property
    def launch_anywhere(self) -> tuple[str, ...]:
        """Command line for clients that start servers outside a project, with placeholders."""
        program, *rest = self.launch
        if rest:
            rest = [rest[0], f"<absolute path of {rest[1]}>"]
        return (f"<absolute path of {program}>", *rest, *self.example_arguments)

    @property
    def example_arguments(self) -> tuple[str, ...]:
        """Options that need a value, with placeholders, for clients that start servers outside a project."""
        return tuple(argument for option in self.required_options for argument in (option.flag, f"<{option.metavar}>"))

    @property
    def modules(self) -> tuple[Category | SurfaceModule, ...]:
        """The sub-packages with models and bindings."""
        return (*self.categories, *self.surface_modules)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, by category, then as in the manifest."""
        return tuple(tool for category in self.categories for tool in category.tools)
