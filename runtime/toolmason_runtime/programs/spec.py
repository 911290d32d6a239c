"""What a manifest says of a program and of the tools that run it: plain data, made at generation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from toolmason_runtime.programs.sandbox import Access

CONFIRM_PLACEHOLDER: Final = re.compile(r"\{\{|\}\}|\{(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\}")
"""A parameter that `confirm` names, or a brace that is written twice."""


class Risk(StrEnum):
    """What running a command may do, least first."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"

    @property
    def rank(self) -> int:
        """0 for the least."""
        return list(Risk).index(self)


class Place(StrEnum):
    """Where the value of a parameter goes."""

    FLAG = "flag"
    POSITIONAL = "positional"
    STDIN = "stdin"
    CWD = "cwd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """How one parameter reaches the command line.

    `flag` is written before its value as an argument of its own, or joined to it where it ends in `=`. A `switch`
    stands alone: there if the value is true, not there if it is false. A list gives the flag once for each item, and
    a positional for each. `default` is what is used when nothing is given (None: nothing); `default_env` names the
    environment variable of the server that says it instead, if that is set and not empty.
    """

    name: str
    place: Place
    flag: str = ""
    switch: bool = False
    default: Any = None
    default_env: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions:
    """The files and the network that a program declares, as written: `~`, `$VAR`, `{roots}` and `{cwd}` included.

    `writes` holds for calls that change something; those whose risk is `read` only read there.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    executes: tuple[str, ...] = ()
    network: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """`[clis.NAME]`: a program, and what all command lines of it share.

    `command` comes first. `env` is set for it, and the variables named in `pass_env` are handed on from the server;
    nothing else of the server's environment is, but for what a program needs to run at all. `ends_options` says that
    it takes `--`, after which nothing is an option. One without `permissions` is not confined. `memory_mb` limits the
    memory of each of its processes, in mebibytes; 0 does not.
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
    placements: tuple[Placement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandTool:
    """A tool with `cli`: which sub-command of the program it runs, and what its parameters become.

    `risk` is that of any call; `risk_by_value` maps a parameter to its values to the risk of a call with that value,
    and a value that is not listed there counts as destructive.
    """

    name: str
    program: Program
    argv: tuple[str, ...] = ()
    placements: tuple[Placement, ...] = ()
    timeout_s: float | None = None
    risk: Risk = Risk.READ
    risk_by_value: Mapping[str, Mapping[str, Risk]] = field(default_factory=dict)
    confirm: str = ""
    """The question to the person, above the command line itself; empty for the usual words.

    `{name}` is replaced by the value of that parameter, `{{` and `}}` by a brace.
    """
    ok_exit_codes: tuple[int, ...] = (0,)
    """Exit codes for which the result is not an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """A command line that is ready to run. `cwd` is empty for the server's own; `stdin` is None for none.

    `projects` are directories that choose no program by lying on PATH, besides `cwd` and the server's own.
    `access` is None if the program is not confined.
    """

    argv: tuple[str, ...]
    cwd: str = ""
    stdin: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    timeout_s: float = 30.0
    memory_mb: int = 1024
    access: Access | None = None
    projects: tuple[str, ...] = ()
