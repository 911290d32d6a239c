"""The types of a generated `catalogue.json`: plain data, ready for the wire.

A server computes nothing from it at its start, which therefore does not take longer with more tools.
"""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any, Final, NotRequired, TypedDict

if TYPE_CHECKING:
    from pathlib import Path

ALWAYS_LOAD: Final = "anthropic/alwaysLoad"
"""Key of `_meta`: Claude Code lists such a tool at once, without its own tool search."""
SEARCH_HINT: Final = "anthropic/searchHint"
"""Key of `_meta`: text that the tool search of Claude Code matches in addition to name and description."""

WireTool = dict[str, Any]
"""A `Tool` of the MCP schema: name, title?, description, inputSchema, outputSchema?, annotations, _meta?."""


class AuthEntry(TypedDict):
    """`[server.auth]` of the manifest. Texts contain unexpanded variables; an empty `resource` means `audience`."""

    issuer: str
    audience: str
    jwks_url: str
    resource: str
    scopes: list[str]
    algorithms: list[str]


class AuditEntry(TypedDict):
    """`[server] audit` and its limits."""

    path: str
    max_mb: NotRequired[int]
    """Size in megabytes from which on the log is rotated; absent means the default."""
    keep: NotRequired[int]
    """Number of old files; absent means the default."""


class ServerEntry(TypedDict):
    """`[server]` of the manifest, without the keys that only the generator needs."""

    name: str
    title: str
    version: str
    package: str
    """Import name of the generated package, which contains the `module` of each category."""
    instructions: str
    page_size: int
    lifespan: str
    """`absolute.module:function`, or empty."""
    description: NotRequired[str]
    website_url: NotRequired[str]
    icons: NotRequired[list[dict[str, Any]]]
    """Pictures of the server, as `Icon` of the MCP schema; absent without any."""
    command_prefix_env: NotRequired[str]
    """Environment variable that replaces the prefix of commands; absent if none does."""
    expose_all_env: NotRequired[str]
    """Environment variable that lists every tool; absent if none does."""
    auth: NotRequired[AuthEntry]
    """The authorization server of HTTP clients; absent without one."""
    chunk_store: NotRequired[str]
    """Environment variable with the URL of a Redis for long texts; absent without a shared store."""
    audit: NotRequired[AuditEntry]
    """The audit log; absent without one."""
    tool_timeouts: NotRequired[dict[str, float]]
    """Seconds that clients wait for a tool, by the name in `clientInfo`, if the manifest changes them; else absent."""
    prompt_syntax: NotRequired[dict[str, PromptSyntax]]
    """Syntax with an effect in prompts, by the client's name in `clientInfo`; absent without prompts."""
    handlers: NotRequired[str]
    """Import name of the package with the files of prompts and resources; absent without any."""


class PromptSyntax(TypedDict):
    """Syntax that a client interprets in the prompts of a server."""

    argument: str
    """Regular expression of an argument that the client replaces in the answer, such as `$1`."""
    run_start: str
    """Start of a command that the client runs."""


class DiscoveryEntry(TypedDict):
    """`[discovery]` of the manifest."""

    style: str
    prefix: str
    """Prefix of the names of tools in clients that add none; empty for none."""
    pinned: list[str]
    """Tools or aliases listed after the meta-tools."""
    page_tokens: int
    split_calls: bool
    pins: NotRequired[dict[str, list[str]]]
    """Pinned tools of single styles, which do not list `pinned`; absent without any."""
    detail: NotRequired[str]
    """`full` if every search result contains the schema of its arguments; absent for signatures."""
    list_fetch_chunk: NotRequired[bool]
    """Whether `classic` lists `fetch_chunk`; absent means false."""
    ranker: NotRequired[str]
    """`module:factory` of the ranking that replaces that by words; absent for the latter."""


class CategoryEntry(TypedDict):
    """A group of tools. `module` is the sub-package with its models and handlers."""

    module: str
    summary: str
    tags: list[str]
    description: NotRequired[str]
    """Text for searches, which do not show it; absent if there is none."""
    errors: NotRequired[str]
    """`json` if errors are sent as JSON; absent for plain text."""


class CliEntry(TypedDict):
    """A command-line program that tools run, as search results describe it."""

    summary: str
    tags: list[str]
    description: NotRequired[str]
    """Text for searches, which do not show it; absent if there is none."""
    confined: NotRequired[bool]
    """Whether it declares its file and network access; absent means false."""


class ProviderEntry(TypedDict):
    """An HTTP API or another MCP server that implements tools, as search results describe it."""

    summary: str
    tags: list[str]


class KindEntry(TypedDict):
    """A kind of tools that an installed distribution adds."""

    groups: dict[str, ProviderEntry]
    """What its tools share, such as databases, by name."""


class ExampleEntry(TypedDict):
    """A valid call, as data and as call syntax."""

    description: str
    arguments: dict[str, Any]
    invocation: str
    expected_output: NotRequired[str]


class DeprecationEntry(TypedDict):
    """The deprecation of a tool or an argument: its version, last day and replacement, and the author's message."""

    since: str
    until: NotRequired[str]
    """The last day (UTC) on which it works: `2027-06-30`. Absent means that it has none."""
    replaced_by: str
    message: str


class ClaimEntry(TypedDict):
    """A parameter that is filled from the claim `claim` of the caller's access token."""

    claim: str
    schema: dict[str, Any]
    """JSON Schema of its value."""
    required: bool


class ToolEntry(TypedDict):
    """One tool: its wire form (`tool`), and the data for discovery."""

    tool: WireTool
    summary: str
    category: str
    complexity: str
    tier: str
    """`core`, or `all` for tools served only with `--all`."""
    keywords: list[str]
    use_cases: list[str]
    related: list[str]
    examples: list[ExampleEntry]
    tags: NotRequired[list[str]]
    """Its own labels, besides those of its group."""
    requires_codebase: NotRequired[bool]
    """Absent means false."""
    placeholders: NotRequired[bool]
    """Whether its texts have placeholders for names of tools; absent means false."""
    cli: NotRequired[str]
    """Name of the command-line program that it runs; absent for other tools."""
    api: NotRequired[str]
    """Name of the HTTP API that it calls; absent for other tools."""
    upstream: NotRequired[str]
    """Name of the server that implements it; absent for other tools."""
    kind: NotRequired[str]
    """Name of its kind, for one that an installed distribution adds; absent for other tools."""
    group: NotRequired[str]
    """Name of what a tool with `kind` shares with others; absent without."""
    task: NotRequired[str]
    """`required` if it runs only as a task; absent if any call that takes long becomes one."""
    aliases: NotRequired[list[str]]
    deprecated: NotRequired[DeprecationEntry]
    enabled: NotRequired[bool]
    """Absent means true."""
    arguments_schema: NotRequired[dict[str, Any]]
    """The schema of the arguments, if it has more rules than `inputSchema` and the tool has no model."""
    complete_schema: NotRequired[dict[str, Any]]
    """The schema in search answers, if some rules are only in descriptions of `inputSchema`."""
    unique: NotRequired[list[list[str]]]
    """Paths of the arrays with `uniqueItems`, which a model cannot express; `*` is every item: `["files", "*"]`."""
    result_schema: NotRequired[dict[str, Any]]
    """The schema of the results, if it has more rules than `outputSchema`."""
    renamed: NotRequired[dict[str, str]]
    """Property name in `inputSchema` to the tool's own name, which some provider rejects."""
    argument_aliases: NotRequired[dict[str, str]]
    """Another name of an argument to its name in `inputSchema`; absent without any."""
    deprecated_arguments: NotRequired[dict[str, DeprecationEntry]]
    """The deprecations of arguments by their names in `inputSchema`; absent without any."""
    scopes: NotRequired[list[str]]
    """Scopes that an access token needs for a call; absent without any."""
    claims: NotRequired[dict[str, ClaimEntry]]
    """Parameters that are filled from claims, which are not in `inputSchema`; absent without any."""


class MessageEntry(TypedDict):
    """One message of a prompt, with one of `text`, `image` (a file) and `resource` (a URI)."""

    role: str
    text: NotRequired[str]
    image: NotRequired[str]
    mime_type: NotRequired[str]
    """Media type of the image."""
    resource: NotRequired[str]


class SurfaceEntry(TypedDict):
    """The keys that prompts and resources share."""

    schema: NotRequired[dict[str, Any]]
    """JSON Schema of the arguments, whose values clients send as text; absent without arguments."""
    completions: NotRequired[dict[str, list[str] | None]]
    """Values that are offered for each argument; None for those of a handler."""


class PromptEntry(SurfaceEntry):
    """One prompt: its wire form, and its messages unless it has a handler."""

    prompt: dict[str, Any]
    """A `Prompt` of the MCP schema."""
    messages: NotRequired[list[MessageEntry]]
    command: NotRequired[str]
    """Name of its slash command without prefix; absent for other prompts."""


class ResourceEntry(SurfaceEntry):
    """One resource or template: its wire form, and its file unless it has a handler."""

    resource: dict[str, Any]
    """A `Resource` or a `ResourceTemplate` of the MCP schema."""
    file: NotRequired[str]
    subscribe: NotRequired[bool]
    """Whether clients can subscribe; absent means false."""


class AppEntry(TypedDict):
    """The page of a tool."""

    page: str
    """`module:function` that returns the HTML."""
    action: NotRequired[str]
    """`module:function` for the requests of the page."""


class Catalogue(TypedDict):
    """Everything a server serves. Tools are in the order of their categories, then of the manifest."""

    server: ServerEntry
    discovery: DiscoveryEntry
    categories: dict[str, CategoryEntry]
    clis: NotRequired[dict[str, CliEntry]]
    """The programs that tools run; absent without command tools."""
    apis: NotRequired[dict[str, ProviderEntry]]
    """The HTTP APIs that tools call; absent without any."""
    upstreams: NotRequired[dict[str, ProviderEntry]]
    """The servers that implement tools; absent without any."""
    kinds: NotRequired[dict[str, KindEntry]]
    """Kinds of tools that installed distributions add; absent without any."""
    tools: dict[str, ToolEntry]
    prompts: NotRequired[dict[str, PromptEntry]]
    """By name, slash commands last; absent without any."""
    resources: NotRequired[dict[str, ResourceEntry]]
    """By name; absent without any."""
    skills: NotRequired[dict[str, list[str]]]
    """The name of each workflow's skill -> the tools that it names; absent without any."""
    apps: NotRequired[dict[str, AppEntry]]
    """The pages of tools, by the names of the tools; absent without any."""


def has_programs(catalogue: Catalogue) -> bool:
    """Return whether tools use programs, APIs or upstreams, so that the server has a policy."""
    return any(catalogue.get(section) for section in ("clis", "apis", "upstreams", "kinds"))


def is_handler(entry: ToolEntry) -> bool:
    """Return whether a handler implements a tool, which no policy restricts."""
    return not any(key in entry for key in ("cli", "api", "upstream", "kind"))


def server_of(entry: ToolEntry) -> str:
    """Return the MCP server or the HTTP API that implements a tool; empty for tools of the author's own."""
    return entry.get("upstream") or entry.get("api") or ""


def tool_group(catalogue: Catalogue, entry: ToolEntry) -> CliEntry | ProviderEntry | None:
    """Return what a tool shares with others: its program, API or upstream; None for a handler."""
    program = catalogue.get("clis", {}).get(entry.get("cli", ""))
    api = catalogue.get("apis", {}).get(entry.get("api", ""))
    further = catalogue.get("kinds", {}).get(entry.get("kind", ""))
    group = further["groups"].get(entry.get("group", "")) if further else None
    return program or api or group or catalogue.get("upstreams", {}).get(entry.get("upstream", ""))


def command_line(entry: ToolEntry) -> str:
    """Return the program, the API or the upstream of a tool, or its category if it has none."""
    return entry.get("cli") or entry.get("api") or entry.get("upstream") or entry["category"]


def with_meta(tool: WireTool, key: str, *, value: Any) -> WireTool:
    """Return `tool` with `key` in `_meta`; the manifest's value for that key has precedence."""
    return {**tool, "_meta": {key: value, **tool.get("_meta", {})}}


def load_catalogue(path: Path) -> Catalogue:
    """Read `catalogue.json` without a search for garbage, which would take most of the time."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        catalogue: Catalogue = json.loads(path.read_bytes())
    finally:
        if is_enabled:
            gc.enable()
    return catalogue
