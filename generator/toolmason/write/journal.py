"""Apply many file changes atomically with a write-ahead journal, even if the process is killed.

1. Stage: write the new contents to `STAGING/new`, and hard-link the old ones to `STAGING/old`.
2. Commit: rename the finished journal to `forward.json`. Before this rename nothing has changed; after it, the next run
   finishes the changes (redo).
3. Apply each step. If one fails, the journal is renamed to `back.json` and the steps are undone; if the process is
   killed meanwhile, the next run finishes that (undo).

Invariant: a step changes a path only if its content is the old or the new one of the journal. Anything else is
someone's later work and stays.

A journal begins with a MAC that only this user can compute (`user_cache`). Other journals may have come with the
project: they are removed, not applied.
"""

from __future__ import annotations

import hmac
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from toolmason.manifest.input_files import UnsafeInputError, read_input
from toolmason.model.parts import STAGING
from toolmason.write.snapshot import MAX_FILE_BYTES, FileSystemError, ReadError, Snapshot, locate
from toolmason.write.user_cache import user_key

_ABSENT = "absent"
_UNREACHABLE = "unreachable"
"""Fingerprint of a path behind a symbolic link, or of a device. It equals no expected fingerprint."""
_REDO = "forward.json"
_UNDO = "back.json"


class WriteError(FileSystemError):
    """A file or directory cannot be written. The tree is unchanged unless the reason states otherwise."""


class Disk:
    """The file operations of a transaction. Each may raise OSError, and then has changed nothing."""

    def make_directory(self, path: Path) -> None:
        """Create the directory `path` and its missing parents."""
        path.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path, data: bytes, mode: int | None) -> None:
        """Write a new file and sync it. Without `mode` it has the default permissions."""
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            path.chmod(mode)

    def back_up(self, path: Path, copy: Path) -> None:
        """Make `copy` a hard link to the file or link `path`, or a copy with its times."""
        try:
            os.link(path, copy, follow_symlinks=False)
        except (OSError, NotImplementedError):
            # Not every file system has hard links. For any other reason, the copy fails too.
            shutil.copy2(path, copy, follow_symlinks=False)

    def replace(self, path: Path, target: Path) -> None:
        """Rename `path` to `target` atomically, replacing it."""
        path.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file or a link."""
        path.unlink()

    def remove_directory(self, path: Path) -> None:
        """Remove an empty directory."""
        path.rmdir()

    def sync(self, directory: Path) -> None:
        """Sync the entries of `directory`. Windows cannot."""
        if os.name == "nt":
            return
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Operation:
    """A change of one path: `data` is the new content, None to remove it; `before` is the old content.

    `before` is None if the path was empty or a link.
    """

    name: str
    before: bytes | None
    data: bytes | None


@dataclass(frozen=True, slots=True)
class _Step:
    """An operation in the journal, with fingerprints instead of contents."""

    name: str
    before: str
    after: str
    number: int


def apply_changes(operations: Iterable[Operation], directory: Path, disk: Disk, *, project: Path | None = None) -> None:
    """Apply `operations` below `directory`, all or none. `project` contains the directory: by default its parent.

    Raises:
        WriteError: a step failed. The others were undone, or the next `recover` undoes them.
    """
    staging = directory / STAGING
    try:
        steps = _stage(operations, directory, disk)
        _commit(steps, staging, disk, project or directory.parent)
    except OSError as error:
        with suppress(OSError):
            _clear(staging, disk)
        raise _failure(error, directory) from error
    try:
        _roll_forward(steps, directory, disk, strict=True)
    except OSError as error:
        raise _roll_back_after(steps, directory, disk, error) from error
    try:
        _clear(staging, disk)
    except OSError as error:
        raise WriteError(staging, f"all files are written, but this cannot be removed: {_reason(error)}") from error


def has_staging(directory: Path) -> bool:
    """Return whether the staging directory exists: a run was killed, or is writing now."""
    return (directory / STAGING).is_symlink() or (directory / STAGING).exists()


def recover(directory: Path, disk: Disk, *, project: Path | None = None) -> bool:
    """Finish an interrupted run; return whether there was one with a valid journal. `project` as in `apply_changes`.

    Files that were changed since then are left alone.

    Raises:
        WriteError: an operation failed. Nothing is lost, and the next run can try again.
    """
    staging = directory / STAGING
    if not has_staging(directory):
        return False
    project = project or directory.parent
    try:
        forward, back = _load_journal(staging, _REDO, project), _load_journal(staging, _UNDO, project)
        if forward is not None:
            _roll_forward(forward, directory, disk, strict=False)
        elif back is not None:
            _roll_back(back, directory, disk)
        _clear(staging, disk)
    except OSError as error:
        raise _failure(error, directory) from error
    return forward is not None or back is not None


def preview_recovery(snapshot: Snapshot) -> bool:
    """Change `snapshot` as `recover` would change the directory; return whether a run was interrupted. Reads only.

    Raises:
        ReadError: the journal or a file that it names cannot be read.
    """
    staging = snapshot.directory / STAGING
    project = snapshot.directory.parent
    try:
        forward, back = _load_journal(staging, _REDO, project), _load_journal(staging, _UNDO, project)
        if forward is not None:
            goals = [(step, step.after, _new(staging, step)) for step in forward]
        else:
            goals = [(step, step.before, _old(staging, step)) for step in back or ()]
        for step, goal, source in sorted(goals, key=lambda item: item[1] != _ABSENT):
            _preview_step(snapshot, step, goal, source)
    except OSError as error:
        raise ReadError(Path(error.filename or snapshot.directory), _reason(error)) from error
    return forward is not None or back is not None


def _preview_step(snapshot: Snapshot, step: _Step, goal: str, source: Path) -> None:
    present = _fingerprint(snapshot.directory, step.name)
    if present not in {step.before, step.after}:
        return
    if goal == _ABSENT:
        snapshot.drop(step.name)
    elif present != goal and _content_fingerprint(source) == goal:
        if source.is_symlink():
            snapshot.put_link(step.name)
        else:
            snapshot.put(step.name, source.read_bytes())


def _stage(operations: Iterable[Operation], directory: Path, disk: Disk) -> list[_Step]:
    """Write new contents and back up old ones. Nothing outside the staging directory changes."""
    staging = directory / STAGING
    disk.make_directory(staging / "new")
    disk.make_directory(staging / "old")
    # A killed run leaves the directory behind: hide it from version control.
    disk.create(staging / ".gitignore", b"*\n", None)
    steps = []
    for number, operation in enumerate(operations):
        target = locate(directory, operation.name)
        present = _fingerprint(directory, operation.name)
        before = present if operation.before is None else _file_fingerprint(operation.before)
        if before == _UNREACHABLE:
            before = _ABSENT  # It is behind a link that another step removes.
        after = _ABSENT if operation.data is None else _file_fingerprint(operation.data)
        step = _Step(operation.name, before, after, number)
        mode = None
        if before != _ABSENT:
            disk.back_up(target, _old(staging, step))
            mode = S_IMODE(target.lstat().st_mode) if present.startswith("file ") else None
        if operation.data is not None:
            disk.create(_new(staging, step), operation.data, mode)
        steps.append(step)
    return steps


def _commit(steps: Iterable[_Step], staging: Path, disk: Disk, project: Path) -> None:
    draft = staging / "draft.json"
    body = json.dumps([asdict(step) for step in steps]).encode("ascii")
    user_key(project, make=True)
    disk.create(draft, _compute_mac(project, body) + b"\n" + body, None)
    disk.sync(staging / "new")
    disk.sync(staging / "old")
    disk.replace(draft, staging / _REDO)
    disk.sync(staging)


def _roll_forward(steps: Sequence[_Step], directory: Path, disk: Disk, *, strict: bool) -> None:
    """Bring every path to its new state. Later changes stay, and are an error if `strict`."""
    staging = directory / STAGING
    needed = {parent for step in steps if step.after != _ABSENT for parent in PurePosixPath(step.name).parents}
    touched = []
    # Removals first: a file may be replaced by a directory of the same name, or the reverse.
    for step in sorted(steps, key=lambda step: step.after != _ABSENT):
        target = locate(directory, step.name)
        present = _fingerprint(directory, step.name)
        if present not in {step.before, step.after}:
            if strict:
                raise OSError(None, "changed while it was being written", str(target))
            continue
        if step.after == _ABSENT:
            if present != _ABSENT:
                disk.remove(target)
            _remove_empty_parents(directory, step.name, needed, disk)
        elif present != step.after:
            if _content_fingerprint(_new(staging, step)) != step.after:
                continue  # Lost in a power failure. The file is rendered again anyway.
            _remove_empty_directory(target, disk)
            disk.make_directory(target.parent)
            disk.replace(_new(staging, step), target)
        touched.append(target.parent)
    _sync(touched, disk)


def _roll_back(steps: Sequence[_Step], directory: Path, disk: Disk) -> None:
    """Bring every path back to its old state. Later changes stay."""
    staging = directory / STAGING
    touched = []
    # In reverse order: a file that a directory replaced can only return after the files of that directory are gone.
    for step in sorted(steps, key=lambda step: step.after == _ABSENT):
        target = locate(directory, step.name)
        present = _fingerprint(directory, step.name)
        if present == step.before or present != step.after:
            continue
        if step.before == _ABSENT:
            disk.remove(target)
            _remove_empty_parents(directory, step.name, set(), disk)
        else:
            disk.make_directory(target.parent)
            disk.replace(_old(staging, step), target)
        touched.append(target.parent)
    _sync(touched, disk)


def _roll_back_after(steps: Sequence[_Step], directory: Path, disk: Disk, error: OSError) -> WriteError:
    """Undo the steps before `error` and return the error to raise."""
    staging = directory / STAGING
    failure = _failure(error, directory)
    try:
        disk.replace(staging / _REDO, staging / _UNDO)
        disk.sync(staging)
        _roll_back(steps, directory, disk)
        _clear(staging, disk)
    except OSError:
        return WriteError(failure.path, f"{failure.reason}; some files are written; the next run will restore them")
    return failure


def _clear(staging: Path, disk: Disk) -> None:
    """Remove the staging directory, the journals first: without a journal, the rest has no effect."""
    for name in (_REDO, _UNDO):
        if not staging.is_symlink() and (staging / name).exists():
            disk.remove(staging / name)
            disk.sync(staging)
    inside = () if staging.is_symlink() else (staging / "new", staging / "old")
    for path in (*inside, staging):
        if path.is_symlink():
            disk.remove(path)
        elif path.is_dir():
            for entry in sorted(path.iterdir()):
                if entry.is_symlink() or not entry.is_dir():
                    disk.remove(entry)
            disk.remove_directory(path)


def _load_journal(staging: Path, name: str, project: Path) -> list[_Step] | None:
    """Return the steps of a journal, or None unless a run of this user wrote it and all its paths are inside."""
    if any(path.is_symlink() for path in (staging, staging / "new", staging / "old", staging / name)):
        return None
    if not (staging / name).is_file():
        return None
    try:
        mac, _, body = read_input(staging / name, staging, max_bytes=MAX_FILE_BYTES).partition(b"\n")
    except UnsafeInputError:
        return None
    if not mac or not hmac.compare_digest(mac, _compute_mac(project, body)):
        return None
    try:
        steps = [_Step(**entry) for entry in json.loads(body)]
    except (TypeError, ValueError):
        return None
    return steps if all(_is_valid(step) for step in steps) else None


def _compute_mac(project: Path, body: bytes) -> bytes:
    """Return the MAC of a journal, empty if the user has no key: such a journal is never applied."""
    key = user_key(project)
    return b"" if key is None else hmac.new(key, body, sha256).hexdigest().encode("ascii")


def _is_valid(step: _Step) -> bool:
    texts = (step.name, step.before, step.after)
    if not all(isinstance(text, str) for text in texts) or not isinstance(step.number, int):
        return False
    path = PurePosixPath(step.name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in step.name


def _fingerprint(directory: Path, name: str) -> str:
    """Return the fingerprint of the entry at `name`: `file <hash>`, `link <target>`, or absent (directories too)."""
    target = locate(directory, name)
    for parent in PurePosixPath(name).parents[:-1]:
        if locate(directory, parent.as_posix()).is_symlink():
            return _UNREACHABLE
    return _content_fingerprint(target)


def _content_fingerprint(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
        if S_ISLNK(mode):
            return f"link {path.readlink()}"
        if S_ISREG(mode):
            return _file_fingerprint(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT
    return _ABSENT if S_ISDIR(mode) else _UNREACHABLE


def _file_fingerprint(data: bytes) -> str:
    return f"file {sha256(data).hexdigest()}"


def _new(staging: Path, step: _Step) -> Path:
    return staging / "new" / str(step.number)


def _old(staging: Path, step: _Step) -> Path:
    return staging / "old" / str(step.number)


def _remove_empty_parents(directory: Path, name: str, needed: set[PurePosixPath], disk: Disk) -> None:
    """Remove the parents of `name` that are empty, or contain only bytecode of removed modules."""
    for parent in PurePosixPath(name).parents[:-1]:
        path = locate(directory, parent.as_posix())
        if parent in needed:
            return
        if not path.is_dir():
            continue
        if any(entry.name != "__pycache__" for entry in path.iterdir()):
            return
        _remove_bytecode(path / "__pycache__", disk)
        if any(path.iterdir()):
            return
        disk.remove_directory(path)


def _remove_empty_directory(target: Path, disk: Disk) -> None:
    """Remove `target` if it is a directory of empty directories, to make room for a file."""
    if target.is_symlink() or not target.is_dir():
        return
    _remove_bytecode(target / "__pycache__", disk)
    for entry in sorted(target.iterdir()):
        _remove_empty_directory(entry, disk)
    disk.remove_directory(target)


def _remove_bytecode(cache: Path, disk: Disk) -> None:
    if cache.is_symlink() or not cache.is_dir():
        return
    entries = sorted(cache.iterdir())
    if all(entry.suffix == ".pyc" for entry in entries):
        for entry in entries:
            disk.remove(entry)
        disk.remove_directory(cache)


def _sync(directories: Iterable[Path], disk: Disk) -> None:
    for directory in sorted(set(directories)):
        if directory.is_dir():
            disk.sync(directory)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _failure(error: OSError, directory: Path) -> WriteError:
    return WriteError(Path(error.filename or directory), _reason(error))
