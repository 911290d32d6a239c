"""Properties of the installed program on disk, so that a server can use a program that an earlier one has inspected.

An entry never selects a program: it has the features of the one at a path, which settings and PATH select. It belongs
to one state of that file: another path, size, time of modification or inode makes it void. A file that others can
access is ignored, so a checkout cannot contain one; an entry is void after a day, since the launcher of a version
manager stays the same when the program behind it is updated. An older entry is used only if the program is too slow
to be inspected.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Final

from workbench_research.model_backends.adapter import Program
from workbench_research.model_backends.selection import PROGRAM

TTL_S: Final = 24 * 3600.0
"""Seconds in which an entry is used."""

_MAX_BYTES: Final = 64 * 1024


def load_program(
    path: str, key: Sequence[str | int], environ: Mapping[str, str], *, any_age: bool = False
) -> Program | None:
    """Return the stored properties of the program at `path`; None if its file has another `key`, or they are old.

    With `any_age`, old ones are returned too.
    """
    file = _file(environ)
    if file is None:
        return None
    entry: Any = None
    with suppress(OSError, ValueError, RecursionError):
        entry = json.loads(_read(file))
    match entry:
        case {"key": list(stored), "time": float(at), "version": str(version), "features": list(features)}:
            is_valid = stored == list(key) and (any_age or 0 <= time.time() - at < TTL_S)
            if is_valid and all(isinstance(feature, str) for feature in features):
                return Program(path=path, name=PROGRAM, version=version, features=frozenset(features))
    return None


def store_program(program: Program, key: Sequence[str | int], environ: Mapping[str, str]) -> None:
    """Store the properties of a program. A failure is ignored: the next server inspects the program again."""
    file = _file(environ)
    if file is None:
        return
    entry = {"key": key, "time": time.time(), "version": program.version, "features": sorted(program.features)}
    temporary = file.with_name(f".{token_hex(8)}.tmp")
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(json.dumps(entry).encode())
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)


def _file(environ: Mapping[str, str]) -> Path | None:
    """Return the file in the user's cache directory; None if the environment names no home."""
    home = environ.get("LOCALAPPDATA" if sys.platform == "win32" else "HOME", "")
    if not Path(home).is_absolute():
        return None
    places = {"win32": (), "darwin": ("Library", "Caches")}
    return Path(home, *places.get(sys.platform, (".cache",)), "toolmason-workbench", f"{PROGRAM}.json")


def _read(file: Path) -> bytes:
    """Read a file that only this user can access; others are empty."""
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as stream:
        status = os.fstat(stream.fileno())
        is_ours = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o077)
        return stream.read(_MAX_BYTES) if is_ours and stat.S_ISREG(status.st_mode) else b""
