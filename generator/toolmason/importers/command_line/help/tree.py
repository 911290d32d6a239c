"""Follow the subcommands of a program, with limits for depth, runs and time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from toolmason.importers.command_line.help.completion import Completions
from toolmason.importers.command_line.help.parser import Help, Option
from toolmason.importers.command_line.help.runner import Answer, OutOfRunsError, Runs, program_help
from toolmason.importers.notes import ImporterError

_SKIPPED: Final = frozenset({"help", "completion", "completions", "generate-shell-completion"})
"""Subcommands for people and shells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """A subcommand, or the program itself, with its help. Without `answer`, only its summary is known.

    `problem` is the reason for a missing help, perhaps a limit; empty if subcommands are not followed at all.
    """

    command: tuple[str, ...]
    answer: Answer | None = None
    summary: str = ""
    problem: str = ""
    is_beyond_limit: bool = False


@dataclass(frozen=True, slots=True)
class _Group:
    """A subcommand with its help, the help texts above it, and the number of levels to follow below it."""

    command: tuple[str, ...]
    answer: Answer
    above: tuple[str, ...]
    levels: int


def is_group(help_: Help) -> bool:
    """Return whether a help text lists subcommands, one of which each call names."""
    return bool(help_.commands) and (help_.usage.takes_command or not help_.positionals)


def _of_usage(help_: Help) -> Help:
    """Return the part of a help text of several subcommands that describes one: its forms in the usage."""
    options = tuple(Option(flags=(flag,), metavar=metavar) for flag, metavar in help_.usage.options)
    commands = tuple((name, "") for name in help_.usage.commands)
    return Help(usage=help_.usage, positionals=help_.positionals, options=options, commands=commands)


@dataclass(slots=True)
class Explorer:
    """Runs a program for the help of its subcommands. `show` reports each; `completions` fill the gaps of the help."""

    runs: Runs
    show: Callable[[str], None] = lambda _: None
    completions: Completions | None = None
    _pending: deque[_Group] = field(default_factory=deque)

    def explore(self, command: Sequence[str], *, depth: int) -> list[Subcommand]:
        """Return the subcommands that can be tools, breadth first: a limit cuts the deepest. 0 follows none.

        Raises:
            ImporterError: the program cannot be run, or its help is empty.
        """
        found: dict[tuple[str, ...], Subcommand] = {}
        self._pending.append(_Group(tuple(command), self._help(command), (), depth))
        while self._pending:
            group = self._pending.popleft()
            help_ = group.answer.help
            usage = help_.usage
            if not is_group(help_) or (usage.required_flags and not usage.takes_command):
                found[group.command] = Subcommand(command=group.command, answer=group.answer)
            if is_group(help_):
                found |= {subcommand.command: subcommand for subcommand in self._below(group)}
        return list(found.values())

    def _help(self, command: Sequence[str], *, is_subcommand: bool = False) -> Answer:
        answer = program_help(command, runs=self.runs, is_subcommand=is_subcommand)
        if self.completions is None:
            return answer
        return replace(answer, help=self.completions.add_to(answer.help, command[1:]))

    def _below(self, group: _Group) -> Iterator[Subcommand]:
        """Yield the subcommands of a group whose help is not available, and append the others to the pending ones."""
        above = (*group.above, group.answer.text)
        for name, text in group.answer.help.commands:
            command = (*group.command, name)
            if name in _SKIPPED:
                continue
            if not group.levels:
                yield Subcommand(command=command, summary=text)
                continue
            self.show(" ".join(command))
            try:
                answer = self._help(command, is_subcommand=True)
            except ImporterError as error:
                is_limit = isinstance(error, OutOfRunsError)
                yield Subcommand(command=command, summary=text, problem=str(error), is_beyond_limit=is_limit)
            else:
                if answer.text in above and answer.help.usage.names_command:
                    answer = replace(answer, help=_of_usage(answer.help))
                    self._pending.append(_Group(command, answer, above, group.levels - 1))
                elif answer.text in above:
                    yield Subcommand(command=command, summary=text, problem="it has no help of its own")
                else:
                    summary = answer.help.summary or text
                    answer = replace(answer, help=replace(answer.help, summary=summary))
                    self._pending.append(_Group(command, answer, above, group.levels - 1))
