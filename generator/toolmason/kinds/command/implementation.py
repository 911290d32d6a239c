"""The implementation of a tool by a program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolmason_runtime.shared.specs.program import CommandTool, Program, Risk

from toolmason.kinds.command.tables import CliTable
from toolmason.model.implementation import Group, Implementation
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.model.types import Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandImplementation(Implementation):
    """The command line of a tool. `program_constant` is its program in generated code; the rest is for docs."""

    kind: ClassVar[str] = "command"
    takes_dict: ClassVar[bool] = True
    tool: CommandTool
    program_constant: Identifier
    usage: str
    risk: str

    @property
    def group(self) -> tuple[Identifier, Program]:
        """The program."""
        return self.program_constant, self.tool.program

    @property
    def risks(self) -> frozenset[Risk]:
        """The risk of its calls, or the least and the greatest if an argument decides."""
        return frozenset({self.tool.risk, self.hints.risk if self.tool.risk_by_value else self.tool.risk})

    @property
    def timeout_s(self) -> float:
        """Seconds until the program is terminated."""
        return self.tool.timeout_s or self.tool.program.timeout_s

    @property
    def imports(self) -> Mapping[str, tuple[str, ...]]:
        """The classes of its specification."""
        program = self.tool.program
        names = ["CommandTool", "Program", "Risk", "command"]
        if self.tool.placements or program.placements:
            names += ["ArgumentPlacement", "PlacementKind"]
        if program.permissions:
            names.append("Permissions")
        return {"toolmason_runtime.serving": tuple(names)}

    @property
    def entry(self) -> Mapping[str, Any]:
        """The name of the program."""
        return {"cli": self.tool.program.name}


def command_of(tool: Tool) -> CommandImplementation | None:
    """Return the command line of a tool; None for a tool of another kind."""
    implementation = tool.implementation
    return implementation if isinstance(implementation, CommandImplementation) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cli(Group):
    """A program of `[clis]`, for search, docs and operators."""

    kind: ClassVar[str] = "command"
    catalogue_section: ClassVar[str] = "clis"
    table: CliTable
    is_confined: bool = False
    """Whether the manifest declares its files and network."""

    @property
    def entry(self) -> Mapping[str, Any]:
        """Its entry in the catalogue."""
        entry = {"summary": self.table.summary, "tags": list(self.table.tags)}
        entry |= {"description": self.table.description} if self.table.description else {}
        return entry | ({"confined": True} if self.is_confined else {})


def clis_of(server: Server) -> tuple[Cli, ...]:
    """Return the programs of a server."""
    return tuple(group for group in server.groups.get("command", ()) if isinstance(group, Cli))
