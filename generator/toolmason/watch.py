"""Run a function again after each change of an input file, until Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from watchfiles import Change, watch

from toolmason.manifest.include import includes, read_files
from toolmason.project import Project
from toolmason.write.cache import input_keys, named_files

_DEBOUNCE_MS = 400
"""Maximum time in which the changes of one save are collected."""
_POLL_MS = 250
"""Interval at which the watcher yields. The first time confirms that it is listening."""
_IGNORED_DIRECTORIES = frozenset({"__pycache__", "node_modules", "venv"})


def is_input(path: Path, project: Project) -> bool:
    """Return whether generation depends on `path`: a file of the manifest, one of its schemas, a template or a handler.

    All other files are ignored, so that output (`generated/`, logs) does not start a run; so are hidden files, backups,
    compiled files and installed packages.
    """
    if path == project.manifest:
        return True
    if not path.is_relative_to(project.root):
        return False
    parts = path.relative_to(project.root).parts
    if any(part in _IGNORED_DIRECTORIES or part.startswith(".") for part in parts) or path.name.endswith(("~", ".pyc")):
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
        rust_timeout=_POLL_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    )
    try:
        next(changes)
        work()
        ready()
        for batch in changes:
            (work if batch else idle)()
    except KeyboardInterrupt:
        return
