"""Run a piece of work again whenever a file it depends on changes, until Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from watchfiles import Change, watch

from toolmason.project import Project
from toolmason.write.cache import named_schemas

_DEBOUNCE_MS = 400
"""Longest time over which the changes of one save are collected."""
_POLL_MS = 250
"""How often the watcher comes up for air. The first time tells that it is listening."""
_UNHEEDED = frozenset({"__pycache__", "node_modules", "venv"})


def is_input(path: Path, project: Project) -> bool:
    """Whether generation depends on `path`: the manifest, a schema it names, a template or a handler.

    Hidden files, compiled ones and installed packages are none, wherever they are. All else in the project is none
    either, so that a run cannot be started by what it writes: `generated/`, or a log of what it says.
    """
    if path == project.manifest:
        return True
    if not path.is_relative_to(project.root):
        return False
    parts = path.relative_to(project.root).parts
    if any(part in _UNHEEDED or part.startswith(".") for part in parts) or path.name.endswith(("~", ".pyc")):
        return False
    folders = (project.override_folder, project.root / "handlers")
    return any(path.is_relative_to(folder) for folder in folders) or path in _schemas(project)


def _schemas(project: Project) -> frozenset[Path]:
    """List the files that the manifest names. A broken one names none: the edit that mends it starts a run."""
    with suppress(OSError, ValueError, AttributeError, RecursionError):
        names = named_schemas(project.manifest.read_bytes())
        return frozenset(Path(os.path.normpath(project.root / name)) for name in names)
    return frozenset()


def run_on_changes(project: Project, work: Callable[[], object], *, ready: Callable[[], None]) -> None:
    """Do `work` now and after each change. Returns on Ctrl-C, also when that falls into the work.

    Listening begins before the first run, so no edit is missed, and takes in the whole project, so that folders may
    come and go. `work` reports its own failures: an exception of its ends the watch. `ready` is called once, after
    the first run.
    """

    def heeds(_change: Change, name: str) -> bool:
        return is_input(Path(name), project)

    changes = watch(
        project.root,
        watch_filter=heeds,
        debounce=_DEBOUNCE_MS,
        rust_timeout=_POLL_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    try:
        next(changes)
        work()
        ready()
        for batch in changes:
            if batch:
                work()
    except KeyboardInterrupt:
        return
