"""The file of an audit log, which several processes may share.

Each line is written by one process at a time, which holds the file's lock and has checked that the path still names
this file. So no line is torn or lost when another process rotates the log. `path.1` is the newest old file.
"""

from __future__ import annotations

import errno
import logging
import os
import shlex
import stat
import sys
import time
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

from toolmason_runtime.audit.errors import AuditError

LOCK_S: Final = 1.0
"""Seconds to wait for the process that writes. One that was stopped in the middle must not stop all others."""
KEY_BYTES: Final = 32
_LOCK_WAIT_S: Final = 0.0005
_MAX_TRIES: Final = 20
"""Maximum number of rotations by other processes while one line waits."""
_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_FLAGS: Final = (
    os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
_WRITABLE_BY_OTHERS: Final = 0o022
_OPEN_TO_OTHERS: Final = 0o077
_log = logging.getLogger(__name__)


class LogFile:
    """A file that is only appended to, and renamed when it exceeds `max_bytes`.

    Args:
        path: absolute path; missing directories are created with mode 0700, the file with mode 0600.
        max_bytes: size from which on the file is rotated.
        keep: number of old files that are kept.

    Raises:
        AuditError: the file cannot be used.
    """

    def __init__(self, path: Path, *, max_bytes: int, keep: int) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._keep = keep
        self._descriptor = -1
        self._prefix = b""
        self._has_warned = False
        check_directory(path)
        try:
            self._open()
        except OSError as error:
            raise _unusable(path, error.strerror or str(error)) from error

    def append(self, line: bytes) -> None:
        """Write one line.

        Raises:
            OSError: it could not be written; the file has no part of it.
        """
        for _ in range(_MAX_TRIES):
            if self._descriptor < 0:
                self._open()
            _lock(self._descriptor)
            try:
                if not self._is_current():
                    self._close()
                    continue
                size = os.fstat(self._descriptor).st_size
                if size and size + len(line) > self._max_bytes and self._rotate():
                    continue
                _write(self._descriptor, self._prefix + line, size)
                self._prefix = b""
                return
            finally:
                _unlock(self._descriptor)
        raise OSError(errno.EBUSY, "the log is rotated too often")

    def close(self) -> None:
        """Close the file."""
        self._close()

    def _open(self) -> None:
        """Open the file, or create it.

        Raises:
            AuditError: it is a link, no regular file, or other users can read or change it.
            OSError: it cannot be opened.
        """
        descriptor = _open_private(self.path, _FLAGS)
        self._descriptor = descriptor
        size = os.fstat(descriptor).st_size
        # A line that a power failure has cut must not damage the next one.
        self._prefix = b"\n" if size and _last_byte(descriptor, size) != b"\n" else b""

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _is_current(self) -> bool:
        """Return whether the path still names the open file."""
        try:
            named = self.path.lstat()
        except FileNotFoundError:
            return False
        own = os.fstat(self._descriptor)
        return (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)

    def _rotate(self) -> bool:
        """Rename the old files and this one; return False if that is impossible. The caller holds the lock.

        This file is renamed last, so no other process can rotate in the meantime.
        """
        if sys.platform == "win32":
            self._close()  # Windows renames no open file
        try:
            for number in range(self._keep, 0, -1):
                source = numbered(self.path, number - 1) if number > 1 else self.path
                with suppress(FileNotFoundError):
                    source.replace(numbered(self.path, number))
            if not self._keep:
                self.path.unlink()
        except OSError as error:
            if not self._has_warned:
                self._has_warned = True
                _log.error("the audit log %s grows beyond its limit, since it cannot be renamed: %s", self.path, error)
            if self._descriptor < 0:
                self._open()
            return False
        self._close()
        return True


def numbered(path: Path, number: int) -> Path:
    """Return the path of an old file; 1 is the newest."""
    return path.with_name(f"{path.name}.{number}")


def check_directory(path: Path) -> None:
    """Create the directory of a log if it is missing, and check that other users cannot replace its files.

    Raises:
        AuditError: it cannot be used.
    """
    directory = path.parent
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = directory.stat()
    except OSError as error:
        raise _unusable(path, f"{directory}: {error.strerror}") from error
    if sys.platform != "win32" and (reason := _directory_problem(about, directory)):
        raise _unusable(path, reason)


def _directory_problem(about: os.stat_result, directory: Path) -> str:
    """Return how other users can replace files of a directory, empty if they cannot. Root can replace every file."""
    mode, user = stat.S_IMODE(about.st_mode), os.geteuid()
    quoted = shlex.quote(str(directory))
    if about.st_uid not in (user, 0):
        return (
            f"{directory} belongs to another user (uid {about.st_uid}, mode {mode:04o}): name a directory of your own,"
            f" or run `chown {user} {quoted}` as root"
        )
    if not mode & _WRITABLE_BY_OTHERS:
        return ""
    problem = f"other users can write to {directory} (mode {mode:04o})"
    if mode & stat.S_ISVTX:  # a shared directory such as /tmp, which must remain open
        return f"{problem}: name a directory in it, which is created with mode 0700"
    if about.st_uid != user:
        return f"{problem}: run `chown {user} {quoted}` and `chmod 700 {quoted}` as root, or name another directory"
    return f"{problem}: run `chmod 700 {quoted}`, or name another directory"


def load_key(path: Path, *, may_create: bool = True) -> bytes:
    """Return the key of a log's digests, from the file beside it, which is created at the first start.

    Raises:
        AuditError: the file cannot be used, or contains no key.
    """
    file = key_path(path)
    try:
        if may_create and not file.exists():
            _create_key(file)
        descriptor = _open_private(file, os.O_RDONLY | _NO_FOLLOW)
        with os.fdopen(descriptor, "rb") as stream:
            key = bytes.fromhex(stream.read(4 * KEY_BYTES).decode("ascii"))
    except OSError as error:
        raise AuditError(f"the key `{file}` of the audit log cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise error if isinstance(error, AuditError) else _no_key(file) from error
    if len(key) != KEY_BYTES:
        raise _no_key(file)
    return key


def key_path(path: Path) -> Path:
    """Return the path of the key of a log."""
    return path.with_name(f"{path.name}.key")


def _no_key(file: Path) -> AuditError:
    return _unusable(
        file, "it contains no key; restore it, or remove it for a new one: equal arguments then get new digests"
    )


def _create_key(file: Path) -> None:
    """Create the key with all of its content at once: of several processes, one succeeds."""
    temporary = file.with_name(f"{file.name}.{token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(token_hex(KEY_BYTES).encode("ascii") + b"\n")
        with suppress(FileExistsError):
            os.link(temporary, file)
    finally:
        temporary.unlink()


def _open_private(path: Path, flags: int) -> int:
    """Open a regular file that only this user can read and change.

    Raises:
        AuditError: it is another kind of file, or other users can read or change it.
        OSError: it cannot be opened.
    """
    if not _NO_FOLLOW and path.is_symlink():
        raise _unusable(path, "it is a link")
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno in {errno.ELOOP, errno.EMLINK}:
            raise _unusable(path, "it is a link, and links are not followed") from error
        if error.errno == errno.ENXIO:
            raise _unusable(path, "it is not a regular file") from error
        raise
    about = os.fstat(descriptor)
    reason = ""
    if not stat.S_ISREG(about.st_mode):
        reason = "it is not a regular file"
    elif about.st_nlink > 1:
        reason = "it has more than one hard link"
    elif sys.platform != "win32":
        reason = _file_problem(about, path)
    if reason:
        os.close(descriptor)
        raise _unusable(path, reason)
    return descriptor


def _file_problem(about: os.stat_result, path: Path) -> str:
    """Return how other users can read or change a file, empty if they cannot."""
    mode = stat.S_IMODE(about.st_mode)
    if about.st_uid != os.geteuid():
        return f"it belongs to another user (uid {about.st_uid}, mode {mode:04o}): move it away, to get a new one"
    if mode & _OPEN_TO_OTHERS:
        return f"other users can read or change it (mode {mode:04o}): run `chmod 600 {shlex.quote(str(path))}`"
    return ""


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)


def _write(descriptor: int, data: bytes, size: int) -> None:
    """Append all of `data` to a file of `size` bytes, or nothing."""
    try:
        written = os.write(descriptor, data)
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError:
        with suppress(OSError):  # a file may be marked as append-only
            os.ftruncate(descriptor, size)
        raise


def _lock(descriptor: int) -> None:
    """Lock the file, for this process alone. On Windows, only one process writes a log.

    Raises:
        BlockingIOError: another process holds the lock for `LOCK_S`.
    """
    if sys.platform != "win32":
        import fcntl

        deadline = time.monotonic() + LOCK_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOCK_WAIT_S)
            else:
                return


def _unlock(descriptor: int) -> None:
    """Unlock the file; closing it does the same."""
    if sys.platform != "win32" and descriptor >= 0:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _unusable(path: Path, reason: str) -> AuditError:
    return AuditError(f"the audit log `{path}` cannot be used: {reason}")
