"""Run a piece of work again whenever a file it depends on changes, until Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from watchfiles import DefaultFilter, watch

from toolwright.project import Project

_DEBOUNCE_MS = 400
"""Longest time over which the changes of one save are collected."""
_POLL_MS = 250
"""How often the watcher comes up for air. The first time tells that it is listening."""


def watched(project: Project) -> tuple[Path, ...]:
    """List the folders generation depends on: those of the manifest, the templates and the handlers."""
    folders = (project.manifest.parent, project.override_folder, project.root / "handlers")
    return tuple(folder for folder in folders if folder.is_dir())


def run_on_changes(project: Project, work: Callable[[], object], *, ready: Callable[[Sequence[Path]], None]) -> None:
    """Do `work` now and after each change. Returns on Ctrl-C, also when that falls into the work.

    Listening begins before the first run, so no edit is missed. `work` reports its own failures: an exception of
    its ends the watch. `ready` is called once, after the first run, with the watched folders.
    """
    folders = watched(project)
    changes = watch(
        *folders,
        watch_filter=DefaultFilter(ignore_paths=[project.generated]),
        debounce=_DEBOUNCE_MS,
        rust_timeout=_POLL_MS,
        yield_on_timeout=True,
    )
    try:
        next(changes)
        work()
        ready(folders)
        for batch in changes:
            if batch:
                work()
    except KeyboardInterrupt:
        return
