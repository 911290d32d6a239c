"""Many files changed as one: all of it happens, or nothing, also when the process is killed in between.

Everything new is prepared in a staging folder, everything old gets a second name there, and a journal says what is
to be done. The journal appearing under its name is the point of no return: before it nothing has happened, after
it the next run finishes the work. If a step fails, the journal is renamed to mean the way back, which in turn the
next run would finish. Each step first looks at what stands in its place: what is neither the old nor the new is
somebody's later work, and stays.

A journal begins with a code that only this user can make (`user_cache`). Any other may have come with the project, so
it is not carried out but thrown away.
"""

from __future__ import annotations

import hmac
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG
from typing import Protocol

from toolmason.manifest.input_files import RefusedInput, read_input
from toolmason.model.parts import STAGING
from toolmason.write.snapshot import MAX_FILE_BYTES, DiskFailure, ReadFailed, Snapshot, locate
from toolmason.write.user_cache import user_key

_ABSENT = "absent"
_UNREACHABLE = "unreachable"
"""What lies behind a symbolic link, or is neither file nor link nor folder: equal to nothing we expect."""
_FORWARD = "forward.json"
_BACK = "back.json"


class WriteFailed(DiskFailure):
    """A file or folder could not be written. The tree is as it was, unless the reason says otherwise."""


class Disk(Protocol):
    """What a transaction does to the file system. Every operation may raise OSError, and is then not done."""

    def make_folder(self, path: Path) -> None:
        """Make the folder `path` and the missing ones above it."""

    def create(self, path: Path, data: bytes, mode: int | None) -> None:
        """Write a new file and bring it to stable storage. Without `mode` it gets the usual permissions."""

    def keep(self, path: Path, copy: Path) -> None:
        """Let `copy` be a second name of the file or link `path`, or a copy of it with its times."""

    def replace(self, path: Path, target: Path) -> None:
        """Move `path` to `target` in one step, in the place of what stands there."""

    def remove(self, path: Path) -> None:
        """Remove a file or a link."""

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""

    def sync(self, folder: Path) -> None:
        """Bring the names in `folder` to stable storage."""


class LocalDisk:
    """The file system of this machine."""

    def make_folder(self, path: Path) -> None:
        """Make the folder `path` and the missing ones above it."""
        path.mkdir(parents=True, exist_ok=True)

    def create(self, path: Path, data: bytes, mode: int | None) -> None:
        """Write a new file and bring it to stable storage. Without `mode` it gets the usual permissions."""
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            path.chmod(mode)

    def keep(self, path: Path, copy: Path) -> None:
        """Let `copy` be a second name of the file or link `path`, or a copy of it with its times."""
        try:
            os.link(path, copy, follow_symlinks=False)
        except (OSError, NotImplementedError):
            # Not every file system has hard links; if the reason was another one, copying fails with it too.
            shutil.copy2(path, copy, follow_symlinks=False)

    def replace(self, path: Path, target: Path) -> None:
        """Move `path` to `target` in one step, in the place of what stands there."""
        path.replace(target)

    def remove(self, path: Path) -> None:
        """Remove a file or a link."""
        path.unlink()

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()

    def sync(self, folder: Path) -> None:
        """Bring the names in `folder` to stable storage, where folders can be opened for that (not on Windows)."""
        if os.name == "nt":
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Operation:
    """What becomes of one path: `data` is its new content, None if it is to be removed; `found` what stood there.

    Without `found` the path was empty or held a link.
    """

    name: str
    found: bytes | None
    data: bytes | None


@dataclass(frozen=True, slots=True)
class _Step:
    """An operation as the journal has it: fingerprints instead of contents."""

    name: str
    before: str
    after: str
    number: int


def apply(operations: Sequence[Operation], folder: Path, disk: Disk) -> None:
    """Carry out `operations` below `folder`, all or none.

    Raises:
        WriteFailed: a step failed. The others were undone, or will be by `repair` if that failed too.
    """
    staging = folder / STAGING
    try:
        steps = _stage(operations, folder, disk)
        _commit(steps, staging, disk)
    except OSError as error:
        with suppress(OSError):
            _clear(staging, disk)
        raise _failure(error, folder) from error
    try:
        _go_forward(steps, folder, disk, strict=True)
    except OSError as error:
        raise _undone(steps, folder, disk, error) from error
    try:
        _clear(staging, disk)
    except OSError as error:
        raise WriteFailed(staging, f"all files are written, but this cannot be removed: {_reason(error)}") from error


def is_staged(folder: Path) -> bool:
    """Whether a run that was killed, or one that is at work now, has left something in the staging folder."""
    return (folder / STAGING).is_symlink() or (folder / STAGING).exists()


def repair(folder: Path, disk: Disk) -> bool:
    """Finish what a killed run has begun; tell whether it had begun.

    Files that somebody has changed since are left as they are.

    Raises:
        WriteFailed: that is not possible. Nothing is lost, and the next run can try again.
    """
    staging = folder / STAGING
    if not is_staged(folder):
        return False
    try:
        forward, back = _journal(staging, _FORWARD), _journal(staging, _BACK)
        if forward is not None:
            _go_forward(forward, folder, disk, strict=False)
        elif back is not None:
            _go_back(back, folder, disk)
        _clear(staging, disk)
    except OSError as error:
        raise _failure(error, folder) from error
    return forward is not None or back is not None


def foresee(snapshot: Snapshot) -> bool:
    """See `snapshot` as `repair` would leave the folder; tell whether a run was interrupted. Only reads.

    Raises:
        ReadFailed: the journal or a file it names cannot be read.
    """
    staging = snapshot.folder / STAGING
    try:
        forward, back = _journal(staging, _FORWARD), _journal(staging, _BACK)
        if forward is not None:
            goals = [(step, step.after, _new(staging, step)) for step in forward]
        else:
            goals = [(step, step.before, _old(staging, step)) for step in back or ()]
        for step, goal, source in sorted(goals, key=lambda each: each[1] != _ABSENT):
            _foresee_step(snapshot, step, goal, source)
    except OSError as error:
        raise ReadFailed(Path(error.filename or snapshot.folder), _reason(error)) from error
    return forward is not None or back is not None


def _foresee_step(snapshot: Snapshot, step: _Step, goal: str, source: Path) -> None:
    present = _fingerprint(snapshot.folder, step.name)
    if present not in {step.before, step.after}:
        return
    if goal == _ABSENT:
        snapshot.drop(step.name)
    elif present != goal and _content_fingerprint(source) == goal:
        if source.is_symlink():
            snapshot.put_link(step.name)
        else:
            snapshot.put(step.name, source.read_bytes())


def _stage(operations: Sequence[Operation], folder: Path, disk: Disk) -> list[_Step]:
    """Prepare new contents and second names of old ones. Nothing outside the staging folder changes."""
    staging = folder / STAGING
    disk.make_folder(staging / "new")
    disk.make_folder(staging / "old")
    # Version control must not see the folder, should a kill leave it.
    disk.create(staging / ".gitignore", b"*\n", None)
    steps = []
    for number, operation in enumerate(operations):
        target = locate(folder, operation.name)
        present = _fingerprint(folder, operation.name)
        before = present if operation.found is None else _of(operation.found)
        if before == _UNREACHABLE:
            before = _ABSENT  # It lies behind a link that another step removes.
        after = _ABSENT if operation.data is None else _of(operation.data)
        step = _Step(operation.name, before, after, number)
        mode = None
        if before != _ABSENT:
            disk.keep(target, _old(staging, step))
            mode = S_IMODE(target.lstat().st_mode) if present.startswith("file ") else None
        if operation.data is not None:
            disk.create(_new(staging, step), operation.data, mode)
        steps.append(step)
    return steps


def _commit(steps: Iterable[_Step], staging: Path, disk: Disk) -> None:
    draft = staging / "draft.json"
    body = json.dumps([asdict(step) for step in steps]).encode("ascii")
    user_key(staging.parent.parent, make=True)
    disk.create(draft, _authentication(staging, body) + b"\n" + body, None)
    disk.sync(staging / "new")
    disk.sync(staging / "old")
    disk.replace(draft, staging / _FORWARD)
    disk.sync(staging)


def _go_forward(steps: Sequence[_Step], folder: Path, disk: Disk, *, strict: bool) -> None:
    """Bring every step to its new state. What changed meanwhile stays, and is an error if `strict`."""
    staging = folder / STAGING
    needed = {parent for step in steps if step.after != _ABSENT for parent in PurePosixPath(step.name).parents}
    touched = []
    # Removals go first: a file may have to make room for a folder, or the other way round.
    for step in sorted(steps, key=lambda step: step.after != _ABSENT):
        target = locate(folder, step.name)
        present = _fingerprint(folder, step.name)
        if present not in {step.before, step.after}:
            _refuse(target, strict=strict)
            continue
        if step.after == _ABSENT:
            if present != _ABSENT:
                disk.remove(target)
            _remove_empty_parents(folder, step.name, needed, disk)
        elif present != step.after:
            if _content_fingerprint(_new(staging, step)) != step.after:
                continue  # Lost with the power: the file is rendered again anyway.
            _make_room(target, disk)
            disk.make_folder(target.parent)
            disk.replace(_new(staging, step), target)
        touched.append(target.parent)
    _sync(touched, disk)


def _go_back(steps: Sequence[_Step], folder: Path, disk: Disk) -> None:
    """Bring every step back to its old state. What changed meanwhile stays."""
    staging = folder / STAGING
    touched = []
    # The other way round than forward: what made way for a folder can only return after what lies in that folder.
    for step in sorted(steps, key=lambda step: step.after == _ABSENT):
        target = locate(folder, step.name)
        present = _fingerprint(folder, step.name)
        if present == step.before or present != step.after:
            continue
        if step.before == _ABSENT:
            disk.remove(target)
            _remove_empty_parents(folder, step.name, set(), disk)
        else:
            disk.make_folder(target.parent)
            disk.replace(_old(staging, step), target)
        touched.append(target.parent)
    _sync(touched, disk)


def _undone(steps: Sequence[_Step], folder: Path, disk: Disk, error: OSError) -> WriteFailed:
    """Undo what was done before `error`, and say how that went."""
    staging = folder / STAGING
    failure = _failure(error, folder)
    try:
        disk.replace(staging / _FORWARD, staging / _BACK)
        disk.sync(staging)
        _go_back(steps, folder, disk)
        _clear(staging, disk)
    except OSError:
        return WriteFailed(failure.path, f"{failure.reason}; some files are written, and the next run will settle it")
    return failure


def _clear(staging: Path, disk: Disk) -> None:
    """Remove the staging folder, the journals first: without one, what is left means nothing."""
    for name in (_FORWARD, _BACK):
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
            disk.remove_folder(path)


def _journal(staging: Path, name: str) -> list[_Step] | None:
    """Read a journal, None if there is none that a run of this user wrote.

    Even then no path may lead out of the folder.
    """
    if any(path.is_symlink() for path in (staging, staging / "new", staging / "old", staging / name)):
        return None
    if not (staging / name).is_file():
        return None
    try:
        code, _, body = read_input(staging / name, staging, max_bytes=MAX_FILE_BYTES).partition(b"\n")
    except RefusedInput:
        return None
    if not code or not hmac.compare_digest(code, _authentication(staging, body)):
        return None
    try:
        steps = [_Step(**entry) for entry in json.loads(body)]
    except (TypeError, ValueError):
        return None
    return steps if all(_is_sound(step) for step in steps) else None


def _authentication(staging: Path, body: bytes) -> bytes:
    """Return the code of a journal, empty where the user has no key: such a journal is never carried out."""
    key = user_key(staging.parent.parent)
    return b"" if key is None else hmac.new(key, body, sha256).hexdigest().encode("ascii")


def _is_sound(step: _Step) -> bool:
    texts = (step.name, step.before, step.after)
    if not all(isinstance(text, str) for text in texts) or not isinstance(step.number, int):
        return False
    path = PurePosixPath(step.name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\\" not in step.name


def _fingerprint(folder: Path, name: str) -> str:
    """Say what stands at `name`, exactly enough to know it again. A folder counts as nothing."""
    target = locate(folder, name)
    for parent in PurePosixPath(name).parents[:-1]:
        if locate(folder, parent.as_posix()).is_symlink():
            return _UNREACHABLE
    return _content_fingerprint(target)


def _content_fingerprint(path: Path) -> str:
    try:
        mode = path.lstat().st_mode
        if S_ISLNK(mode):
            return f"link {path.readlink()}"
        if S_ISREG(mode):
            return _of(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return _ABSENT
    return _ABSENT if S_ISDIR(mode) else _UNREACHABLE


def _of(data: bytes) -> str:
    return f"file {sha256(data).hexdigest()}"


def _new(staging: Path, step: _Step) -> Path:
    return staging / "new" / str(step.number)


def _old(staging: Path, step: _Step) -> Path:
    return staging / "old" / str(step.number)


def _refuse(target: Path, *, strict: bool) -> None:
    if strict:
        raise OSError(None, "changed while it was being written", str(target))


def _remove_empty_parents(folder: Path, name: str, needed: set[PurePosixPath], disk: Disk) -> None:
    """Remove the folders that the loss of `name` has left empty, or with nothing but bytecode of lost modules."""
    for parent in PurePosixPath(name).parents[:-1]:
        path = locate(folder, parent.as_posix())
        if parent in needed:
            return
        if not path.is_dir():
            continue
        if any(entry.name != "__pycache__" for entry in path.iterdir()):
            return
        _remove_bytecode(path / "__pycache__", disk)
        if any(path.iterdir()):
            return
        disk.remove_folder(path)


def _make_room(target: Path, disk: Disk) -> None:
    """Remove the empty folders at `target`, where a file is to stand."""
    if target.is_symlink() or not target.is_dir():
        return
    _remove_bytecode(target / "__pycache__", disk)
    for entry in sorted(target.iterdir()):
        _make_room(entry, disk)
    disk.remove_folder(target)


def _remove_bytecode(cache: Path, disk: Disk) -> None:
    if cache.is_symlink() or not cache.is_dir():
        return
    entries = sorted(cache.iterdir())
    if all(entry.suffix == ".pyc" for entry in entries):
        for entry in entries:
            disk.remove(entry)
        disk.remove_folder(cache)


def _sync(folders: Iterable[Path], disk: Disk) -> None:
    for folder in _existing(folders):
        disk.sync(folder)


def _existing(folders: Iterable[Path]) -> Iterator[Path]:
    return (folder for folder in sorted(set(folders)) if folder.is_dir())


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _failure(error: OSError, folder: Path) -> WriteFailed:
    return WriteFailed(Path(error.filename or folder), _reason(error))
