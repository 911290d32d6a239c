"""Steps of a safe write in an open directory: a temporary file, the metadata of the old one, and a rename.

`directory` is the descriptor of `open_directory`: -1 on platforms without descriptors of directories.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.workspace.open import NOFOLLOW
from workbench_handlers.workspace.roots import Located

LEFTOVER_AGE_S: Final = 60.0
"""Age of a temporary file that a killed process left. The next write in its directory removes it."""
LOCK_TIMEOUT_S: Final = 10.0
LOCK_INTERVAL_S: Final = 0.02
NO_SPACE: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG} if hasattr(errno, "EDQUOT") else {errno.ENOSPC}

_RENAME_NOREPLACE: Final = 1
_UNSUPPORTED: Final = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
_OPTIONAL_NAMESPACES: Final = ("security.", "trusted.")
"""Extended attributes that the system sets; only root may copy some of them."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry for system calls: a name in the open `directory`, or an absolute path without one."""

    name: str
    directory: int | None

    @classmethod
    def of(cls, located: Located, directory: int) -> Entry:
        """Return the entry of a located path in its open directory."""
        return cls(located.parts[-1], directory) if directory >= 0 else cls(str(located.path), None)

    def status(self) -> os.stat_result | None:
        """Return the status without following a link; None if it is missing."""
        with suppress(FileNotFoundError):
            return os.stat(self.name, dir_fd=self.directory, follow_symlinks=False)
        return None

    def is_writable(self) -> bool:
        """Return whether the file may be changed. A file that nobody may write is read-only for root as well."""
        status = self.status()
        return bool(
            status and stat.S_IMODE(status.st_mode) & 0o222 and os.access(self.name, os.W_OK, dir_fd=self.directory)
        )


@dataclass(frozen=True, slots=True)
class Metadata:
    """Mode, owner and extended attributes of a file; an ACL is one of the attributes."""

    status: os.stat_result
    attributes: Mapping[str, bytes]

    @classmethod
    def of(cls, descriptor: int) -> Metadata:
        """Return the metadata of an open file."""
        return cls(os.fstat(descriptor), {name: os.getxattr(descriptor, name) for name in _attribute_names(descriptor)})

    def copy_to(self, descriptor: int) -> None:
        """Set the metadata of an open file. Only users who could read the old file can read it afterwards.

        Raises:
            OSError: the owner or an attribute cannot be set.
        """
        status = os.fstat(descriptor)
        if hasattr(os, "fchown") and (status.st_uid, status.st_gid) != (self.status.st_uid, self.status.st_gid):
            os.fchown(descriptor, self.status.st_uid, self.status.st_gid)
        for name in _attribute_names(descriptor):
            if name not in self.attributes:  # inherited from the directory
                with _optional(name):
                    os.removexattr(descriptor, name)
        for name, value in self.attributes.items():
            with _optional(name):
                os.setxattr(descriptor, name, value)
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, stat.S_IMODE(self.status.st_mode))


def _attribute_names(descriptor: int) -> list[str]:
    if hasattr(os, "listxattr"):
        with suppress(OSError):  # the file system has none
            return os.listxattr(descriptor)
    return []


@contextmanager
def _optional(name: str) -> Iterator[None]:
    """Ignore that an attribute of the system cannot be set."""
    try:
        yield
    except OSError:
        if not name.startswith(_OPTIONAL_NAMESPACES):
            raise


def temporary_name(token: str) -> str:
    """Return the name of a temporary file. Its checksum distinguishes it from a file that somebody named like one."""
    return f".{token}{zlib.crc32(os.fsencode(token)):08x}.toolmason-tmp"


@contextmanager
def temporary_file(located: Located, directory: int, data: bytes, metadata: Metadata | None) -> Iterator[Entry]:
    """Write `data` durably to a new file beside `located` and yield it; remove it unless it was renamed meanwhile."""
    entry = Entry.of(located.parent.child(temporary_name(secrets.token_hex(4))), directory)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    mode = 0o666 if metadata is None else 0o600
    descriptor = os.open(entry.name, flags, mode, dir_fd=entry.directory)
    try:
        try:
            with os.fdopen(descriptor, "wb", closefd=False) as stream:
                stream.write(data)
            if metadata is not None:
                metadata.copy_to(descriptor)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield entry
    finally:
        with suppress(OSError):
            os.unlink(entry.name, dir_fd=entry.directory)


def rename_new(source: Entry, target: Entry) -> None:
    """Rename a file or directory and never replace another one.

    Raises:
        FileExistsError: the target exists.
    """
    if os.name == "nt":
        Path(source.name).rename(target.name)  # never replaces there
        return
    if _rename_noreplace(source, target):
        return
    try:
        os.link(
            *(source.name, target.name),
            src_dir_fd=source.directory,
            dst_dir_fd=target.directory,
            follow_symlinks=False,
        )
    except FileExistsError:
        raise
    except OSError:  # a directory, or a file system without hard links
        if target.status() is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        replace(source, target)
    else:
        os.unlink(source.name, dir_fd=source.directory)


def replace(source: Entry, target: Entry) -> None:
    """Rename a file over another one, or to a new name."""
    os.replace(source.name, target.name, src_dir_fd=source.directory, dst_dir_fd=target.directory)


def _rename_noreplace(source: Entry, target: Entry) -> bool:
    """Rename with `renameat2`; return whether system and file system have it."""
    function = _renameat2()
    if function is None or source.directory is None or target.directory is None:
        return False
    names = os.fsencode(source.name), os.fsencode(target.name)
    import ctypes

    if function(source.directory, names[0], target.directory, names[1], _RENAME_NOREPLACE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number))


@cache
def _renameat2() -> Any:
    import ctypes

    try:
        return ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or an old C library
        return None


@contextmanager
def locked(located: Located, directory: int) -> Iterator[None]:
    """Hold the lock of an open directory, so that only one server at a time writes in it.

    On a file system without locks, nothing is locked.

    Raises:
        ToolError: another process holds the lock for longer than `LOCK_TIMEOUT_S`.
    """
    if directory >= 0:
        with suppress(OSError):
            lock(directory, f"the directory of `{located.shown}`")
            _remove_leftovers(directory)
    yield


def lock(descriptor: int, shown: str) -> None:
    """Take the exclusive lock of an open file or directory. Closing it, or the end of the process, releases the lock.

    Raises:
        ToolError: another process holds the lock for long.
        OSError: the file system has no locks.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            _try_lock(descriptor)
        except (BlockingIOError, PermissionError):  # Windows raises the second one
            if time.monotonic() > deadline:
                raise ToolError(f"another process locks {shown}: retry later", code="LOCKED") from None
            time.sleep(LOCK_INTERVAL_S)
        else:
            return


def _try_lock(descriptor: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_leftovers(directory: int) -> None:
    """Remove the temporary files that killed processes of this user left."""
    with suppress(OSError), os.scandir(directory) as entries:
        for name in [entry.name for entry in entries if entry.name == temporary_name(entry.name[1:9])]:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > LEFTOVER_AGE_S:
                os.unlink(name, dir_fd=directory)


def sync_directory(directory: int) -> None:
    """Make the names in an open directory durable, where the file system can."""
    if directory >= 0:
        with suppress(OSError):
            os.fsync(directory)
