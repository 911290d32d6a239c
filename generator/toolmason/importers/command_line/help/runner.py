"""Run a program only with `--help` or `-h` after its subcommand, or `man` for its page, without a shell.

It runs in an empty directory. Many programs read settings of the working directory even for `--help`, and these can
name commands: `git log --help` starts a browser of `.git/config`, `mvn` takes Java agents from `.mvn/jvm.config`, and
`python -m` imports modules that are there.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Final

import anyio
from toolmason_runtime.programs.execute import run
from toolmason_runtime.programs.spec import Invocation
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.toml.problems import quoted

from toolmason.importers.command_line.help.manual import is_manual, parse_manual
from toolmason.importers.command_line.help.parser import Help, parse_help
from toolmason.importers.notes import ImporterError

MAX_BYTES: Final = 512 * 1024
"""Maximum bytes of a help text. A program that writes more is terminated."""
WIDTH: Final = 160
"""Value of `COLUMNS`: long lines are easier to parse."""

_ENVIRONMENT: Final = {
    **dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER"), "cat"),
    "COLUMNS": str(WIDTH),
    "LC_ALL": "C.UTF-8",
    "NO_COLOR": "1",
}
_WORD: Final = re.compile(r"[A-Za-z0-9_][\w.:/+-]*")
"""A subcommand such as `remote` or `db:migrate`, but not an option."""
_MANUAL_ADVANTAGE: Final = 3
"""A manual page is used if it has this many times the options of the help."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The parsed help of a program, its text, and the option that printed it, or in `source` the command line."""

    help: Help
    option: str
    text: str = ""
    source: str = ""


class OutOfRunsError(ImporterError):
    """The limit of runs or of time is reached."""


@dataclass(slots=True)
class Runs:
    """Limits of an import: seconds for each run of a program, number of runs, and seconds for all of them."""

    timeout_s: float = 20
    max_runs: int = 300
    max_seconds: float = 300
    count: int = 0
    _start: float = field(default_factory=time.monotonic)

    def take(self) -> None:
        """Count a run.

        Raises:
            OutOfRunsError: a limit is reached.
        """
        if self.count >= self.max_runs:
            raise OutOfRunsError(f"the limit of {self.max_runs} runs is reached; --max-runs raises it")
        if time.monotonic() - self._start > self.max_seconds:
            raise OutOfRunsError(f"the limit of {self.max_seconds:g} seconds is reached; --max-seconds raises it")
        self.count += 1


def program_help(command: Sequence[str], *, runs: Runs, is_subcommand: bool = False) -> Answer:
    """Return the help of a program or subcommand: of its options, or of its manual page if that lists far more.

    Raises:
        ImporterError: the program cannot be run, or its help is empty; for a subcommand, it has not even a usage.
    """
    _check_words(command)
    if shutil.which(command[0]) is None:
        raise ImporterError(f"program {quoted(command[0])} not found")
    best: Answer | None = None
    manual: Answer | None = None
    for option in ("--help", "-h"):
        text = _run((*command, option), runs)
        if is_manual(text):
            manual = Answer(help=parse_manual(text, command), option=option, text=text)
            continue
        answer = Answer(help=parse_help(text, command), option=option, text=text)
        if best is None or answer.help.weight > best.help.weight:
            best = answer
        if answer.help.weight or (is_subcommand and answer.help.usage.lines):
            break
    is_described = best and any(option.description for option in best.help.options)
    if manual is None and not (is_described or (is_subcommand and best and best.help.usage.lines)):
        manual = _manual_page(command, runs)
    better = _better(best, manual)
    if better is None or not (better.help.weight or (is_subcommand and better.help.usage.lines)):
        note = "; it runs in an empty directory: install the module first" if "-m" in command[1:2] else ""
        raise ImporterError(f"{quoted(' '.join(command))} shows no options with --help or -h{note}")
    return better


def _manual_page(command: Sequence[str], runs: Runs) -> Answer | None:
    """Return the manual page of a program or subcommand, such as `git-log`; None if there is none."""
    name = "-".join(PurePath(word).name for word in command)
    if shutil.which("man") is None or "-m" in command[1:2] or not _WORD.fullmatch(name):
        return None
    argv = ("man", "-P", "cat", name)
    text = _run(argv, runs)
    if not is_manual(text):
        return None
    return Answer(help=parse_manual(text, command), option="", text=text, source=" ".join(argv))


def _better(help_: Answer | None, manual: Answer | None) -> Answer | None:
    """Return the answer with more to offer, with the usage of the help if it has one."""
    if help_ is None or manual is None:
        return help_ or manual
    if len(manual.help.options) <= _MANUAL_ADVANTAGE * len(help_.help.options):
        return help_ if help_.help.weight else manual
    if not help_.help.usage.lines:
        return manual
    own = help_.help
    merged = replace(manual.help, usage=own.usage, positionals=own.positionals, commands=own.commands)
    return replace(manual, help=merged)


def _check_words(command: Sequence[str]) -> None:
    """Reject options, with which a program might act before it handles `--help`."""
    for index, word in enumerate(command[1:], 1):
        names_module = word == "-m" and index == 1 and len(command) > index + 1
        if not names_module and not _WORD.fullmatch(word):
            raise ImporterError(f"{quoted(word)} is not a subcommand: write a program and its subcommands only")


def _run(argv: tuple[str, ...], runs: Runs) -> str:
    runs.take()
    program, *arguments = argv
    if PurePath(program).name != program:
        program = str(Path(program).absolute())
    with TemporaryDirectory(prefix="toolmason-", ignore_cleanup_errors=True) as directory:
        invocation = Invocation(argv=(program, *arguments), env=_ENVIRONMENT, cwd=directory, timeout_s=runs.timeout_s)
        try:
            return anyio.run(_output, invocation, backend="asyncio")
        except ToolError as error:
            raise ImporterError(error.message) from error


def _is_text(output: str) -> bool:
    """Return whether output is text, with at most 10 % of its characters invalid in UTF-8."""
    return "\0" not in output and output.count("\ufffd") * 10 <= len(output)


async def _output(invocation: Invocation) -> str:
    outcome = await run(
        invocation, environ=os.environ, max_memory_bytes=MAX_BYTES, max_file_bytes=0, max_output_bytes=MAX_BYTES
    )
    try:
        if outcome.timed_out:
            raise ImporterError(f"{quoted(' '.join(invocation.argv))} took more than {invocation.timeout_s:g} seconds")
        texts = ["".join(stream.texts()) for stream in (outcome.stdout, outcome.stderr)]
        # Git and others print help on stderr.
        return next((text for text in texts if text.strip() and _is_text(text)), "")
    finally:
        outcome.close()
