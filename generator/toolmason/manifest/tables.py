"""The manifest language: one frozen dataclass per TOML table.

The table reader, the editor schema (`editor_schema`) and the reference page use the types, defaults and docstrings of
these fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, make_dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from toolmason_runtime.shared.specs.program import CONFIRM_PLACEHOLDER
from toolmason_runtime.shared.styles import DEFAULT as DEFAULT_STYLE
from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.shared.toml.tables import (
    ExtensibleTable,
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

from toolmason.manifest.idioms import (
    PROMPT_KEYS,
    TOOL_KEYS,
    TYPE_KEYS,
    VALUE_KEYS,
    type_hint,
)
from toolmason.manifest.renamed_keys import renamed_in
from toolmason.manifest.rules import (
    DATE,
    DISTRIBUTION,
    FLAG,
    FUNCTION,
    HEADER,
    MEDIA_TYPE,
    PATH,
    SUMMARY,
    TEXT,
    TITLE,
    VARIABLE,
    WEB_ADDRESS,
    WIRE_NAME,
    param_name,
    sibling_name,
    tool_name,
)

if TYPE_CHECKING:
    StyleName = str
else:
    StyleName = Literal[tuple(STYLES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class IconTable(Table):
    """`[[server.icons]]`, `[[tools.NAME.icons]]` and so on: a picture for clients that show one."""

    src: str = key(matching(r"(?:https://|data:image/)\S+", "an `https:` URL or a `data:` URI"))
    """`https:` URL or `data:` URI of the picture."""
    mime_type: str = key(MEDIA_TYPE, default="")
    """Media type, if the URL does not show it."""
    sizes: tuple[str, ...] = ()
    """Sizes such as `48x48`, or `any` for a picture that scales."""
    theme: Literal["any", "light", "dark"] = "any"
    """Background that the picture is made for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTable(Table):
    """`[server.options.NAME]`: a setting of the running server: `--name` or an environment variable.

    The lifespan receives all options as an object of the generated class `Options`; handlers use `call.state(Options)`.
    """

    description: str = key(one_line())
    """Help text of the flag."""
    type: Literal["string", "integer", "number", "boolean"] = "string"
    """Type of the value. A boolean has the flags `--name` and `--no-name`."""
    env: str = key(VARIABLE, default="")
    """Environment variable used without the flag. Several values are separated as in `PATH`."""
    required: bool = False
    """Whether the server refuses to start without a value."""
    secret: bool = False
    """Whether the value is a password or a key: it has no flag, only `env`, and is masked in the log and in errors."""
    many: bool = False
    """Whether the flag can be repeated. Only for strings."""
    default: JsonValue = None
    """Value without flag and variable. By default a boolean is false, and the others are `None`."""
    implicit: str = key(one_line(), default="")
    """Value of the flag without one: with `implicit = "**"`, `--allow` is `--allow '**'`. By default it needs one."""
    metavar: str = key(one_line(), default="")
    """Placeholder in the help text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubcommandTable(Table):
    """`[server.subcommands.NAME]`: another function of the server's console command, run with `my-server NAME`."""

    summary: str = key(SUMMARY)
    """Help text of the subcommand."""
    handler: str = key(FUNCTION)
    """`module:function` under `handlers`: receives the arguments after the name and returns the exit code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAuthTable(PartialTable):
    """`[server.auth]`: the authorization server whose access tokens the server accepts over HTTP.

    `$VAR` is expanded in the URLs and in `audience`. Tokens are JWTs.
    """

    issuer: str = key(WEB_ADDRESS)
    """URL of the authorization server, as in the claim `iss`."""
    audience: str = key(TEXT)
    """Value that the claim `aud` of every token must contain: usually the URL of this server."""
    jwks_url: str = key(WEB_ADDRESS)
    """URL of the authorization server's public keys (JWKS)."""
    resource: str = key(WEB_ADDRESS, default="")
    """URL of this server's endpoint, for clients that look for the authorization server. Default: `audience`."""
    scopes: tuple[str, ...] = ()
    """Scopes that every request needs."""
    algorithms: tuple[
        Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"], ...
    ] = key(not_empty("list the algorithms, or remove it"), default=("RS256", "ES256"))
    """Algorithms of signatures that are accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTable(PartialTable):
    """`[server]`: name, packages and settings of the server."""

    idioms: ClassVar[Mapping[str, Idiom]] = renamed_in("server")

    name: str = key(matching(r"[A-Za-z][A-Za-z0-9-]*", "letters, digits and dashes, starting with a letter"))
    """Name sent to clients, which put it before each tool name. No underscore: Gemini CLI's policies reject it."""
    title: str = key(TITLE, default="")
    """Name for people."""
    version: str = "0.1.0"
    """Version sent to clients."""
    summary: str = key(at_most(100) | TITLE, default="")
    """Purpose of the server, for plugins and registries."""
    description: str = key(at_most(1024), default="")
    """What the server does, for people who look at it in a client: `description` in MCP."""
    package: str = key(matching(r"[a-z_][a-z0-9_]*", "a Python package name"))
    """Import name of the generated package."""
    handlers: str = key(matching(r"[a-z_][a-z0-9_.]*", "a Python package name"), default="")
    """Import name of the hand-written package with the handlers. Tools with `cli`, `api` and `upstream` need none."""
    instructions: str = key(at_most(4096), default="")
    """Instructions for models about the whole server. Clients truncate them at 4,096 characters."""
    command: str = ""
    """Console command that starts the server. Default: the server's name.

    Client files use it if `[project.scripts]` of pyproject.toml declares it, else `toolmason run MANIFEST`.
    """
    website_url: str = ""
    """URL of a page about the server: `websiteUrl` in MCP."""
    repository: str = key(matching(r"https://\S+", "an `https:` URL"), default="")
    """URL of the source code, for plugins and registries."""
    author: str = key(TITLE, default="")
    """Person or organization that publishes the server, for plugins."""
    license: str = key(TITLE, default="")
    """SPDX identifier of the licence, such as `MIT`, for plugins."""
    privacy_policy: str = key(matching(r"https://\S+", "an `https:` URL"), default="")
    """URL of the privacy policy, for bundles and directories."""
    distribution: str = key(DISTRIBUTION, default="")
    """Distribution that installs the server, in the server's version: a bundle and an image are generated from it."""
    registry_name: str = key(
        at_most(200) | matching(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", "a name such as `io.github.user/notes`"), default=""
    )
    """Name in the MCP Registry. It needs a `distribution` with the name of `command`."""
    icons: tuple[IconTable, ...] = ()
    """Pictures of the server."""
    lifespan: str = key(FUNCTION, default="")
    """`module:function` under `handlers`: an async context manager that receives the options and yields the state.

    The state is one object or a tuple of objects, created at the first call of a tool and closed when the server stops;
    `call.state(Type)` returns the object of a type. `atexit` hooks do not run, so close resources here.
    """
    guard: str = key(FUNCTION, default="")
    """`module:function` under `handlers`: checks the arguments of each call before the policy and the approval.

    It raises `ToolError` to reject the call, such as for a path outside the allowed directories, and returns the
    values that replace those of the call.
    """
    startup_check: str = key(FUNCTION, default="")
    """`module:function` under `handlers`: called in the background once the server runs.

    It takes no arguments and returns a list of warnings, which are logged.
    """
    routes: str = key(FUNCTION, default="")
    """`module:function` under `handlers`: returns the Starlette routes that the server has over HTTP beside `/mcp`."""
    middleware: str = key(FUNCTION, default="")
    """`module:function` under `handlers`: wraps the ASGI application, behind the access checks."""
    chunk_store: str = key(VARIABLE, default="")
    """Environment variable with the URL of a Redis server in which processes share long texts for `fetch_chunk`.

    Without a URL, each process keeps its texts in memory, large ones in temporary files.
    """
    audit: str = key(default="")
    """File of the audit log, with one JSON line for each call, approval and refusal; `otel` for OpenTelemetry.

    A relative path is below the state directory of the server, such as `~/.local/state/notes/`. The variable
    `<COMMAND>_AUDIT` and the flag `--audit` replace it.
    """
    audit_max_mb: int = key({"minimum": 1, "maximum": 100_000}, default=100)
    """Size in megabytes from which on the audit log is rotated."""
    audit_keep: int = key({"minimum": 0, "maximum": 1000}, default=10)
    """Number of old audit files that are kept."""
    page_size: int = key({"minimum": 1}, default=250)
    """Tools on one page of `tools/list`."""
    tool_timeout: float | None = key({"minimum": 1}, default=None)
    """Client-side timeout of a tool call in seconds, written to client files that support it, such as Codex's.

    Default: the longest `timeout` of a tool with `cli` plus 30, at least Codex's default of 300.
    """
    auth: ServerAuthTable | None = None
    """Authorization of clients over HTTP."""
    options: Mapping[str, OptionTable] = key(default={})
    """Settings of the running server."""
    pass_env: tuple[str, ...] = ()
    """Environment variables that the handlers read, such as an API key, for clients that pass only named variables."""
    subcommands: Mapping[str, SubcommandTable] = key(default={})
    """Further subcommands of the console command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputsTable(PartialTable):
    """`[outputs]`: the generated files, and the names of commands and workflows."""

    command_prefix: str = ""
    """Prefix of the names of commands, such as `notes-`, so that they differ from those of other servers."""
    workflow_prefix: str = ""
    """Prefix of the names of workflows."""
    command_prefix_env: str = key(VARIABLE, default="")
    """Environment variable of the running server that replaces `command_prefix` in the prompts of commands."""
    include: tuple[str, ...] | None = None
    """Further files and directories below `generated/`, such as `clients`, `skills` or `schemas/openai.json`.

    The package, the documentation of tools, prompts and resources, `schemas/mcp.json`, `schemas/manifest.schema.json`,
    commands, and the skills of workflows need no entry.
    """
    clients: tuple[Literal["python", "typescript"], ...] = ()
    """Languages of typed clients, which are packages in `typed-clients/`: `python`, `typescript`."""
    omit: tuple[str, ...] = ()
    """Files and directories that are left out, such as `clients/cursor`. Without `include`, all others are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinsTable(Table):
    """`[discovery.pins]`: tools or aliases listed together with the meta-tools of a style, instead of `pinned`."""

    def of(self, style: str) -> tuple[str, ...] | None:
        """Return the tools of a style, None without an entry."""
        pins: tuple[str, ...] | None = getattr(self, STYLES[style].module, None)
        return pins


if not TYPE_CHECKING:
    # One key for each style with meta-tools: the others list all tools.
    PinsTable = make_dataclass(
        "PinsTable",
        [
            (
                facts.module,
                tuple[str, ...] | None,
                key(tool_name("pinned tool"), default=None, name=style, text=f"In the style `{style}`."),
            )
            for style, facts in STYLES.items()
            if facts.call
        ],
        bases=(PinsTable,),
        namespace={"__module__": __name__, "__doc__": PinsTable.__doc__},
        frozen=True,
        slots=True,
        kw_only=True,
    )
_NO_PINS: Final = PinsTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryTable(PartialTable):
    """`[discovery]`: how models find tools."""

    style: StyleName = DEFAULT_STYLE
    """Set of meta-tools in `tools/list`."""
    prefix: str | None = key(matching(r"[a-z0-9_]*", "lower-case letters, digits and underscores"), default=None)
    """Prefix of the listed names of tools, in clients that add none themselves; empty for none. Default: the words of
    the server's name, such as `weather_` for `weather-mcp-server`.
    """
    pinned: tuple[str, ...] = key(tool_name("pinned tool"), default=())
    """Tools or aliases listed together with the meta-tools, in styles without an entry in `pins`."""
    pins: PinsTable = _NO_PINS
    """Tools or aliases listed in one style."""
    page_tokens: int = key({"minimum": 200}, default=1500)
    """Maximum tokens of one search answer."""
    detail: Literal["signature", "full"] = "signature"
    """Content of a result of `search`: `signature`, with the schema if a signature cannot express it; or `full`."""
    split_calls: bool = False
    """Also list `call_read`, which calls only read-only tools."""
    list_fetch_chunk: bool = False
    """In the style `classic`, also list the built-in `fetch_chunk`, which is always callable."""
    expose_all_env: str = key(VARIABLE, default="")
    """Environment variable of the running server that, when `true`, is the same as `--classic --all`."""
    ranker: str = key(FUNCTION, default="")
    """`module:factory` of another ranking. The factory takes the ranking by words and the tools, returns a `Ranker`.

    A running server imports the module at the first search; `generate`, `check` and `lint` never do.
    """
    semantic: Literal["postings", "words"] = "postings"
    """`words` ignores `semantic.postings`, so that searches find tools by words only."""

    def pinned_in(self, style: str) -> tuple[str, ...]:
        """Return the pinned tools or aliases of a style."""
        pins = self.pins.of(style)
        return self.pinned if pins is None else pins


@dataclass(frozen=True, slots=True, kw_only=True)
class HintsTable(Table):
    """`hints`: effects of the tool, by which clients decide whether to ask before a call.

    A missing key has the value that makes a client most careful, as in MCP: `hints = { read_only = true }` is a tool
    that only reads, perhaps outside this machine.
    """

    read_only: bool | None = None
    """Whether it changes nothing. Default: `false`."""
    destructive: bool | None = None
    """Whether it may overwrite or delete data. Default: `true`, unless it is `read_only`."""
    idempotent: bool | None = None
    """Whether a second identical call has no further effect. Default: that of `read_only`."""
    open_world: bool | None = None
    """Whether it accesses systems outside this machine. Default: `true`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierDefaultsTable(PartialTable):
    """`[apis.NAME.defaults]`: values for its tools that do not set them."""

    tier: Literal["core", "all"] = "core"
    """`tier` of the tools."""
    tags: tuple[str, ...] = ()
    """`tags` of the tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultsTable(TierDefaultsTable):
    """`[categories.NAME.defaults]`, `[upstreams.NAME.defaults]`: values for its tools that do not set them."""

    hints: HintsTable | None = None
    """`hints` of the tools; those of tools with `cli` or `api` follow from their risk.

    Those of a category do not apply to tools with `upstream`.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryTable(PartialTable):
    """`[categories.NAME]`: a group of tools."""

    summary: str = key(SUMMARY)
    """Purpose of its tools."""
    description: str = key(at_most(4096), default="")
    """A few sentences in words that users search for. They are searched, not shown."""
    tags: tuple[str, ...] = ()
    """Labels shown when categories are browsed."""
    errors: Literal["text", "json"] = "text"
    """Format of errors: plain text, or `{"error": {"code", "message", "details"}}`."""
    defaults: DefaultsTable = DefaultsTable()
    """Values for its tools that neither they nor their program, API or upstream set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueTable(PartialTable):
    """A parameter of a tool or a field of a type."""

    idioms: ClassVar[Mapping[str, Idiom]] = VALUE_KEYS

    type: str = key(advised(type_hint))
    """`string`, `integer`, `number`, `boolean`, `object`, a name from `[types]`, `T[]` or `map<T>`."""
    description: str = ""
    """Meaning, units, and limits that constraints cannot express."""
    required: bool | None = None
    """Whether a call must include it. Default: true, except with a default, or for a boolean of a tool with `cli`."""
    nullable: bool = False
    """Whether null is a valid value."""
    default: JsonValue = None
    """Value if omitted."""
    enum: tuple[JsonValue, ...] = key(not_empty("list the values, or remove it"), default=())
    """Allowed values."""
    minimum: int | float | None = None
    """Minimum."""
    maximum: int | float | None = None
    """Maximum."""
    min_length: int | None = key({"minimum": 0}, default=None)
    """Minimum number of characters."""
    max_length: int | None = key({"minimum": 0}, default=None)
    """Maximum number of characters."""
    pattern: str = ""
    """Regular expression (ECMA 262), matched anywhere in the string."""
    format: str = ""
    """Named format, such as `date-time` or `uri`."""
    min_items: int | None = key({"minimum": 0}, default=None)
    """Minimum number of items."""
    max_items: int | None = key({"minimum": 0}, default=None)
    """Maximum number of items."""
    unique_items: bool = False
    """Whether items must differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeprecatedTable(PartialTable):
    """`deprecated`: the tool or the parameter still works, but should be replaced."""

    since: str
    """Version that deprecated it."""
    until: str = key(DATE, default="")
    """Last day (UTC) on which it works, such as `2027-06-30`. Later calls get an error that names the replacement."""
    replaced_by: str = key(sibling_name(), default="")
    """Tool, or parameter of the same tool, to use instead."""
    message: str = ""
    """Advice for users."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamTable(ValueTable):
    """A parameter of a tool. The keys after the constraints are its place in a command line or in a request.

    `flag`, `positional`, `stdin`, `cwd` and `separator` are for tools with `cli`; the others are for tools with `api`.
    A parameter has one place.
    """

    use: str = ""
    """Parameter of `[params]` whose keys it has, besides its own. `params.repo = "repo"` is a shorter form."""
    flag: str = key(FLAG, default="")
    """Option: `-n` precedes the value as a separate argument, `--format=` is joined to it, a boolean has no value.

    The flag of a boolean may be a bare word, such as `overwrite`.
    Default: `--max-count` for `max_count`.
    """
    positional: bool = False
    """Whether it is a positional argument, in the order of the parameters."""
    stdin: bool = False
    """Whether it is the program's standard input."""
    cwd: bool = False
    """Whether it is the program's working directory."""
    separator: str = key(one_line(), default="")
    """Text between key and value of a map, whose flag is repeated: `--label app=web`. Default: `=`."""
    query: str = key(WIRE_NAME, default="")
    """Name in the query of the URL. A parameter without a place is in the path of `http`, else in the query or body."""
    header: str = key(HEADER, default="")
    """Name of the HTTP header with the value."""
    cookie: str = key(HEADER, default="")
    """Name of the cookie with the value."""
    body: str = key(WIRE_NAME, default="")
    """Name of the member in the body of the request. `.` is the whole body."""
    file: bool = False
    """Whether it is the path of a file, or a list of paths, whose content is sent in the body."""
    style: Literal["form", "comma", "space", "pipe", "deepObject", "members", "json"] = "form"
    """Form of an array or object in the query, or in a body of the kind `form`.

    `form` repeats the name: `a=1&a=2`. `comma`, `space` and `pipe` join the items. `deepObject` writes `a[key]=1` and
    `a[0]=1`, `members` writes `key=1` for each member of an object. `json` writes a value as JSON, also in a part of a
    `multipart` body. A cookie has `form` or `comma`.
    """
    claim: str = key(TEXT, default="")
    """Claim of the caller's access token that is the value, such as `sub`. Models neither see nor send it."""
    aliases: tuple[str, ...] = ()
    """Other names under which models may send it, such as those of the same parameter in other tools. They are not
    listed."""
    deprecated: DeprecatedTable | None = None
    """Deprecation with its replacement, which is in the description and in the answers of calls with the parameter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeTable(PartialTable):
    """`[types.NAME]`: a type for reuse, with exactly one of `fields`, `enum` and `one_of`."""

    idioms: ClassVar[Mapping[str, Idiom]] = TYPE_KEYS

    description: str = ""
    """Meaning of one value."""
    fields: Mapping[str, ValueTable] = key(default={})
    """Fields of an object, in display order."""
    type: Literal["string"] = "string"
    """Type of the values of `enum`."""
    enum: tuple[str, ...] = key(not_empty("list the values"), default=())
    """Values of an enumeration."""
    one_of: tuple[str, ...] = key(not_empty("list the types"), default=())
    """Types of objects, of which a value has one."""
    discriminator: str = ""
    """Field of all types of `one_of` that tells them apart: each has it with an `enum` of one other value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleTable(Table):
    """`[[tools.NAME.examples]]`: a valid call."""

    description: str
    """Purpose of the call."""
    arguments: Mapping[str, JsonValue]
    """Arguments of the call."""
    expected_output: str = ""
    """Summary of the result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowTable(Table):
    """`[[tools.NAME.allow]]`, `[[commands.NAME.allow]]` and so on: a lint rule that is switched off there."""

    rule: str
    """Code of the rule, such as `TM501`."""
    reason: str
    """Reason for the exception."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTable(ExtensibleTable):
    """`[tools.NAME]`: one tool."""

    idioms: ClassVar[Mapping[str, Idiom]] = TOOL_KEYS
    extended_after: ClassVar[str] = "related"

    summary: str = key(SUMMARY)
    """Purpose in one line."""
    title: str = key(TITLE, default="")
    """Name for people."""
    category: str = ""
    """Category. Default: that of its `cli`, `api` or `upstream`."""
    description: str = key(at_most(4096), default="")
    """Description for models, most important facts first. Default: the summary."""
    keywords: tuple[str, ...] = ()
    """Further search words that no other text of the tool contains."""
    use_cases: tuple[str, ...] = ()
    """Typical requests; a search for each must rank the tool among the first three hits."""
    complexity: Literal["simple", "moderate", "complex"] = "simple"
    """Difficulty of a correct call."""
    tier: Literal["core", "all"] = "core"
    """`all`: served only with `--all`."""
    tags: tuple[str, ...] = ()
    """Labels shown when the tool is found, after those of its program, API, upstream or category."""
    requires_codebase: bool = False
    """Whether it needs the files of a project; `discover_tools` shows it."""
    hints: HintsTable | None = None
    """Effects of the tool. Tools with `cli` or `api` have `risk` instead.

    Without them, each call of a tool with `upstream` needs approval.
    """
    related: tuple[str, ...] = key(tool_name("related tool"), default=())
    """Tools commonly used with it."""
    risk: JsonValue = key(param_name(), default=None)  # noqa: RUF009  a field
    """Risk of a call: `read`, `write` or `destructive`, or a risk by the value of a parameter.

    A tool with `api` has one risk. Default: that of its method, `destructive` for DELETE and `read` for GET.
    `risk.method = { GET = "read", DELETE = "destructive" }`; unlisted values count as destructive.
    """
    confirm: str = key(one_line() | param_name(CONFIRM_PLACEHOLDER.pattern), default="")
    """Question to a person before each call, shown above the command line or request. `{name}` is a parameter."""
    timeout: float | None = key({"minimum": 0.1}, default=None)
    """Seconds until the program is terminated or the call cancelled. Default: that of its program, API or upstream."""
    task: Literal["auto", "required"] = "auto"
    """`required`: the tool runs only as a task, for clients with the extension for tasks.

    Default: for these clients, any call that takes more than half a second becomes a task.
    """
    params: Mapping[str, ParamTable] = key(default={})
    """Parameters, in display order. A text is the name of a parameter in `[params]`."""
    input_schema: JsonValue = None
    """JSON Schema of the arguments, as a table or a file name, where `params` is not expressive enough."""
    verbatim_schema: bool = False
    """Whether to send `input_schema` unchanged, including constructs that some clients reject."""
    returns: str = ""
    """Type of the structured result. Default: the tool returns text or other content.

    For a tool with `api`, it may be an array such as `Issue[]`: the result has the field `items`, and with `paginate`
    also `has_more`.
    """
    examples: tuple[ExampleTable, ...] = ()
    """Valid calls, checked against the schema and shown in docs and search."""
    aliases: tuple[str, ...] = ()
    """Former names, callable but unlisted."""
    deprecated: DeprecatedTable | None = None
    """Deprecation with its replacement."""
    enabled: bool = True
    """Whether the tool can be called; a call of a disabled tool returns an error."""
    since: str = ""
    """Version that added it."""
    scopes: tuple[str, ...] = ()
    """Scopes that an access token needs for a call over HTTP."""
    allow: tuple[AllowTable, ...] = ()
    """Lint rules to suppress, each with a reason."""
    icons: tuple[IconTable, ...] = ()
    """Pictures of the tool."""
    ext: Mapping[str, JsonValue] = key(default={})
    """Keys of the tool's `_meta`, sent to clients as written, such as `"anthropic/maxResultSizeChars" = 100000`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentTable(ValueTable):
    """`[prompts.NAME.arguments.NAME]`, `[resources.NAME.arguments.NAME]`: an argument of a prompt, a variable of a URI.

    Clients send text, so the type is a string, integer, number or boolean.
    """

    type: str = key(advised(type_hint), default="string")
    """`string`, `integer`, `number` or `boolean`. Without a handler: `string`."""
    suggestions: tuple[str, ...] = ()
    """Values that clients offer while a person types. `enum` is offered without them."""
    complete: str = key(FUNCTION, default="")
    """`module:function` under `[server].handlers` that returns the values to offer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageTable(PartialTable):
    """`[[prompts.NAME.messages]]`: one message, with exactly one of `text`, `image` and `resource`."""

    role: Literal["user", "assistant"] = "user"
    """Author of the message."""
    text: str = key(TEXT, default="")
    """Text. `{name}` is replaced by the argument `name`."""
    image: str = key(PATH, default="")
    """PNG, JPEG, GIF or WebP file: its path in the package `[server].handlers`."""
    resource: str = key(matching(r"\S+", "a URI such as `notes://today`"), default="")
    """URI of a resource of this server, whose content is embedded. `{name}` is replaced by the argument `name`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTable(PartialTable):
    """`[prompts.NAME]`: a prompt that a person selects in a client. It has one of `text`, `messages` and `handler`."""

    idioms: ClassVar[Mapping[str, Idiom]] = PROMPT_KEYS

    summary: str = key(SUMMARY)
    """Summary in the menu of the client."""
    title: str = key(TITLE, default="")
    """Name for people."""
    description: str = key(at_most(4096), default="")
    """Longer description. Default: the summary."""
    arguments: Mapping[str, ArgumentTable] = key(default={})
    """Arguments, in display order."""
    text: str = key(TEXT, default="")
    """Text of a single message of the user. `{name}` is replaced by the argument `name`."""
    messages: tuple[MessageTable, ...] = ()
    """Messages, where one text is not enough."""
    handler: str = key(FUNCTION, default="")
    """`module:function` under `[server].handlers` that returns the messages."""
    icons: tuple[IconTable, ...] = ()
    """Pictures of the prompt."""
    allow: tuple[AllowTable, ...] = ()
    """Lint rules to suppress, each with a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceTable(PartialTable):
    """`[resources.NAME]`: data that a client can read. It has either `file` or `handler`."""

    idioms: ClassVar[Mapping[str, Idiom]] = PROMPT_KEYS

    uri: str = key(matching(r"[a-z][a-z0-9+.-]*:\S+", "a URI such as `notes://today` or `notes://{day}`"))
    """URI, or a URI template: `{name}` is a value without `/`, `{+name}` may contain it."""
    summary: str = key(SUMMARY)
    """Content in one line."""
    title: str = key(TITLE, default="")
    """Name for people."""
    description: str = key(at_most(4096), default="")
    """Longer description. Default: the summary."""
    mime_type: str = key(MEDIA_TYPE)
    """Media type of the content, such as `text/markdown`."""
    arguments: Mapping[str, ArgumentTable] = key(default={})
    """Variables of the URI template."""
    file: str = key(PATH, default="")
    """File with the content: its path in the package `[server].handlers`."""
    handler: str = key(FUNCTION, default="")
    """`module:function` under `[server].handlers` that returns the content as `str` or `bytes`, or None."""
    subscribe: bool = False
    """Whether clients can subscribe: handlers announce changes with `call.resource_updated(uri)`."""
    icons: tuple[IconTable, ...] = ()
    """Pictures of the resource."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTable(PartialTable):
    """`[commands.NAME]`: a slash command for each host, also served as a prompt with the argument `arguments`."""

    summary: str = key(SUMMARY)
    """Summary in the menu of the host."""
    argument_hint: str = ""
    """Placeholder for the text after the command."""
    tools: tuple[str, ...] = key(tool_name(), default=())
    """Tools that it uses; hosts may then run them without asking."""
    prompt: str
    """Text sent to the model. `{arguments}` is replaced by the user's text, `{COMMAND_NAME}` by the command's name."""
    allow: tuple[AllowTable, ...] = ()
    """Lint rules to suppress, each with a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTable(PartialTable):
    """`[[workflows.NAME.steps]]`: one step."""

    title: str
    """Name of the step."""
    tool: str = key(tool_name(), default="")
    """Tool for the step."""
    text: str
    """Instructions for the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowTable(PartialTable):
    """`[workflows.NAME]`: a procedure over several tools, written out as a skill."""

    summary: str = key(SUMMARY)
    """Goal of the workflow."""
    title: str = key(TITLE, default="")
    """Heading of the workflow where it is a document of its own; the summary if empty."""
    description: str = ""
    """When to use the workflow."""
    argument_hint: str = key(one_line(), default="")
    """Placeholder for the text after the workflow's slash command, such as `<feature>`."""
    steps: tuple[StepTable, ...] = key(not_empty())
    """Steps in order."""
    examples: tuple[str, ...] = ()
    """Texts after the workflow's slash command, as examples."""
    notes: tuple[str, ...] = ()
    """Limits and advice, a sentence each."""
    allow: tuple[AllowTable, ...] = ()
    """Lint rules to suppress, each with a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppTable(PartialTable):
    """`[apps.TOOL]`: an HTML page that clients with MCP Apps show beside the results of a tool."""

    page: str = key(FUNCTION)
    """`module:function` under `[server].handlers` that returns the HTML. The page has no network, so all is inline."""
    action: str = key(FUNCTION, default="")
    """`module:function` that answers the requests of the page, which clients hide from models."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTable(Table):
    """`[[files]]`: more files to generate, from a template of the project."""

    path: str
    """Path below `generated/`, such as `docs/{tool.name}.md`; see docs/templates.md for the fields."""
    template: str
    """Name of the template: its path below `templates/`, or a packaged one."""
    for_each: Literal["server", "category", "tool", "command", "workflow"] = "server"
    """Kind of object that one file is rendered for. Template and path access it by this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestTables(ExtensibleTable):
    """The whole manifest, one-to-one with the TOML."""

    extended_after: ClassVar[str] = "params"

    edition: int
    """Version of the manifest language: 1."""
    include: tuple[str, ...] = ()
    """Further files of the manifest, as paths or globs relative to this file: `tools/*.toml`.

    They can have all tables but `server`, `discovery` and `outputs`.
    """
    server: ServerTable
    """Name, packages and settings of the server."""
    discovery: DiscoveryTable = DiscoveryTable()
    """How models find tools."""
    outputs: OutputsTable = OutputsTable()
    """The files that are generated, and their names."""
    categories: Mapping[str, CategoryTable] = key(default={})
    """Groups of tools, in display order."""
    types: Mapping[str, TypeTable] = key(default={})
    """Objects with fields, enumerations and unions, for reuse."""
    params: Mapping[str, ParamTable] = key(default={})
    """Parameters that several tools use."""
    tools: Mapping[str, ToolTable] = key(default={})
    """Tools, in display order."""
    prompts: Mapping[str, PromptTable] = key(default={})
    """Prompts, in display order."""
    resources: Mapping[str, ResourceTable] = key(default={})
    """Resources and resource templates, in display order."""
    commands: Mapping[str, CommandTable] = key(default={})
    """Slash commands."""
    workflows: Mapping[str, WorkflowTable] = key(default={})
    """Procedures over several tools."""
    apps: Mapping[str, AppTable] = key(tool_name(), default={})
    """Pages beside the results of tools, by the names of the tools."""
    files: tuple[FileTable, ...] = ()
    """More files to generate."""
