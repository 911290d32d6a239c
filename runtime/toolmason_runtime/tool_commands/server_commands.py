"""The commands of a generated server: they call its tools in this process."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from toolmason_runtime.shared.extras import CLI, missing_extra
from toolmason_runtime.shared.subcommands import COMPLETION, PROGRAMS, SUBCOMMANDS, TOOLS
from toolmason_runtime.tool_commands.declarations import CommandCategory, ToolCommand
from toolmason_runtime.tool_commands.interrupts import handled_interrupt

if TYPE_CHECKING:
    from toolmason_runtime.tool_commands.app import Program
    from toolmason_runtime.tool_commands.in_process import Server

_USAGE_ERROR: Final = 2


class ServerCommands(NamedTuple):
    """The commands of the tools of one server."""

    program: str
    summary: str
    package: str
    """Import name of the generated package."""
    categories: tuple[CommandCategory, ...]
    reserved: tuple[str, ...] = ()
    """Other subcommands of the server. A category of the same name is written after `tools`."""

    def has(self, word: str) -> bool:
        """Return whether `word` is the first word of a command of tools."""
        if word in self.reserved:
            return False
        return any(word == name for name, _ in SUBCOMMANDS) or any(
            word == category.name or any(word == entry.full_name for entry in category.commands)
            for category in self.categories
        )

    @property
    def words(self) -> list[str]:
        """What can be the first word of a command of tools: categories, tools, and the subcommands of every server."""
        tools = (entry.full_name for category in self.categories for entry in category.commands)
        return [*(category.name for category in self.categories), *tools, *(name for name, _ in SUBCOMMANDS)]

    def run(self, argv: Sequence[str], server: Callable[[], Server]) -> int:
        """Run a command line whose first word is one of a command of tools; return the exit code."""
        first, rest = argv[0], list(argv[1:])
        if first == COMPLETION:
            from toolmason_runtime.tool_commands.output import guarded

            return guarded(self.program, lambda: self._complete(rest))
        if first == PROGRAMS:
            with handled_interrupt(signal.SIG_DFL):
                from toolmason_runtime.tool_commands.output import guarded
                from toolmason_runtime.tool_commands.suspended_programs import programs_command

                prog = f"{self.program} {PROGRAMS}"
                return guarded(prog, lambda: programs_command(rest, prog, server))
        if problem := missing_extra("a tool as a command", CLI):
            print(f"{self.program}: {problem}", file=sys.stderr)  # noqa: T201  for the user
            return _USAGE_ERROR
        # During the imports an interrupt ends the process at once: Python's own handler would print a traceback.
        with handled_interrupt(signal.SIG_DFL):
            from toolmason_runtime.tool_commands.app import run

            if first == TOOLS:
                return run(self._app(server), rest, words=TOOLS)
            return run(self._app(server), argv)

    def _app(self, server: Callable[[], Server]) -> Program:
        from toolmason_runtime.tool_commands.app import Invocation, Program

        def call(invocation: Invocation) -> int:
            from toolmason_runtime.tool_commands.in_process import call_tool

            return call_tool(server, invocation)

        return Program(self.program, self.summary, self.categories, commands_of, call)

    def _complete(self, argv: Sequence[str]) -> int:
        """Print the script of a shell, which was written with the package."""
        from toolmason_runtime.tool_commands.completion import SHELLS

        usage = f"usage: {self.program} {COMPLETION} {'|'.join(SHELLS)}"
        if {"-h", "--help"} & {*argv}:
            print(f"{usage}\n\nPrint the script that completes the commands in this shell.")  # noqa: T201  for the user
            return 0
        if len(argv) != 1 or argv[0] not in SHELLS:
            problem = f"unknown shell `{argv[0]}`\n" if len(argv) == 1 else ""
            print(f"{problem}{usage}", file=sys.stderr)  # noqa: T201  for the user
            return _USAGE_ERROR
        from importlib.resources import files

        from toolmason_runtime.tool_commands.output import write

        write(files(self.package).joinpath(f"completion.{argv[0]}").read_text(encoding="utf-8"))
        return 0


def commands_of(category: CommandCategory) -> Mapping[str, ToolCommand]:
    """Return the commands of a category by their names."""
    return {command.name: command for command in import_module(category.module).COMMANDS}
