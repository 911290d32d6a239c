"""Read a configuration file and write it without loss: encoding, line ends, mode, links and edits of others remain."""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from toolmason_runtime.install.errors import CannotEditError, FileSyntaxError, InstallError

MAX_BYTES: Final = 64 * 1024 * 1024
NEW_FILE_MODE: Final = 0o600
"""Mode of a new file: entries can contain credentials."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file as it was read. `data` is None if there is none. `path` is that of the link's target."""

    path: Path
    data: bytes | None
    text: str
    """Without byte order mark, with LF line ends if the file has CRLF only."""

    @property
    def has_mark(self) -> bool:
        """Whether the file starts with a byte order mark."""
        return (self.data or b"").startswith(codecs.BOM_UTF8)

    def encode(self, text: str) -> bytes:
        """Return the bytes of a new text, with the byte order mark and the line ends of the file."""
        if _has_crlf_only(self.data or b""):
            text = text.replace("\n", "\r\n")
        return (codecs.BOM_UTF8 if self.has_mark else b"") + text.encode()


def read(path: Path) -> ConfigFile:
    """Read a file that may be missing.

    Raises:
        CannotEditError: it cannot be read or edited safely, or is not UTF-8.
    """
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
    except FileNotFoundError:
        return ConfigFile(target, None, "")
    except OSError as error:
        raise CannotEditError(f"cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        raise CannotEditError("not a regular file")
    if status.st_nlink > 1:
        raise CannotEditError(f"it has {status.st_nlink} hard links, which a new file would separate; edit it by hand")
    if status.st_size > MAX_BYTES:
        raise CannotEditError(f"it has more than {MAX_BYTES} bytes")
    try:
        data = target.read_bytes()
    except OSError as error:
        raise CannotEditError(f"cannot be read: {error.strerror}") from error
    return ConfigFile(target, data, _decode(data))


def _decode(data: bytes) -> str:
    content = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise FileSyntaxError(line, column, f"not UTF-8: byte 0x{content[error.start]:02X}") from error
    return text.replace("\r\n", "\n") if _has_crlf_only(data) else text


def _has_crlf_only(data: bytes) -> bool:
    return b"\r\n" in data and data.count(b"\r\n") == data.count(b"\n")


def write(file: ConfigFile, data: bytes, *, mode: int = NEW_FILE_MODE, has_backup: bool = True) -> Path | None:
    """Replace the file atomically and return the path of its backup; None if there is none.

    Args:
        file: the file as it was read.
        data: the new content.
        mode: the mode of a file that did not exist, before the umask.
        has_backup: whether to save the old content.

    Raises:
        InstallError: the file was changed since it was read, another process is installing, or writing failed.
    """
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        with _staged(file.path, mode) as staged:
            with os.fdopen(os.open(staged, os.O_WRONLY | getattr(os, "O_BINARY", 0)), "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            if file.data is not None:
                _copy_owner_and_mode(file.path, staged)
            _check_unchanged(file)
            backup = _backup(file) if file.data is not None and has_backup else None
            staged.replace(file.path)
    except OSError as error:
        raise InstallError(f"cannot write {error.filename or file.path}: {error.strerror}") from error
    return backup


@contextmanager
def _staged(path: Path, mode: int) -> Iterator[Path]:
    """Create the file that will replace `path`; at the same time it is the lock of installations."""
    staged = path.with_name(f".{path.name}.installing")
    try:
        os.close(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    except FileExistsError as error:
        message = f"{staged} exists: another installation is writing, or one was killed; wait, or remove that file"
        raise InstallError(message) from error
    try:
        yield staged
    finally:
        staged.unlink(missing_ok=True)


def _copy_owner_and_mode(source: Path, target: Path) -> None:
    status = source.stat()
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(target, status.st_uid, status.st_gid)
    target.chmod(stat.S_IMODE(status.st_mode))


def _backup(file: ConfigFile) -> Path:
    """Copy the present content to `NAME.bak`, or to `NAME.bak2` and so on if that exists with another content."""
    data = file.data or b""
    for number in range(1, 1000):
        backup = file.path.with_name(f"{file.path.name}.bak{number if number > 1 else ''}")
        try:
            descriptor = os.open(
                backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), NEW_FILE_MODE
            )
        except FileExistsError:
            if not backup.is_symlink() and backup.is_file() and backup.read_bytes() == data:
                return backup
            continue
        try:
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())
            _copy_owner_and_mode(file.path, backup)
        except OSError:
            backup.unlink()
            raise
        return backup
    raise InstallError(f"too many backups: remove some of {file.path}.bak*")


def _check_unchanged(file: ConfigFile) -> None:
    present = file.path.read_bytes() if file.path.exists() else None
    if present != file.data:
        raise InstallError(f"{file.path} was changed by another program during the installation; run it again")
