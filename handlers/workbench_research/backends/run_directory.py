"""A private directory for one run of a program, with links to credentials, deleted afterwards.

A killed server deletes nothing. So each directory is locked by its process, and the next server deletes the directories
without a lock.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Final

PREFIX: Final = "workbench-run-"
MIN_STALE_AGE_S: Final = 60.0
"""Seconds after which a directory without a lock is stale; a new one is not locked at once."""

_cleaned: set[str] = set()
_cleaning = Lock()


@contextmanager
def run_directory() -> Iterator[str]:
    """Create a directory that only this user can read; delete it at the end.

    The first call deletes the directories of killed servers. It blocks: call it in a thread.
    """
    parent = tempfile.gettempdir()
    with _cleaning:
        is_first = parent not in _cleaned
        _cleaned.add(parent)
    if is_first:
        remove_stale(Path(parent))
    directory = tempfile.mkdtemp(prefix=PREFIX)
    lock = _lock(directory)
    try:
        yield directory
    finally:
        # Deleted before it is unlocked, so that no other server deletes it at the same time.
        shutil.rmtree(directory, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_stale(parent: Path) -> list[Path]:
    """Delete the directories in `parent` that killed servers of this user left, and return them."""
    if sys.platform == "win32":
        return []  # directories cannot be locked there
    removed = []
    for directory in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            status = directory.lstat()
            if status.st_uid != os.getuid() or time.time() - status.st_mtime < MIN_STALE_AGE_S:
                continue
            lock = _lock(str(directory))
            if lock is None:
                continue
            try:
                shutil.rmtree(directory, ignore_errors=True)
            finally:
                os.close(lock)
            removed.append(directory)
    return removed


def _lock(directory: str) -> int | None:
    """Lock a directory until the returned descriptor is closed or this process ends; None if that fails."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        # Child processes do not inherit the descriptor.
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
