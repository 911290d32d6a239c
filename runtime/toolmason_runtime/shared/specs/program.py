"""Declarations of programs and command tools: plain data that generated code creates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

CONFIRM_PLACEHOLDER: Final = re.compile(r"\{\{|\}\}|\{(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\}")
"""A parameter in `confirm`, such as `{path}`, or a doubled brace (`{{`, `}}`)."""


class Risk(StrEnum):
    """Effects that a command may have, weakest first."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        """0 for the weakest."""
        return list(Risk).index(self)


class PlacementKind(StrEnum):
    """How a program receives the value of a parameter."""

    FLAG = "flag"
    POSITIONAL = "positional"
    STDIN = "stdin"
    CWD = "cwd"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentPlacement:
    """How one parameter reaches the command line.

    `flag` precedes its value as a separate argument, or is joined to it if it ends with `=`. A `switch` is a flag
    without a value, present if the value is true. A list repeats the flag, or the positional, for each item; a map
    repeats it for each entry, key and value with `separator` between them. `default`
    is the value of an absent argument (None: no value). `default_env` is an environment variable of the server that
    overrides `default` if it is set and not empty.
    """

    name: str
    place: PlacementKind
    flag: str = ""
    switch: bool = False
    separator: str = ""
    default: Any = None
    default_env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """The files and the network that a program declares, not expanded: with `~`, `$VAR`, `{roots}` and `{cwd}`.

    In calls with risk `read`, `writes` can only be read.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    executes: tuple[str, ...] = ()
    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`[clis.NAME]`: a program and the settings that all its command lines share.

    `command` is the start of each command line. The program receives the variables in `env`, those of the server in
    `pass_env`, and a minimal base environment. `ends_options` is true if it accepts `--` as the end of options. Without
    `permissions` it is not confined. `memory_mb` limits each of its processes, in mebibytes (0: no limit).
    """

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    working_dir: str = ""
    timeout_s: float = 30.0
    ends_options: bool = False
    memory_mb: int = 1024
    permissions: Permissions | None = None
    placements: tuple[ArgumentPlacement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTool:
    """A tool with `cli`: the subcommand of a program and the placements of its parameters.

    `risk` is the risk of every call. `risk_by_value` maps a parameter to values and these to the risk of a call with
    that value; an unlisted value is destructive.
    """

    name: str
    program: Program
    argv: tuple[str, ...] = ()
    placements: tuple[ArgumentPlacement, ...] = ()
    timeout_s: float | None = None
    risk: Risk = Risk.READ
    risk_by_value: Mapping[str, Mapping[str, Risk]] = field(default_factory=dict)
    confirm: str = ""
    """The question above the command line in an approval prompt; empty for the default question.

    `{name}` is replaced by the value of a parameter, `{{` and `}}` by a brace.
    """
    ok_exit_codes: tuple[int, ...] = (0,)
    """Exit codes for which the result is not an error."""
