"""Review in the user's editor: a graphical one beside a server, or `$EDITOR` in a terminal. Neither uses a shell.

The person saves to answer: a saved file with the proposed text approves, one with another text is an edit, and a file
that was not saved decides nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolmason_runtime.programs import SearchPath

from workbench_handlers.editing.reviews.settle import decide_and_settle
from workbench_handlers.editing.reviews.store import Decision, Review, ReviewStore

EDITOR_VARIABLE: Final = "WORKBENCH_EDITOR"
"""Environment variable with the command of a graphical editor; if set, it opens beside a question."""
GRACE_S: Final = 1.0
"""Seconds from SIGTERM to SIGKILL."""

_DEFAULT: Final = "code --wait --diff"
_DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "VSCODE_IPC_HOOK_CLI")
"""Variables of a session in which `code` can open a window; the last one is that of a remote session of VS Code."""
_BATCH_FILES: Final = (".bat", ".cmd")
"""cmd.exe runs them and would execute parts of a file's name. For VS Code on Windows, set the path of `Code.exe`."""
_SIDE: Final = re.compile(r"\{(old|new)\}")

_log = logging.getLogger(__name__)

Stamp = tuple[int, int]


def find_editor(environ: Mapping[str, str], projects: Iterable[Path]) -> tuple[str, ...] | None:
    """Return the command of the graphical editor with `{old}` and `{new}` in it; None if there is none.

    `$WORKBENCH_EDITOR` is the command; without it, `code` is used if the session has a display. Programs in a
    directory of `projects` are not used.
    """
    setting = environ.get(EDITOR_VARIABLE, "").strip()
    if not setting and not _has_display(environ):
        return None
    words = split_command(setting or _DEFAULT)
    program = SearchPath.of(environ, projects).find(words[0]) if words else None
    if program is None or Path(program).suffix.lower() in _BATCH_FILES:
        if setting:
            _log.warning(
                "$%s is not used: it must name a program outside of the projects, not a batch file", EDITOR_VARIABLE
            )
        return None
    if not any(_SIDE.search(word) for word in words):
        words += ["{old}", "{new}"]
    return (program, *words[1:])


def split_command(text: str) -> list[str]:
    """Return the words of a command line without a shell; empty if a quote is not closed."""
    try:
        words = shlex.split(text, posix=os.name != "nt")
    except ValueError:
        return []
    return [word.strip('"') for word in words] if os.name == "nt" else words


def file_stamp(path: Path) -> Stamp | None:
    """Return a value that changes when the file is saved; None for a missing file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino


async def review_in_editor(store: ReviewStore, review: Review, command: tuple[str, ...]) -> None:
    """Run the editor to its end, for one file after another, then decide by the saved files.

    An editor that fails, or does not save a file, decides nothing. Cancellation ends the editor and its children.
    """
    texts: dict[int, bytes | None] = {}
    for index in range(len(review.files)):
        saved = await _saved(store, review, index, command)
        if saved is None:
            return
        texts[index] = saved
    await asyncio.to_thread(_decide, store, review, texts)


async def _saved(store: ReviewStore, review: Review, index: int, command: tuple[str, ...]) -> bytes | None:
    """Return the bytes of a file that the person saved; None if it was not saved, or the editor failed."""
    new = store.editor_file(review, index)
    with tempfile.TemporaryDirectory(prefix="review-", ignore_cleanup_errors=True) as directory:
        old = _write_current(Path(directory), new.name, store.original(review, index) or b"")
        before = file_stamp(new)
        sides = {"old": str(old), "new": str(new)}
        code = await _run([_SIDE.sub(lambda match: sides[match[1]], word) for word in command])
    if code != 0:
        _log.warning("the editor of review %s ended with exit code %s: nothing was decided", review.id, code)
        return None
    after = file_stamp(new)
    return new.read_bytes() if after is not None and after != before else None


def _write_current(directory: Path, name: str, data: bytes) -> Path:
    """Write the read-only copy of the file. VS Code shows the name of its directory, `current`, in the tab."""
    path = directory / "current" / name
    path.parent.mkdir()
    path.write_bytes(data)
    path.chmod(0o400)
    return path


def _decide(store: ReviewStore, review: Review, texts: Mapping[int, bytes | None]) -> None:
    decide_and_settle(store, review, Decision("edit", "editor", texts=texts))  # without an edit, it is an approval


async def _run(command: Sequence[str]) -> int | None:
    try:
        # The streams of a server belong to its client.
        process = await asyncio.create_subprocess_exec(
            *command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
        )
    except OSError as error:
        _log.warning("the editor could not be started: %s", error.strerror)
        return None
    try:
        return await process.wait()
    except asyncio.CancelledError:
        await _end(process)
        raise


async def _end(process: Process) -> None:
    """End the process group of the editor."""
    _signal(process, "SIGTERM")
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE_S)
    _signal(process, "SIGKILL")
    await process.wait()


def _signal(process: Process, name: str) -> None:
    if sys.platform == "win32":
        program = Path(os.environ["SYSTEMROOT"], "System32", "taskkill.exe")
        subprocess.run([program, "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)  # noqa: S603
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.Signals[name])


def _has_display(environ: Mapping[str, str]) -> bool:
    if sys.platform in {"win32", "darwin"}:
        return "SSH_CONNECTION" not in environ
    return any(environ.get(name) for name in _DISPLAYS)
