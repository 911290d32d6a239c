"""The user's private cache directory, the only place outside a project where the toolkit stores files.

Files in a project may come from a stranger. Files in this directory can only come from this user.
"""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from toolmason import user_directory
from toolmason.manifest.input_files import MAX_INPUT_BYTES, open_input, read_input

_KEY_BYTES: Final = 32
_DRAFT: Final = "draft-"
"""The start of the name of a file that is being written. A killed process leaves it behind."""
MAX_AGE_S: Final = 30 * 24 * 60 * 60
"""Seconds after which a file about a project is removed."""


def cache_directory(project: Path) -> Path | None:
    """Return the cache directory, which may not exist yet; None if it is unknown, relative or in `project`."""
    directory = user_directory.cache_directory(str(project))
    return Path(directory) if directory else None


def read_cached(path: Path, *, max_bytes: int = MAX_INPUT_BYTES) -> bytes:
    """Return the content of a file of the cache directory.

    Raises:
        OSError: it cannot be read, or the directory is not the user's own.
    """
    _require_private(path.parent)
    return read_input(path, path.parent, max_bytes=max_bytes)


def open_cached(path: Path, *, max_bytes: int) -> BinaryIO:
    """Return the open file at `path`, in the cache directory. Raises the same errors as `read_cached`."""
    _require_private(path.parent)
    return open_input(path, path.parent, max_bytes)


def write_cached(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file of the cache directory atomically; create the directory, private to this user, if necessary.

    Raises:
        OSError: it cannot be written, or the directory is not the user's own.
    """
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    _require_private(path.parent)
    descriptor, draft = tempfile.mkstemp(prefix=_DRAFT, dir=path.parent)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - opens a descriptor
            file.writelines((data,) if isinstance(data, bytes) else data)
        os.replace(draft, path)  # noqa: PTH105 - both are names
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)  # noqa: PTH108 - a name
        raise


def remove_old(directory: Path, *kinds: str) -> None:
    """Remove drafts, and files whose name starts with one of `kinds`, that were written before `MAX_AGE_S`.

    Projects move and disappear, and nothing else removes their files.

    Raises:
        OSError: the directory cannot be listed.
    """
    oldest = time.time() - MAX_AGE_S
    with os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.startswith((_DRAFT, *kinds)) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(entry)  # noqa: PTH108 - an entry


def user_key(project: Path, *, make: bool = False) -> bytes | None:
    """Return the user's secret key, or None if there is none; with `make`, create it if it can be stored."""
    directory = cache_directory(project)
    if directory is None:
        return None
    path = directory / "key"
    with suppress(OSError):
        if make and not path.exists():
            write_cached(path, secrets.token_bytes(_KEY_BYTES))
        key = read_cached(path)
        return key if len(key) == _KEY_BYTES else None
    return None


def _require_private(directory: Path) -> None:
    """Raise PermissionError if another user owns or can open the directory."""
    if not user_directory.is_private(str(directory)):
        raise PermissionError(None, "it is not private to this user", str(directory))
