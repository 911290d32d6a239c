"""Record a clean run: one that has compared all contents and found nothing to write or to report.

`shortcuts.clean_run` reads the record, and compares the state of all paths in it. The record contains each file that a
run reads and each directory that it lists: adding a file changes its directory.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from toolmason_runtime.shared.entry_points import metadata_directories

from toolmason.model.parts import SKIPPED_NAMES, STAGING
from toolmason.project import MANIFESTS, Project, ProjectError, find_project
from toolmason.shortcuts.clean_run import ABSENT, END, UNREADABLE, clean_run_path, file_state, is_supported, run_key
from toolmason.write import cache
from toolmason.write.user_cache import read_cached, remove_old, write_cached

STARTED_NS: Final = time.time_ns()
"""Start of this process. A file that changed later may differ from the content that the run has read."""
CLOCK_NS: Final = 2_000_000_000
"""Coarsest precision of file times: 2 s on FAT. Two changes within it can leave the same times."""


class _UnsuitableError(Exception):
    """The state of files does not show whether they have changed."""


def store_clean_run(project: Project, text: str) -> None:
    """Record the output of a clean run. Without a record, the next run compares all contents."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, ProjectError, _UnsuitableError):
        if not is_supported() or find_project(Path.cwd()) != project:
            return
        run = cache.record_path(project)
        key = run_key()
        path = clean_run_path(key)
        if run is None or not path:
            return
        recorded = json.loads(read_cached(run))
        names = (os.fsencode(path) or b"." for path in _paths(project, recorded["keys"]))
        entries = dict.fromkeys(map(_entry, names))  # stops at the first file that has changed just now
        _require_change_times(entries)
        # Differs if another version of the toolkit recorded the keys.
        if recorded["inputs"] == cache.fingerprint(project, recorded["keys"]):
            write_cached(Path(path), b"\0".join([key, text.encode(), *entries, END]))
            remove_old(Path(path).parent, "clean-")


def _require_change_times(entries: Iterable[bytes]) -> None:
    """Refuse file systems without a change time of their own, such as FAT and sshfs: they report the time of a program.

    Others have files with two different times: those that `generate` has renamed, or that pip has unpacked.
    """
    states = [entry.partition(b" ")[0].split(b":") for entry in entries if not entry.startswith(ABSENT)]
    if {device for device, *_ in states} != {device for device, *_, modified, changed in states if modified != changed}:
        raise _UnsuitableError


def _entry(name: bytes) -> bytes:
    state = file_state(name)
    _, *times = state.rsplit(b":", 2)
    if state == UNREADABLE or any(int(time_ns) >= STARTED_NS - CLOCK_NS for time_ns in times):
        raise _UnsuitableError
    return state + b" " + name


def _paths(project: Project, keys: dict[str, list[str]]) -> Iterator[Path | str]:
    """Yield all paths on which a run depends, those that most runs change first. Some do not exist."""
    yield from _tree(project.generated, SKIPPED_NAMES)
    here = Path.cwd()
    for directory in (here, *here.parents):
        yield directory / MANIFESTS  # A nearer `manifest/` belongs to another project.
        if directory == project.root:
            break
    for directory in (project.manifest.parent, project.handler_directory, project.template_directory):
        yield from _tree(directory)
    yield from cache.input_files(project, keys)
    yield project.root / STAGING
    for place in cache.toolkit_places(cache.kind_packages()):
        yield from _tree(place)
    yield from sys.path
    for distribution in metadata_directories():
        yield distribution
        yield distribution / "entry_points.txt"


def _tree(top: Path, skipped: frozenset[str] = frozenset({"__pycache__"})) -> Iterator[Path | str]:
    """Yield a path and, if it is a directory, all paths below it."""
    yield top
    count = 0
    for directory, directories, files in os.walk(top, onerror=_raise):
        directories[:] = [name for name in directories if name not in skipped]
        count += len(directories) + len(files)
        for name in (*directories, *files):
            yield os.path.join(directory, name)  # noqa: PTH118 - a name
        # The walk does not follow links to directories, but a run may.
        has_link = any(os.path.islink(os.path.join(directory, name)) for name in directories)  # noqa: PTH114, PTH118
        if has_link or count > cache.MAX_HASHED_ENTRIES:
            raise _UnsuitableError


def _raise(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
