"""Write files of a call after one approval. Existing files stay unless the call replaces them.

A model chooses paths inside the allowed directories. An absolute directory of the server's environment is allowed, too.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Final

from toolmason_runtime import ToolCall, ToolError
from toolmason_runtime.programs import approve_handler, escape_invisible

from workbench_handlers.editing.state import EditingState
from workbench_handlers.workspace.roots import Located, Root, locate
from workbench_handlers.workspace.write import locate_for_writing, read_for_editing, replace_file

CREATED: Final = "created"
EXISTS: Final = "skipped (already exists)"


@dataclass(slots=True)
class PlannedFile:
    """A file to write. `outcome` is empty until it is written, skipped or failed."""

    shown: str
    """The path in results."""
    text: str
    located: Located | None = None
    current: bytes | None = None
    outcome: str = ""


def project_directory(output_dir: str | None, roots: Sequence[Root]) -> Path:
    """Return the directory that files are written in: an allowed one, which may be missing.

    Raises:
        ToolError: it is outside of the allowed directories.
    """
    return locate(output_dir, roots).path if output_dir else roots[0].path


def with_owner_directory(roots: Sequence[Root], directory: str) -> tuple[Root, ...]:
    """Return the allowed directories and `directory`, which the server's owner chose, if it is absolute."""
    return (*roots, Root.of(directory, "the environment")) if PurePath(directory).is_absolute() else tuple(roots)


def plan_file(
    call: ToolCall, base: Path, path: str, text: str, roots: Sequence[Root], *, overwrite: bool
) -> PlannedFile:
    """Return a file that is ready to be written at `path`, relative to `base`. It blocks.

    Files that are refused, and existing ones without `overwrite`, have an outcome.
    """
    planned = PlannedFile(PurePath(path).as_posix(), text)
    try:
        planned.located = locate_for_writing(os.path.join(base, path), roots)  # noqa: PTH118  keeps `..`
        call.state(EditingState).store.check_apart(planned.located)
        planned.current = read_for_editing(planned.located)
    except ToolError as error:
        planned.outcome = f"failed: {error.message}"
    else:
        if planned.current is not None and not overwrite:
            planned.outcome = EXISTS
    return planned


async def write_files(call: ToolCall, files: Sequence[PlannedFile], *, show_text: bool) -> None:
    """Request approval of the files without an outcome, and write them. Each gets its own outcome.

    Args:
        call: the call of the tool.
        files: planned files.
        show_text: whether the user sees the texts; false if they are packaged with the server.

    Raises:
        ToolError: the user did not approve.
    """
    pending = [file for file in files if file.located and not file.outcome]
    if pending:
        await _approve(call, pending, show_text=show_text)
        for file in pending:
            file.outcome = await asyncio.to_thread(_write, file)


async def write_file(call: ToolCall, file: PlannedFile, advice: str) -> None:
    """Write one file.

    Raises:
        ToolError: it exists (`advice` is the way out), cannot be written, or was not approved.
    """
    await write_files(call, [file], show_text=True)
    if file.outcome == EXISTS:
        raise ToolError(f"`{file.shown}` exists; nothing was written: {advice}", code="EXISTS")
    if file.outcome != CREATED:
        raise ToolError(f"nothing was written: {file.outcome.removeprefix('failed: ')}", code="CANNOT_WRITE")


def _write(file: PlannedFile) -> str:
    if file.located is None:
        raise ValueError("a file without a place")
    try:
        # Only a directory from an environment variable can be missing.
        file.located.root.path.mkdir(parents=True, exist_ok=True)
        replace_file(file.located, file.text.encode(), expected=file.current)
    except ToolError as error:
        return f"failed: {error.message}"
    except OSError as error:
        return f"failed: cannot create `{file.located.root.path}`: {error.strerror}"
    return CREATED


async def _approve(call: ToolCall, files: Sequence[PlannedFile], *, show_text: bool) -> None:
    paths = [str(file.located.path) for file in files if file.located]
    lines = [
        f'{"Create" if file.current is None else "Replace"} "{escape_invisible(path, keep="")}"'
        for file, path in zip(files, paths, strict=True)
    ]
    texts = [file.text for file in files] if show_text else ["The content is packaged with the server."]
    bases = [None if file.current is None else hashlib.sha256(file.current).hexdigest() for file in files]
    effect = [paths, bases, [file.text for file in files]]
    digest = hashlib.sha256(json.dumps(effect).encode()).hexdigest()[:32]
    heading = "Write this file?" if len(files) == 1 else f"Write these {len(files)} files?"
    question = "\n".join([heading, "", *lines, "", *texts])
    await approve_handler(call, tool=call.tool, question=question, key=f"{call.tool}-{digest}")
