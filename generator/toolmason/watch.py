"""Run a function again after each change of an input file, until Ctrl-C."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from watchfiles import Change, watch

from toolmason.manifest.include import includes, read_files
from toolmason.project import Project
from toolmason.write.cache import input_keys, named_files

_DEBOUNCE_MS = 400
"""Maximum time in which the changes of one save are collected."""
_STEP_MS = 20
"""Time without a change after which a save is complete."""
_POLL_MS = 250
"""Interval at which the watcher yields. The first time confirms that it is listening."""
_UNFINISHED_S: Final = 0.1
"""Time for an editor that has emptied or removed a file to write it."""
_MAX_COMPARED_BYTES: Final = 1_000_000
_TEMPORARY_SUFFIXES: Final = ("~", ".pyc", "___jb_tmp___", "___jb_old___")
_TEMPORARY_PREFIXES: Final = (".", "#")
_INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM)
_IGNORED_DIRECTORIES = frozenset({"__pycache__", "node_modules", "venv"})


def is_input(path: Path, project: Project) -> bool:
    """Return whether generation depends on `path`: a file of the manifest, one of its schemas, a template or a handler.

    All other files are ignored, so that output (`generated/`, logs) does not start a run; so are hidden files, backups
    and temporary files of editors, compiled files and installed packages.
    """
    if path == project.manifest:
        return True
    if not path.is_relative_to(project.root):
        return False
    parts = path.relative_to(project.root).parts
    if any(part in _IGNORED_DIRECTORIES or part.startswith(_TEMPORARY_PREFIXES) for part in parts):
        return False
    if path.name.endswith(_TEMPORARY_SUFFIXES):
        return False
    directories = (project.template_directory, project.root / "handlers")
    return any(path.is_relative_to(directory) for directory in directories) or _is_part_of_manifest(path, project)


def _is_part_of_manifest(path: Path, project: Project) -> bool:
    """Return whether the manifest includes `path` or names it as an input file.

    A TOML file may have been deleted, so the patterns decide. Such files of an invalid manifest are ignored, since its
    fix starts a run.
    """
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        keys = input_keys()
        for file, text in read_files(project.manifest, project.root):
            if file == project.manifest and path.suffix == ".toml" and includes(project.manifest, text, path):
                return True
            if any(
                path == Path(os.path.normpath(project.root / name)) for name in named_files(text, project.root, keys)
            ):
                return True
    return False


class _Saves:
    """The states of saved files. In one save, editors change a file several times, or rename a temporary file."""

    def __init__(self) -> None:
        self._states: dict[str, object] = {}

    def is_new(self, batch: Iterable[tuple[Change, str]]) -> bool:
        """Return whether any file of the batch has a new state. Further changes of the same save give False."""
        changes: dict[str, set[Change]] = {}
        for change, name in batch:
            changes.setdefault(name, set()).add(change)
        if not all(_has_content(name) for name in changes):
            time.sleep(_UNFINISHED_S)
        states = {
            name: _state(name)
            for name, kinds in changes.items()
            if not {Change.added, Change.deleted} <= kinds or name in self._states or os.path.lexists(name)
        }
        new = {name: state for name, state in states.items() if name not in self._states or self._states[name] != state}
        self._states.update(new)
        return bool(new)


def _has_content(name: str) -> bool:
    with suppress(OSError):
        return os.path.getsize(name) > 0  # noqa: PTH202 - a name of the watcher
    return False


def _state(name: str) -> object:
    """Return a value that is equal only for the same content, saved at the same time; None for a missing file."""
    path = Path(name)
    with suppress(OSError):
        status = path.stat()
        if not path.is_file() or status.st_size > _MAX_COMPARED_BYTES:
            return object()
        # The time detects a restored earlier text; the hash detects two saves in one tick of a coarse clock.
        return status.st_mtime_ns, sha256(path.read_bytes()).digest()
    return None


def run_on_changes(
    project: Project,
    work: Callable[[], object],
    *,
    ready: Callable[[], None],
    idle: Callable[[], None] = lambda: None,
) -> None:
    """Run `work` now and after each change until Ctrl-C, which may also interrupt `work`.

    Watching starts before the first run, so no edit is missed, and covers the whole project, so that directories may
    appear and disappear. An exception of `work` ends the watch. `ready` is called once, after the first run, and
    `idle` several times a second while nothing changes.
    """

    def is_relevant(_change: Change, name: str) -> bool:
        return is_input(Path(name), project)

    changes = watch(
        project.root,
        watch_filter=is_relevant,
        debounce=_DEBOUNCE_MS,
        step=_STEP_MS,
        rust_timeout=_POLL_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    saves = _Saves()
    try:
        next(changes)
        work()
        ready()
        for batch in changes:
            if batch and saves.is_new(batch):
                work()
                _collect_garbage()  # Only here: commands reduce garbage collection.
            elif not batch:
                idle()
    except KeyboardInterrupt:
        return


def _collect_garbage() -> None:
    """Collect garbage; an interrupt takes effect afterwards. Python ignores an exception that a finalizer raises."""
    if threading.current_thread() is not threading.main_thread():  # Only the main thread is interrupted.
        gc.collect()
        return
    received: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _frame: received.append(number)) for number in _INTERRUPTS}
    try:
        gc.collect()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])
