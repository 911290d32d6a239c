"""Asks a program for its help, and for nothing else: `--help` or `-h` behind the words of a sub-command, no shell."""

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
from toolmason.importers.notes import ImportFailed

MAX_BYTES: Final = 512 * 1024
"""How much of a help text is read. A program that writes more is ended."""
WIDTH: Final = 160
"""Columns that programs are told to have: the fewer lines they break, the less there is to guess."""

_PLAIN: Final = {
    **dict.fromkeys(("PAGER", "GIT_PAGER", "MANPAGER"), "cat"),
    "COLUMNS": str(WIDTH),
    "LC_ALL": "C.UTF-8",
    "NO_COLOR": "1",
}
_WORD: Final = re.compile(r"[A-Za-z0-9_][\w.:/+-]*")
_MANUAL: Final = re.compile(r"\s*[A-Z][\w.:-]*\([0-9][a-z]*\)\s")
"""How a page of a manual begins. It tells more than can be made sense of; `-h` may tell less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a program says of itself, and the option it was asked with."""

    help: Help
    option: str


def program_help(command: Sequence[str], *, timeout_s: float) -> Answer:
    """Ask a program with the words of its sub-command.

    Raises:
        ImportFailed: it cannot be asked, or gives no answer.
    """
    _check_words(command)
    if shutil.which(command[0]) is None:
        raise ImportFailed(f"there is no program {quoted(command[0])}")
    answers = []
    for option in ("--help", "-h"):
        text = _asked((*command, option), timeout_s)
        answer = Answer(help=parse_help(text, command), option=option)
        if answer.help.weight and not _MANUAL.match(text):
            return answer
        answers.append(answer)
    best = max(answers, key=lambda each: each.help.weight)
    if not best.help.weight:
        raise ImportFailed(f"{quoted(' '.join(command))} tells nothing of its options with --help or -h")
    return best


def _check_words(command: Sequence[str]) -> None:
    """Refuse options: with one, a program might do something before it comes to `--help`."""
    for place, word in enumerate(command[1:], 1):
        names_module = word == "-m" and place == 1 and len(command) > place + 1
        if not names_module and not _WORD.fullmatch(word):
            raise ImportFailed(f"{quoted(word)} is no sub-command: name a program, its sub-commands and nothing else")


def _asked(argv: tuple[str, ...], timeout_s: float) -> str:
    try:
        return anyio.run(_output, Invocation(argv=argv, env=_PLAIN, timeout_s=timeout_s), backend="asyncio")
    except ToolError as error:
        raise ImportFailed(error.message) from error


def _is_text(output: str) -> bool:
    """Whether output is meant to be read; a letter here and there that is not UTF-8 speaks not against it."""
    return "\0" not in output and output.count("\ufffd") * 10 <= len(output)


async def _output(invocation: Invocation) -> str:
    outcome = await run(
        invocation, environ=os.environ, most_in_memory=MAX_BYTES, most_in_file=0, most_written=MAX_BYTES
    )
    try:
        if outcome.timed_out:
            raise ImportFailed(f"{quoted(' '.join(invocation.argv))} took more than {invocation.timeout_s:g} seconds")
        texts = ["".join(each.texts()) for each in (outcome.stdout, outcome.stderr)]
        # Git and others answer on the error stream.
        return next((each for each in texts if each.strip() and _is_text(each)), "")
    finally:
        outcome.close()
