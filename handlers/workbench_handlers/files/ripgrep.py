"""ripgrep as a finder of lines: it says where, and nothing it prints is shown.

What is shown is read again through `roots`, so a file that is swapped under its feet gives nothing away.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Final

import anyio
from toolmason_runtime.programs import Capture, Execution, Process

from workbench_handlers.workspace.ignore import ALWAYS_IGNORED
from workbench_handlers.workspace.worker import bare_environment

MAX_SEARCHED_BYTES: Final = 10_000_000
"""Larger files are not searched."""

_MAX_RECORD_LENGTH: Final = 1_000_000
_WHERE: Final = (
    "--no-config",
    "--null",
    "--crlf",
    "--sort=path",
    "--color=never",
    f"--max-filesize={MAX_SEARCHED_BYTES}",
    "--hidden",
    "--no-follow",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-parent",
    *(f"--glob=!{name}" for name in sorted(ALWAYS_IGNORED)),
)
# A line is not printed, however long it is; and no file is called binary here, since its reader decides that.
_LINES: Final = (
    "--no-heading",
    "--with-filename",
    "--line-number",
    "--column",
    "--max-columns=1",
    "--no-max-columns-preview",
    "--text",
)
_NO_UTF8: Final = ("--files-with-matches", "--invert-match", "--line-regexp", "--", "(?s:.)*")
"""Files with a line that is not characters from end to end."""

Parts = tuple[str, ...]
"""A path from the folder of a search."""


class PatternRefusedError(Exception):
    """ripgrep does not take the pattern, or did not live to the end; Python may."""


async def lines_found(
    program: str, folder: Path, target: str, pattern: str, *, ignore_case: bool, most: int
) -> AsyncGenerator[tuple[Parts, list[tuple[int, int]]], None]:
    """Give the files below `folder`/`target` with the first match in each of their first `most` matching lines.

    A match is a 1-based line, and a 1-based byte of it as UTF-8.

    Raises:
        PatternRefusedError: the pattern is no Rust regular expression, or too large a one.
    """
    case = "--ignore-case" if ignore_case else "--case-sensitive"
    arguments = [*_LINES, f"--max-count={most}", case, "--", pattern]
    async with _running(program, folder, target, arguments) as output, aclosing(_matches(output)) as matches:
        parts: Parts = ()
        places: list[tuple[int, int]] = []
        async for where, place in matches:
            if places and where != parts:
                yield parts, places
                places = []
            parts = where
            places.append(place)
        if places:
            yield parts, places


async def not_utf8(program: str, folder: Path) -> AsyncGenerator[Parts, None]:
    """Give the files below `folder` that are not UTF-8 throughout. ripgrep finds nothing beyond ASCII in them."""
    async with _running(program, folder, "", _NO_UTF8) as output:
        while path := await _record(output, b"\0"):
            yield _parts(path)


@asynccontextmanager
async def _running(
    program: str, folder: Path, target: str, arguments: Sequence[str]
) -> AsyncGenerator[asyncio.StreamReader, None]:
    execution = Execution(
        argv=(program, *_WHERE, *arguments, f"./{target}"), executable=program, cwd=str(folder), env=bare_environment()
    )
    output, complaints = asyncio.StreamReader(_MAX_RECORD_LENGTH), Capture(most_in_memory=10_000, most_in_file=0)
    process = Process(output, complaints.feed)
    try:
        await process.start(execution)
        yield output
        await process.finished()
        if process.exit_code not in {0, 1} and not (process.exit_code == 2 and _are_about_files(complaints)):
            raise PatternRefusedError
    finally:
        with anyio.CancelScope(shield=True):
            await process.end(at_once=True)


async def _matches(output: asyncio.StreamReader) -> AsyncGenerator[tuple[Parts, tuple[int, int]], None]:
    """Read `PATH NUL LINE:COLUMN:...` to the end."""
    while path := await _record(output, b"\0"):
        line, column, _ = (await _record(output, b"\n")).split(b":", 2)
        yield _parts(path), (int(line), int(column))


async def _record(output: asyncio.StreamReader, ending: bytes) -> bytes:
    """Read up to `ending`; empty at the end, also if the last record lacks its ending."""
    try:
        return (await output.readuntil(ending))[: -len(ending)]
    except asyncio.IncompleteReadError:
        return b""


def _parts(path: bytes) -> Parts:
    return Path(os.fsdecode(path)).parts


def _are_about_files(complaints: Capture) -> bool:
    """Return whether all whole lines are about files: every path that ripgrep names begins with `./`, like ours."""
    text = "".join(complaints.texts())
    lines = text[: text.rfind("\n") + 1].splitlines()
    return bool(lines) and all(line.removeprefix("rg: ").startswith("./") for line in lines)
