"""ripgrep as a finder of lines: it says where, and nothing it prints is shown.

What is shown is read again through `roots`, so a file that is swapped under its feet gives nothing away.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE, Process
from base64 import b64decode
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

from workbench.ignoring import ALWAYS_IGNORED
from workbench.worker import bare_environment, end

MOST_SEARCHED_BYTES: Final = 10_000_000
"""Larger files are not searched."""

_LONGEST_EVENT: Final = 8 * MOST_SEARCHED_BYTES
_FLAGS: Final = (
    "--json",
    "--no-config",
    "--crlf",
    "--sort=path",
    f"--max-filesize={MOST_SEARCHED_BYTES}",
    "--hidden",
    "--no-follow",
    "--no-require-git",
    "--no-ignore-global",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-parent",
    *(f"--glob=!{name}" for name in sorted(ALWAYS_IGNORED)),
)


class PatternRefusedError(Exception):
    """ripgrep does not take the pattern; Python may."""


async def lines_found(
    program: str, folder: Path, target: str, pattern: str, *, ignore_case: bool
) -> AsyncGenerator[tuple[tuple[str, ...], list[int]], None]:
    """Give the files below `folder`/`target`, as path parts from `folder`, with their matching 1-based lines.

    Raises:
        PatternRefusedError: the pattern is no Rust regular expression.
    """
    case = ["--ignore-case"] if ignore_case else ["--case-sensitive"]
    process = await asyncio.create_subprocess_exec(
        program,
        *_FLAGS,
        *case,
        "--",
        pattern,
        f"./{target}",
        cwd=folder,
        env=bare_environment(),
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
        limit=_LONGEST_EVENT,
    )
    complaints = asyncio.ensure_future(_complaints(process))
    try:
        async with aclosing(_files(process)) as files:
            async for found in files:
                yield found
        if await process.wait() == 2 and "error:" in await complaints:
            raise PatternRefusedError
    finally:
        await end(process)
        complaints.cancel()


async def _files(process: Process) -> AsyncGenerator[tuple[tuple[str, ...], list[int]], None]:
    if process.stdout is None:
        return
    lines: list[int] = []
    async for raw in process.stdout:
        event = json.loads(raw)
        match event["type"]:
            case "begin":
                lines = []
            case "match":
                lines.append(event["data"]["line_number"])
            case "end" if lines:
                yield _parts(event["data"]["path"]), lines
            case _:
                pass


def _parts(path: dict[str, Any]) -> tuple[str, ...]:
    text = path["text"] if "text" in path else b64decode(path["bytes"]).decode("utf-8", errors="surrogateescape")
    return Path(text).parts


async def _complaints(process: Process) -> str:
    """Give the first lines of what ripgrep complains of, and drop the rest."""
    if process.stderr is None:
        return ""
    kept = await process.stderr.read(10_000)
    while await process.stderr.read(65_536):
        pass
    return kept.decode("utf-8", errors="replace")
