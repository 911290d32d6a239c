"""Write: make a directory equal to the rendered files in one step, without losing edits. Check: compare only."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from toolmason_runtime.shared.checksum import State, is_signable, verify

from toolmason.model.rendered_file import RenderedFile
from toolmason.write.changes import Change, ChangeKind, Changes
from toolmason.write.compare import PathFilter, accept_all, compare
from toolmason.write.journal import (
    Disk,
    Operation,
    WriteError,
    apply_changes,
    has_staging,
    preview_recovery,
    recover,
)
from toolmason.write.snapshot import (
    FileSystemError,
    MisplacedDirectoryError,
    ReadError,
    check_directory,
    is_unchanged,
    locate,
    take_snapshot,
)

__all__ = [
    "EditedFilesError",
    "FileSystemError",
    "LockTimeoutError",
    "MisplacedDirectoryError",
    "ReadError",
    "WriteError",
    "check",
    "lock",
    "write",
]

LOCK: Final = ".toolmason.lock"
"""The lock file beside the generated directory."""

LOCK_TIMEOUT_S: Final = 30.0
"""Maximum seconds to wait for another run. Writing takes a small part of that."""
_LOCAL_DISK: Final = Disk()


class EditedFilesError(Exception):
    """Edited files, or files of others at rendered paths, would be lost. Nothing was written.

    `changes` has all differences, `changes.blocking` those that stopped the run.
    """

    def __init__(self, changes: Changes) -> None:
        super().__init__(", ".join(str(change.path) for change in changes.blocking))
        self.changes = changes


class LockTimeoutError(Exception):
    """Another run still holds the lock after the timeout. Nothing was written."""

    def __init__(self, lock: Path, waited_s: float) -> None:
        super().__init__(f"{lock} is held by another run, after {waited_s:g} s of waiting")
        self.lock = lock
        self.waited_s = waited_s


def write(
    files: Iterable[RenderedFile],
    directory: Path,
    *,
    discard_edits: bool = False,
    part: PathFilter = accept_all,
    disk: Disk = _LOCAL_DISK,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
) -> Changes:
    """Make `directory` equal to `files` and return the differences that it had.

    Generated files that are no longer rendered are removed; equal files and files of others are not touched. An
    interrupted run is finished first.

    Args:
        files: The rendered files.
        directory: The generated directory, which may not exist.
        discard_edits: Overwrite or remove edited files, and files and links of others at rendered paths. A directory
            with other files at such a path still stops the run.
        part: The paths to compare and write.
        disk: The file operations.
        lock_timeout_s: Maximum seconds to wait for another run.

    Raises:
        EditedFilesError: work would be lost. The directory is unchanged, apart from the interrupted run.
        LockTimeoutError: another run is writing the directory.
        WriteError: an operation failed. The directory is unchanged.
        ReadError: the directory cannot be read.
        MisplacedDirectoryError: the directory is a link, or the lock is not a regular file.
    """
    rendered = tuple(files)
    directory = directory.parent.resolve() / directory.name
    check_directory(directory)
    if not _has_other_sizes(rendered, directory, part):
        # If another run is writing, files may vanish during this comparison. Then the one under the lock decides.
        with suppress(FileSystemError):
            changes = check(rendered, directory, part=part)
            if changes.is_clean and not has_staging(directory):
                return changes
    with lock(directory.parent, lock_timeout_s):
        was_interrupted = recover(directory, disk)
        changes = Changes(compare(rendered, take_snapshot(directory), part), was_interrupted)
        if any(change.is_permanent or not discard_edits for change in changes.blocking):
            raise EditedFilesError(changes)
        if any(change.kind is not ChangeKind.FOREIGN for change in changes.all):
            apply_changes(_operations(changes), directory, disk)
        return changes


def check(files: Iterable[RenderedFile], directory: Path, *, part: PathFilter = accept_all) -> Changes:
    """Return the differences that `write` would remove. Reads only.

    The work of an interrupted run is shown as finished, as `write` finishes it first.

    Raises:
        FileSystemError: the directory cannot be read.
        MisplacedDirectoryError: the directory is a link.
    """
    check_directory(directory)
    snapshot = take_snapshot(directory.resolve())
    is_interrupted = preview_recovery(snapshot)
    return Changes(compare(files, snapshot, part), is_interrupted)


def _has_other_sizes(files: Iterable[RenderedFile], directory: Path, part: PathFilter) -> bool:
    """Return whether a file on disk is missing or has another size, so that the directory must be written."""
    for file in files:
        if not part(file.path):
            continue
        path = locate(directory, file.path.as_posix())
        if is_unchanged(path, file.disk_state):
            continue
        data = file.text.encode()
        try:
            size = path.lstat().st_size
        except OSError:
            return True
        # A checkout with CRLF line ends counts as equal.
        if size not in {len(data), len(data) + data.count(b"\n")}:
            return True
    return False


def _operations(changes: Changes) -> Iterator[Operation]:
    for change in changes.all:
        if change.kind is not ChangeKind.FOREIGN:
            yield Operation(change.path.as_posix(), change.on_disk, _signed_content(change))


def _signed_content(change: Change) -> bytes | None:
    """Return the content to write. Without a signature, the next run would take the file for a foreign one."""
    content = change.content
    if content is not None and is_signable(change.path) and verify(change.path, content) is not State.VALID:
        raise ValueError(f"{change.path} was rendered without a signature")
    return content


@contextmanager
def lock(directory: Path, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Lock the project in `directory`, so that one run at a time writes it or its generated directory.

    The operating system releases the lock when the process ends, however it ends.

    Raises:
        LockTimeoutError: another run is writing.
        FileSystemError: the lock file cannot be used.
    """
    # Imported here, since a run without changes needs no lock.
    from filelock import FileLock, Timeout

    path = directory / LOCK
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        raise MisplacedDirectoryError(path, "it is not a regular file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = FileLock(path, timeout=timeout_s)
        held.acquire()
    except Timeout as error:
        raise LockTimeoutError(path, timeout_s) from error
    except OSError as error:
        raise WriteError(Path(error.filename or path), error.strerror or str(error)) from error
    try:
        yield
    finally:
        held.release()
