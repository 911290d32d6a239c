"""Read input files of a project: regular files inside it with at most `MAX_INPUT_BYTES`.

A project may be an untrusted clone: a link can lead to private files, a pipe never ends, and a large file can exhaust
the memory.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, Final

MAX_INPUT_BYTES: Final = 16 * 1024 * 1024
"""Maximum size of a manifest, schema, handler module or template."""
_CHUNK_BYTES: Final = 64 * 1024
# Without O_NONBLOCK, opening a pipe waits for a writer; without O_NOFOLLOW, a link created meanwhile is followed.
_OPEN_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)


class UnsafeInputError(OSError):
    """A file that must not be read, reported like other unreadable files. `reason` equals `strerror`."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(None, reason, str(path))
        self.reason = reason


def read_input(path: Path, root: Path, *, max_bytes: int = MAX_INPUT_BYTES) -> bytes:
    """Return the content of the file at `path`, which must be inside `root`.

    Raises:
        UnsafeInputError: it is outside `root`, is not a regular file, or has more than `max_bytes`.
        OSError: it cannot be read.
        ValueError: `path` contains a null byte.
    """
    with open_input(path, root, max_bytes) as file:
        # `read` reserves memory for all bytes that it may return: not `max_bytes` for each small file.
        size = os.fstat(file.fileno()).st_size
        data = file.read(size + 1)
        if len(data) > size:  # The file has grown.
            data += file.read(max_bytes)
    if len(data) > max_bytes:
        raise _too_large(path, max_bytes)
    return data


def hash_input(path: Path, root: Path) -> tuple[int, str]:
    """Return the size and SHA-256 of a file without loading it into memory. Raises the same errors as `read_input`."""
    digest = sha256()
    size = 0
    with open_input(path, root, MAX_INPUT_BYTES) as file:
        while chunk := file.read(_CHUNK_BYTES):
            size += len(chunk)
            if size > MAX_INPUT_BYTES:
                raise _too_large(path, MAX_INPUT_BYTES)
            digest.update(chunk)
    return size, digest.hexdigest()


def is_inside(path: Path, root: Path) -> bool:
    """Return whether `path` is in `root` after links are resolved."""
    return _is_below(os.path.realpath(path), root)


def _is_below(real: str, root: Path) -> bool:
    # `real` has no links. If it starts with `root`, `root` has none either and need not be resolved. Otherwise,
    # `pathlib` compares, also by the rules of Windows.
    return real.startswith(f"{root}{os.sep}") or Path(real).is_relative_to(os.path.realpath(root))


def open_input(path: Path, root: Path, max_bytes: int) -> BinaryIO:
    """Return the open file at `path`. Raises the same errors as `read_input`."""
    real = os.path.realpath(path)
    if not _is_below(real, root):
        raise UnsafeInputError(path, "it is outside the project")
    descriptor = os.open(real, _OPEN_FLAGS)
    try:
        _check_status(os.fstat(descriptor), path, max_bytes)
        return open(descriptor, "rb")  # noqa: PTH123 - opens a descriptor
    except BaseException:
        os.close(descriptor)
        raise


def _check_status(status: os.stat_result, path: Path, max_bytes: int) -> None:
    if S_ISDIR(status.st_mode):
        raise UnsafeInputError(path, "it is a directory")
    if not S_ISREG(status.st_mode):
        raise UnsafeInputError(path, "it is not a regular file")
    if status.st_size > max_bytes:
        raise _too_large(path, max_bytes)


def _too_large(path: Path, max_bytes: int) -> UnsafeInputError:
    return UnsafeInputError(path, f"it is larger than {max_bytes // 1024 // 1024} MiB")
