"""The manifest as its author writes it: one frozen dataclass a TOML table.

Fields, their types, defaults and docstrings are the single description of the language: the shared reader of TOML
tables, the editor schema (`manifest_schema`) and the reference page are made from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from toolmason_runtime.toml.tables import (
    Idiom,
    JsonValue,
    PartialTable,
    Table,
    advised,
    at_most,
    key,
    matching,
    not_empty,
    one_line,
)

from toolmason.manifest.idioms import TOOL_KEYS, TYPE_KEYS, VALUE_KEYS, type_hint

_TITLE = one_line("keep to one line; `description` has room for more")
_SUMMARY = at_most(80) | _TITLE


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTable(Table):
    """`[server.options.NAME]`: a setting of the running server, given as `--name` or by an environment variable."""

    description: str = key(one_line())
    """What it sets; the help text of the flag."""
    env: str = ""
    """Environment variable that is read when the flag is absent. Several values are separated as in `PATH`."""
    many: bool = False
    """May be given more than once."""
    default: str = ""
    """Value when neither flag nor variable is given."""
    metavar: str = key(one_line(), default="")
    """Placeholder in the help text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubcommandTable(Table):
    """`[server.subcommands.NAME]`: something else that the server's console command does, as `my-server NAME`."""

    summary: str = key(_SUMMARY)
    """What it does; the help text."""
    handler: str = key(matching(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "`module:function`"))
    """`module:function` under `handlers`: given the arguments after its name, it gives the exit status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTable(PartialTable):
    """`[server]`: who this server is."""

    name: str = key(matching(r"[A-Za-z][A-Za-z0-9-]*", "letters, digits and dashes, starting with a letter"))
    """Name shown to clients, part of each tool's name there. No underscore: Gemini CLI's policies refuse it."""
    title: str = key(_TITLE, default="")
    """Name for people."""
    version: str = "0.1.0"
    """Version sent to clients."""
    package: str = key(matching(r"[a-z_][a-z0-9_]*", "a Python package name"))
    """Import name of the generated package."""
    handlers: str = key(matching(r"[a-z_][a-z0-9_.]*", "a Python package name"), default="")
    """Import name of the hand-written package that carries the tools out; those with `cli` need none."""
    instructions: str = key(at_most(4096), default="")
    """What a model should know before it uses any tool. Clients cut it at 4,096 characters."""
    command: str = ""
    """Console command that starts the server; the server's name if left out.

    Client files use it if `[project.scripts]` of pyproject.toml declares it, else `toolmason run MANIFEST`.
    """
    website: str = ""
    """Address of a page about the server."""
    lifespan: str = key(matching(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "`module:function`"), default="")
    """`module:function` under `handlers`: an async context manager that receives the options and yields the state.

    The state is one object or a tuple of objects, made at the first call of a tool and closed when the server ends;
    `call.state(Type)` returns the object of a type. `atexit` hooks do not run, so close here what must be closed.
    """
    guard: str = key(matching(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "`module:function`"), default="")
    """`module:function` under `handlers`: checks the arguments of each call before the policy and the approval.

    It raises `ToolError` to refuse the call, such as for a path outside the allowed folders, and returns the values
    that replace those of the call.
    """
    startup_check: str = key(matching(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "`module:function`"), default="")
    """`module:function` under `handlers`: called in the background once the server runs.

    It takes no arguments and returns warnings, one text each, which are logged. Nothing waits for it.
    """
    chunk_store: str = key(matching(r"[A-Za-z_][A-Za-z0-9_]*", "the name of an environment variable"), default="")
    """Environment variable with the URL of a Redis in which server processes share long texts for `fetch_chunk`.

    Without it, or without a URL in it, each process keeps its own: in memory, large ones in temporary files.
    """
    page_size: int = key({"minimum": 1}, default=250)
    """Tools on one page of `tools/list`."""
    tool_timeout: float | None = key({"minimum": 1}, default=None)
    """Seconds a client should wait for a tool call; written to client files that support it, such as Codex's.

    Default: 30 more than the longest `timeout` of a command tool, and at least Codex's own 300.
    """
    options: Mapping[str, OptionTable] = key(default={})
    """Settings of the running server."""
    pass_env: tuple[str, ...] = ()
    """Environment variables that its handlers read, such as a key: clients that hand on few are told of them."""
    subcommands: Mapping[str, SubcommandTable] = key(default={})
    """What its console command does besides serving."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryTable(PartialTable):
    """`[discovery]`: how a model gets to know the tools."""

    style: Literal["search-call", "list-describe", "discover-schema", "classic"] = "search-call"
    """Which meta-tools stand in `tools/list`."""
    prefix: str = key(matching(r"[a-z0-9_]*", "lower-case letters, digits and underscores"), default="")
    """Stands before the names of `search`, `call` and `call_read`."""
    pinned: tuple[str, ...] = ()
    """Tools listed beside the meta-tools."""
    page_tokens: int = key({"minimum": 200}, default=1500)
    """Budget of one search answer, in tokens."""
    split_calls: bool = False
    """Also list `call_read`, which runs only tools that change nothing."""
    list_fetch_chunk: bool = False
    """In the style `classic`, also list the built-in `fetch_chunk`, which can be called in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryTable(PartialTable):
    """`[categories.NAME]`: a group of tools."""

    summary: str = key(_SUMMARY)
    """What its tools are for."""
    tags: tuple[str, ...] = ()
    """Labels shown when categories are browsed."""
    errors: Literal["text", "json"] = "text"
    """How a model is told of a failure: in plain text, or as `{"error": {"code", "message", "details"}}`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTable(PartialTable):
    """A parameter of a tool or a field of a type."""

    idioms: ClassVar[Mapping[str, Idiom]] = VALUE_KEYS

    type: str = key(advised(type_hint))
    """`string`, `integer`, `number`, `boolean`, `object`, a name from `[types]`, `T[]` or `map<T>`."""
    description: str = ""
    """What it means; say units and limits that the constraints cannot."""
    required: bool | None = None
    """Whether it must be given: true unless there is a default, or it is a switch of a tool with `cli`."""
    nullable: bool = False
    """Whether null is a value with a meaning of its own."""
    default: JsonValue = None
    """What is used when it is left out."""
    enum: tuple[JsonValue, ...] = key(not_empty("name the values, or leave it out"), default=())
    """The values allowed."""
    minimum: int | float | None = None
    """Smallest number allowed."""
    maximum: int | float | None = None
    """Largest number allowed."""
    min_length: int | None = key({"minimum": 0}, default=None)
    """Fewest characters."""
    max_length: int | None = key({"minimum": 0}, default=None)
    """Most characters."""
    pattern: str = ""
    """Regular expression (ECMA 262) that a string must match somewhere."""
    format: str = ""
    """Named format, such as `date-time` or `uri`."""
    min_items: int | None = key({"minimum": 0}, default=None)
    """Fewest items."""
    max_items: int | None = key({"minimum": 0}, default=None)
    """Most items."""
    unique_items: bool = False
    """Whether items must differ."""


_FLAG = matching(
    r"--?[A-Za-z0-9?@#][A-Za-z0-9?@#.:+_-]*=?|[A-Za-z][A-Za-z0-9_-]*=?",
    "an option such as `-n`, `--max-count`, `--format=` or, for a boolean, `overwrite`",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamTable(ValueTable):
    """A parameter of a tool. The last four keys are for tools with `cli`, and one of them at most is given."""

    flag: str = key(_FLAG, default="")
    """Option it becomes: `-n` stands before its value, `--format=` is joined to it, and a boolean's stands alone.

    A boolean's may be a bare word, such as `overwrite`.
    Where nothing is said, `max_count` becomes `--max-count`.
    """
    positional: bool = False
    """It is no option: its place on the command line is its place among the positional parameters."""
    stdin: bool = False
    """It is written to the program's standard input."""
    cwd: bool = False
    """It is the folder the program runs in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalTable(Table):
    """`[clis.NAME.params.NAME]`: an argument of every command line, set by who owns the server and not by a model."""

    type: str = key(advised(type_hint), default="string")
    """`string`, `integer`, `number`, `boolean`, or an array of one of the first three."""
    description: str = ""
    """What it sets, for who runs the server."""
    flag: str = key(_FLAG, default="")
    """Option it becomes, as for a parameter of a tool."""
    default: JsonValue = None
    """The value."""
    default_env: str = key(matching(r"[A-Za-z_][A-Za-z0-9_]*", "the name of an environment variable"), default="")
    """Environment variable of the server that holds the value; not set or empty, the argument is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CliTable(PartialTable):
    """`[clis.NAME]`: a program, and what all command lines of it share."""

    command: tuple[str, ...] = key(not_empty('name the program and its fixed arguments: `command = ["git"]`'))
    """The program and what always follows it. No shell reads it; `~` and `$VAR` are expanded."""
    summary: str = key(_SUMMARY, default="")
    """What the program is for, in one line."""
    category: str = ""
    """The category of those of its tools that name none."""
    tags: tuple[str, ...] = ()
    """Labels shown when tools are searched and browsed."""
    env: Mapping[str, str] = key(default={})
    """Environment variables set for it; `~` and `$VAR` are expanded."""
    pass_env: tuple[str, ...] = ()
    """Variables handed on from the server's environment. Beyond these a program gets only what any needs to run."""
    working_dir: str = ""
    """Folder it runs in, unless a parameter says so; the server's own if left out. `~` and `$VAR` are expanded."""
    timeout: float = key({"minimum": 0.1}, default=30)
    """Seconds after which it is ended, with all it has started."""
    memory_mb: int = key({"minimum": 64}, default=1024)
    """Mebibytes of memory that each of its processes may use. Linux only."""
    ends_options: bool = False
    """Whether it takes `--`, behind which nothing is an option. Otherwise values that start with `-` are refused."""
    open_world: bool = True
    """Whether it reaches beyond this machine: the hint of its tools."""
    reads: tuple[str, ...] | None = None
    """Files and directories that it may read: absolute, `~/...`, `$VAR/...`, `{roots}` or `{cwd}`."""
    writes: tuple[str, ...] | None = None
    """Files and directories that it may change, in calls whose risk is not `read`."""
    executes: tuple[str, ...] | None = None
    """Programs that it may start: paths, or names that are looked up like its own."""
    network: bool | None = None
    """Whether it may use the network; if left out, as `open_world`."""
    params: Mapping[str, GlobalTable] = key(default={})
    """Arguments of every command line. No model sees them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeTable(PartialTable):
    """`[types.NAME]`: an object with fields, for reuse."""

    idioms: ClassVar[Mapping[str, Idiom]] = TYPE_KEYS

    description: str = ""
    """What one value of it is."""
    fields: Mapping[str, ValueTable]
    """Its fields, in the order they are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HintsTable(Table):
    """`hints`: what running the tool may do. All four, since clients decide by them what may run unasked."""

    read_only: bool
    """It changes nothing."""
    destructive: bool
    """It may overwrite or delete something."""
    idempotent: bool
    """Doing it twice is as doing it once."""
    open_world: bool
    """It reaches beyond this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleTable(Table):
    """`[[tools.NAME.examples]]`: a call that works."""

    description: str
    """What the call is for."""
    arguments: Mapping[str, JsonValue]
    """The arguments, as sent."""
    expected_output: str = ""
    """What comes back, in short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecatedTable(PartialTable):
    """`deprecated`: the tool still works, but there is a better one."""

    since: str
    """Version that deprecated it."""
    replaced_by: str = ""
    """Tool to use instead."""
    message: str = ""
    """What else a user should know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowTable(Table):
    """`[[tools.NAME.allow]]`: a lint rule that is switched off for this tool."""

    rule: str
    """Code of the rule, such as `TM501`."""
    reason: str
    """Why the tool is right as it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTable(PartialTable):
    """`[tools.NAME]`: one tool."""

    idioms: ClassVar[Mapping[str, Idiom]] = TOOL_KEYS

    summary: str = key(_SUMMARY)
    """What it does, in one line."""
    title: str = key(_TITLE, default="")
    """Name for people."""
    category: str = ""
    """The category it stands in; that of its `cli` if left out."""
    description: str = key(at_most(4096), default="")
    """All that a model should know; what matters first. The summary if left out."""
    keywords: tuple[str, ...] = ()
    """Words people search it by that stand nowhere else."""
    use_cases: tuple[str, ...] = ()
    """Requests it answers; each must find the tool in its first three hits."""
    complexity: Literal["simple", "moderate", "complex"] = "simple"
    """How hard it is to call well."""
    tier: Literal["core", "all"] = "core"
    """`all`: served only with `--all`."""
    requires_codebase: bool = False
    """Whether it needs the files of a project; `discover_tools` shows it."""
    hints: HintsTable | None = None
    """What running it may do. For a tool with `cli`, `risk` says it."""
    related: tuple[str, ...] = ()
    """Tools commonly used with it."""
    handler: str = key(matching(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", "`module:function`"), default="")
    """`module:function` under `[server].handlers`."""
    cli: str = ""
    """The program of `[clis]` that carries it out. A tool has either a handler or this."""
    argv: tuple[str, ...] = ()
    """What follows the program's command: the sub-command."""
    risk: JsonValue = None
    """What running it may do: `read`, `write` or `destructive`, or by the value of a parameter.

    `risk.method = { GET = "read", DELETE = "destructive" }`; a value that is not listed counts as destructive.
    """
    confirm: str = key(one_line(), default="")
    """The question to a person before it runs, above the command line itself. `{name}` is the value of a parameter."""
    timeout: float | None = key({"minimum": 0.1}, default=None)
    """Seconds after which it is ended; that of its program if left out."""
    ok_exit_codes: tuple[int, ...] = ()
    """Exit codes besides 0 that are no failure, such as 1 of `grep`, where it means that nothing was found."""
    params: Mapping[str, ParamTable] = key(default={})
    """Its parameters, in the order they are shown."""
    input_schema: JsonValue = None
    """Raw JSON Schema of the arguments, as a table or a file name: for what `params` cannot say."""
    verbatim_schema: bool = False
    """Advertise `input_schema` exactly as written, even where clients are known to stumble."""
    returns: str = ""
    """The type of its structured result; left out, the tool returns text or other content."""
    examples: tuple[ExampleTable, ...] = ()
    """Calls that work; checked against the schema, shown in docs and search."""
    aliases: tuple[str, ...] = ()
    """Older names: callable, not listed."""
    deprecated: DeprecatedTable | None = None
    """Set when there is a better tool."""
    enabled: bool = True
    """False: known, but not callable."""
    since: str = ""
    """Version that added it."""
    allow: tuple[AllowTable, ...] = ()
    """Lint rules that do not apply here, each with its reason."""
    ext: Mapping[str, JsonValue] = key(default={})
    """Keys of the tool's `_meta`, sent to clients as written, such as `"anthropic/maxResultSizeChars" = 100000`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTable(PartialTable):
    """`[commands.NAME]`: a slash command for each host."""

    summary: str = key(_SUMMARY)
    """What it does, as shown in the host's menu."""
    argument_hint: str = ""
    """What to type after the command."""
    tools: tuple[str, ...] = ()
    """Tools it uses; a host may then run them without asking."""
    prompt: str
    """The text sent to the model. `{arguments}` stands for what the user typed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable(PartialTable):
    """`[[workflows.NAME.steps]]`: one step."""

    title: str
    """What is done."""
    tool: str = ""
    """The tool that does it."""
    text: str
    """How it is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowTable(PartialTable):
    """`[workflows.NAME]`: a procedure over several tools, written out as a skill."""

    summary: str = key(_SUMMARY)
    """What it achieves."""
    description: str = ""
    """When to use it."""
    steps: tuple[StepTable, ...] = key(not_empty())
    """What to do, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTable(Table):
    """`[[files]]`: more files to generate, from a template of the project."""

    path: str
    """Path below `generated/`, such as `docs/{tool.name}.md`; see docs/templates.md for the fields."""
    template: str
    """Name of the template: its path below `templates/`, or a packaged one."""
    for_each: Literal["server", "category", "tool", "command", "workflow"] = "server"
    """What one file is rendered for; the template and the path get it by this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestTables(PartialTable):
    """The whole manifest, one-to-one with the TOML."""

    edition: int
    """Version of the manifest language: 1."""
    server: ServerTable
    """Who this server is."""
    discovery: DiscoveryTable = DiscoveryTable()
    """How a model gets to know the tools."""
    categories: Mapping[str, CategoryTable] = key(default={})
    """Groups of tools, in the order they are shown."""
    types: Mapping[str, TypeTable] = key(default={})
    """Objects with fields, for reuse."""
    clis: Mapping[str, CliTable] = key(default={})
    """Programs that tools run."""
    tools: Mapping[str, ToolTable] = key(default={})
    """The tools, in the order they are shown."""
    commands: Mapping[str, CommandTable] = key(default={})
    """Slash commands."""
    workflows: Mapping[str, WorkflowTable] = key(default={})
    """Procedures over several tools."""
    files: tuple[FileTable, ...] = ()
    """More files to generate."""
