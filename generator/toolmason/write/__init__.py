"""Write: bring a folder to what was rendered, in one step, and never over somebody's work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from toolmason.model.checksum import State, is_signable, verify
from toolmason.model.rendered_file import RenderedFile
from toolmason.write.changes import Change, ChangeKind, Changes
from toolmason.write.compare import Part, compare, everything
from toolmason.write.journal import Disk, LocalDisk, Operation, WriteFailed, apply, foresee, is_staged, repair
from toolmason.write.snapshot import DiskFailure, MisplacedFolder, ReadFailed, require_real, take_snapshot

__all__ = ["DiskFailure", "EditedFiles", "LockHeld", "MisplacedFolder", "ReadFailed", "WriteFailed", "check", "write"]

LOCK = ".toolmason.lock"
"""The one file that is written beside the generated folder."""

LOCK_TIMEOUT_S = 30.0
"""Seconds a run waits for another one to finish writing, which takes a small part of that."""
_LOCAL_DISK = LocalDisk()


class EditedFiles(Exception):  # noqa: N818 - says what is the case
    """Files would be lost: edited ones, or those of others in the place of ours. Nothing was written.

    `changes` has everything that differs, `changes.refused` what stopped the run, each with its diff.
    """

    def __init__(self, changes: Changes) -> None:
        super().__init__(", ".join(str(change.path) for change in changes.refused))
        self.changes = changes


class LockHeld(Exception):  # noqa: N818 - says what is the case
    """Another run is writing the same folder, and was not done when the wait was over. Nothing was written."""

    def __init__(self, lock: Path, waited_s: float) -> None:
        super().__init__(f"{lock} is held by another run, after {waited_s:g} s of waiting")
        self.lock = lock
        self.waited_s = waited_s


def write(
    files: Iterable[RenderedFile],
    folder: Path,
    *,
    discard_edits: bool = False,
    part: Part = everything,
    disk: Disk = _LOCAL_DISK,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
) -> Changes:
    """Bring `folder` to `files` and say how it differed before.

    Files of ours that are no longer rendered are removed, equal ones are not touched, those of others are left
    alone. With `discard_edits`, edited files are overwritten or removed too, and so are files and links of others
    in the place of ours; a folder with other files in such a place still is refused. Only paths in `part` are
    looked at. What an interrupted run has left is settled first.

    Raises:
        EditedFiles: something would be lost. The folder is as it was, after settling.
        LockHeld: another run is writing the folder.
        WriteFailed: the disk refused. The folder is as it was.
        ReadFailed: the folder cannot be read.
        MisplacedFolder: the folder is a link, or the lock is not a regular file.
    """
    rendered = tuple(files)
    folder = folder.parent.resolve() / folder.name
    # While another run is at work, files may vanish under this look: then the lock decides.
    with suppress(DiskFailure):
        changes = check(rendered, folder, part=part)
        if changes.is_clean and not is_staged(folder):
            return changes
    with _locked(folder, lock_timeout_s):
        was_interrupted = repair(folder, disk)
        changes = Changes(compare(rendered, take_snapshot(folder), part), was_interrupted)
        if any(change.fixed or not discard_edits for change in changes.refused):
            raise EditedFiles(changes)
        operations = _operations(changes)
        if operations:
            apply(operations, folder, disk)
        return changes


def check(files: Iterable[RenderedFile], folder: Path, *, part: Part = everything) -> Changes:
    """Say what `write` would find: the same files under the same kinds. Only paths in `part` are looked at.

    If a run was interrupted while it wrote, its work is seen as finished, as the next run will do first.

    Raises:
        DiskFailure: the folder cannot be read.
        MisplacedFolder: it is a link.
    """
    require_real(folder)
    snapshot = take_snapshot(folder.resolve())
    is_interrupted = foresee(snapshot)
    return Changes(compare(files, snapshot, part), is_interrupted)


def _operations(changes: Changes) -> Sequence[Operation]:
    return [
        Operation(change.path.as_posix(), change.found, _checked(change))
        for change in changes.all
        if change.kind is not ChangeKind.FOREIGN
    ]


def _checked(change: Change) -> bytes | None:
    """Give the content to write, which must be signed: the next run would take it for somebody else's."""
    wanted = change.wanted
    if wanted is not None and is_signable(change.path) and verify(change.path, wanted) is not State.VALID:
        raise ValueError(f"{change.path} was rendered without a signature")
    return wanted


@contextmanager
def _locked(folder: Path, timeout_s: float) -> Iterator[None]:
    """Keep other runs from writing `folder`.

    The lock file is beside the folder, so that it is not in the way when the folder is deleted. The system gives the
    lock back when a process ends, however it ends.
    """
    # A run that changes nothing needs no lock, and should not pay for the import.
    from filelock import FileLock, Timeout

    path = folder.parent / LOCK
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise MisplacedFolder(path, "it is not a regular file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=timeout_s)
        lock.acquire()
    except Timeout as error:
        raise LockHeld(path, timeout_s) from error
    except OSError as error:
        raise WriteFailed(Path(error.filename or path), error.strerror or str(error)) from error
    try:
        yield
    finally:
        lock.release()
