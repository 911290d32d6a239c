"""Folders for one run of a program: with links to credentials in them, and gone afterwards, whatever happens.

A server that is killed removes nothing. So each folder is locked by the process that made it, for as long as that
lives, and the next server that makes one removes those that nobody holds.
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
OLDEST_UNLOCKED_S: Final = 60.0
"""Seconds within which a folder that nobody has locked may still be about to be: it is not there and locked at once."""

_swept: set[str] = set()
_sweeping = Lock()


@contextmanager
def private_folder() -> Iterator[str]:
    """Make a folder that only this user can read, and remove it with all that is in it in the end.

    The first time, it removes what servers have left that were killed. It works on files: call it in a thread.
    """
    place = tempfile.gettempdir()
    with _sweeping:
        is_first = place not in _swept
        _swept.add(place)
    if is_first:
        sweep(Path(place))
    folder = tempfile.mkdtemp(prefix=PREFIX)
    held = _locked(folder)
    try:
        yield folder
    finally:
        # First of all, as nobody may take it for one that was left while it is being removed.
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def sweep(place: Path) -> list[Path]:
    """Remove the folders in `place` that dead servers of this user have left, and give them."""
    if sys.platform == "win32":
        return []  # folders cannot be locked
    removed = []
    for folder in place.glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            if found.st_uid != os.getuid() or time.time() - found.st_mtime < OLDEST_UNLOCKED_S:
                continue
            held = _locked(str(folder))
            if held is None:
                continue
            try:
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(held)
            removed.append(folder)
    return removed


def _locked(folder: str) -> int | None:
    """Lock a folder until what is given is closed, or this process ends; None if somebody else has, or it is none."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        # What is started does not inherit it.
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held
