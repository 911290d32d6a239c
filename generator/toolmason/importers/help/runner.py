"""Run a program only with `--help` or `-h` after its subcommand, without a shell."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio
from toolmason_runtime.programs.execute import run
from toolmason_runtime.programs.spec import Invocation
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.toml.problems import quoted

from toolmason.importers.help.parser import Help, parse_help
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
_MANUAL: Final = re.compile(r"\s*[A-Z][\w.:-]*\([0-9][a-z]*\)\s")
"""Start of a manual page, such as `GIT-LOG(1)`, which is hard to parse; `-h` may be shorter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The parsed help of a program and the option that printed it."""

    help: Help
    option: str


def program_help(command: Sequence[str], *, timeout_s: float) -> Answer:
    """Return the help of a program or subcommand.

    Raises:
        ImporterError: the program cannot be run, or its help is empty.
    """
    _check_words(command)
    if shutil.which(command[0]) is None:
        raise ImporterError(f"program {quoted(command[0])} not found")
    answers = []
    for option in ("--help", "-h"):
        text = _run((*command, option), timeout_s)
        answer = Answer(help=parse_help(text, command), option=option)
        if answer.help.weight and not _MANUAL.match(text):
            return answer
        answers.append(answer)
    best = max(answers, key=lambda answer: answer.help.weight)
    if not best.help.weight:
        raise ImporterError(f"{quoted(' '.join(command))} shows no options with --help or -h")
    return best


def _check_words(command: Sequence[str]) -> None:
    """Reject options, with which a program might act before it handles `--help`."""
    for index, word in enumerate(command[1:], 1):
        names_module = word == "-m" and index == 1 and len(command) > index + 1
        if not names_module and not _WORD.fullmatch(word):
            raise ImporterError(f"{quoted(word)} is not a subcommand: write a program and its subcommands only")


def _run(argv: tuple[str, ...], timeout_s: float) -> str:
    try:
        return anyio.run(_output, Invocation(argv=argv, env=_ENVIRONMENT, timeout_s=timeout_s), backend="asyncio")
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
