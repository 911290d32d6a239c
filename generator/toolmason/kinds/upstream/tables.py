"""The tables of upstreams, and the keys of tools that they implement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from toolmason_runtime.shared.specs.pins import PIN_PATTERN
from toolmason_runtime.shared.toml.tables import JsonValue, PartialTable, Table, key, matching, not_empty

from toolmason.manifest.rules import SUMMARY
from toolmason.manifest.tables import DefaultsTable

_NO_DEFAULTS: Final = DefaultsTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTable(PartialTable):
    """`[upstreams.NAME]`: another MCP server whose tools are served, with exactly one of `command` and `url`.

    It starts at the first call of one of its tools, never at generation.
    """

    command: tuple[str, ...] = key(
        not_empty('write the program and its arguments: `command = ["npx", "..."]`'), default=()
    )
    """The server's program and its arguments, run without a shell. `~` and `$VAR` are expanded."""
    url: str = key(matching(r"https?://\S+", "an `https:` or `http:` URL"), default="")
    """URL of a server that uses streamable HTTP; `$VAR` is expanded."""
    summary: str = key(SUMMARY, default="")
    """Purpose of the server in one line."""
    category: str = ""
    """Default category of its tools."""
    tags: tuple[str, ...] = ()
    """Labels shown when tools are searched and browsed."""
    env: Mapping[str, str] = key(default={})
    """Environment variables set for its program; `~` and `$VAR` are expanded."""
    pass_env: tuple[str, ...] = ()
    """Variables passed to its program from our server's environment, besides the few that every program needs."""
    working_dir: str = ""
    """Working directory of its program, which it may read. Default: that of our server. `~` and `$VAR` are expanded."""
    memory_mb: int = key({"minimum": 64}, default=1024)
    """Maximum memory of each of its processes in MiB. Linux only."""
    reads: tuple[str, ...] = ()
    """Files and directories that it may read: absolute, `~/...`, `$VAR/...`, `{roots}` or `{cwd}`."""
    writes: tuple[str, ...] = ()
    """Files and directories that it may read and change."""
    executes: tuple[str, ...] = ()
    """Programs outside of the system's directories that it may start: paths, or names that are looked up."""
    network: bool = True
    """Whether its program may use the network."""
    unused_tools: tuple[str, ...] = ()
    """Tools of the server that are left out on purpose: `check --upstreams` does not report them as new."""
    headers: Mapping[str, str] = key(default={})
    """HTTP headers of every request to `url`, such as `Authorization = "Bearer $TOKEN"`; `$VAR` is expanded."""
    allow: tuple[Literal["sampling", "url", "context"], ...] = ()
    """What the server may ask of the client, besides forms: `sampling` of the client's model, opening a `url`.

    With `context`, a request for sampling may include the conversation with this server or with all servers.
    """
    timeout: float = key({"minimum": 0.1}, default=60)
    """Seconds until a call is cancelled. Time in which a person answers a question of the server does not count."""
    defaults: DefaultsTable = _NO_DEFAULTS
    """Values for its tools that do not set them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamArgumentTable(PartialTable):
    """`[tools.NAME.arguments.ORIGINAL]`: a change of an argument: one of `rename`, `value`, `hidden`; or `aliases`."""

    rename: str = ""
    """Name of the argument for models."""
    value: JsonValue = None
    """Value sent in every call; models do not see the argument."""
    hidden: bool = False
    """Whether the argument is hidden from models and never sent."""
    aliases: tuple[str, ...] = ()
    """Other names under which models may send the argument, with or without `rename`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamKeys(Table):
    """The keys of `[tools.NAME]` for a tool of an upstream."""

    upstream: str = ""
    """Server of `[upstreams]` that implements the tool, instead of a handler."""
    upstream_tool: str = ""
    """Name of the tool in that server. Default: the tool's own name."""
    upstream_hash: str = key(
        matching(PIN_PATTERN, "the text that `import server` and `check --upstreams` write"), default=""
    )
    """Hash of the approved texts, hints and schemas of the tool: `check --upstreams` reports and approves changes."""
    hints_source: Literal["author", "upstream"] = "author"
    """Origin of `hints`: `upstream` if `import server --trust-hints` copied them from the server's annotations."""
    arguments: Mapping[str, UpstreamArgumentTable] = key(default={})
    """Changes to arguments of the upstream's tool, by their names in `input_schema`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamTables(Table):
    """The top-level tables of upstreams."""

    upstreams: Mapping[str, UpstreamTable] = key(default={})
    """Other MCP servers whose tools are served."""
