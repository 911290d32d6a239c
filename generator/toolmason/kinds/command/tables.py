"""The tables of programs, and the keys of tools that run them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from toolmason_runtime.toml.tables import Idiom, JsonValue, PartialTable, Table, advised, at_most, key, not_empty

from toolmason.manifest.idioms import CLI_DEFAULT_KEYS, type_hint
from toolmason.manifest.rules import FLAG, SUMMARY, VARIABLE
from toolmason.manifest.tables import TierDefaultsTable


@dataclass(frozen=True, slots=True, kw_only=True)
class CliDefaultsTable(TierDefaultsTable):
    """`[clis.NAME.defaults]`: values for its tools that do not set them."""

    idioms: ClassVar[Mapping[str, Idiom]] = CLI_DEFAULT_KEYS

    risk: Literal["read", "write", "destructive"] | None = None
    """`risk` of the tools, from which their hints follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CliParamTable(Table):
    """`[clis.NAME.params.NAME]`: an argument of every command line, set by the operator and hidden from models."""

    type: str = key(advised(type_hint), default="string")
    """`string`, `integer`, `number`, `boolean`, or an array or map of one of the first three."""
    description: str = ""
    """Explanation for the operator."""
    flag: str = key(FLAG, default="")
    """Option, as for a parameter of a tool."""
    default: JsonValue = None
    """Value."""
    default_env: str = key(VARIABLE, default="")
    """Environment variable of the server with the value. If unset or empty, the argument is omitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CliTable(PartialTable):
    """`[clis.NAME]`: a program and the settings of all its command lines."""

    command: tuple[str, ...] = key(not_empty('write the program and its fixed arguments: `command = ["git"]`'))
    """The program and its fixed arguments, run without a shell. `~` and `$VAR` are expanded."""
    summary: str = key(SUMMARY, default="")
    """Purpose of the program in one line."""
    description: str = key(at_most(4096), default="")
    """A few sentences in words that users search for. They are searched, not shown."""
    category: str = ""
    """Default category of its tools."""
    tags: tuple[str, ...] = ()
    """Labels shown when tools are searched and browsed."""
    env: Mapping[str, str] = key(default={})
    """Environment variables set for it; `~` and `$VAR` are expanded."""
    pass_env: tuple[str, ...] = ()
    """Variables passed from the server's environment, besides the few that every program needs."""
    working_dir: str = ""
    """Working directory, unless a parameter sets it. Default: that of the server. `~` and `$VAR` are expanded."""
    timeout: float = key({"minimum": 0.1}, default=30)
    """Seconds until the program and its child processes are terminated."""
    memory_mb: int = key({"minimum": 64}, default=1024)
    """Maximum memory of each of its processes in MiB. Linux only."""
    ends_options: bool = False
    """Whether it supports `--` (end of options). If not, values that start with `-` are rejected."""
    open_world: bool = True
    """Whether it accesses systems outside this machine; a hint of its tools."""
    reads: tuple[str, ...] | None = None
    """Files and directories that it may read: absolute, `~/...`, `$VAR/...`, `{roots}` or `{cwd}`."""
    writes: tuple[str, ...] | None = None
    """Files and directories that it may change in calls with the risk `write` or `destructive`."""
    executes: tuple[str, ...] | None = None
    """Programs that it may start: paths, or names that are looked up like its own."""
    network: bool | None = None
    """Whether it may use the network. Default: `open_world`."""
    params: Mapping[str, CliParamTable] = key(default={})
    """Arguments of every command line, hidden from models."""
    defaults: CliDefaultsTable = CliDefaultsTable()
    """Values for its tools that do not set them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandKeys(Table):
    """The keys of `[tools.NAME]` for a tool that runs a program."""

    cli: str = ""
    """Program of `[clis]` that implements the tool, instead of a handler."""
    argv: tuple[str, ...] = ()
    """Fixed arguments after the program's command, such as a subcommand."""
    ok_exit_codes: tuple[int, ...] = ()
    """Exit codes besides 0 that mean success, such as 1 of `grep` for an empty result."""
    output: Literal["text", "json"] = "text"
    """Output of its program: text, or JSON for `returns`, of which undeclared members are left out.

    An array, or JSON Lines, becomes the only field of the type.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTables(Table):
    """The top-level tables of programs."""

    clis: Mapping[str, CliTable] = key(default={})
    """Programs that tools run."""
