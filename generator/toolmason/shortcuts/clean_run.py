"""The record of a clean run: the inode, size and times of all files on which its outcome depends.

If all of them are as recorded, nothing has changed, and no content is read. Git finds changed files by the same rule.
`write.record_clean_run` writes the record after a run that has compared all contents.
"""

from __future__ import annotations

import binascii
import os
import stat
import sys

from toolmason.user_directory import cache_directory, is_ci, is_private

FORMAT = 1
"""Number of the form of records."""
ABSENT = b"absent"
UNREADABLE = b"unreadable"
"""State of a path that exists but cannot be read. Records never contain it."""
END = b"end"
"""The last entry of a complete record."""
MAX_BYTES = 100_000_000
"""Maximum bytes of a record. A file is an entry of about 150 bytes."""


def load_clean_run() -> str:
    """Return the output of the last clean run here; empty if there was none, or if anything has changed since."""
    if not is_supported():
        return ""
    try:
        key = run_key()
        path = clean_run_path(key)
        # Only a regular file: opening a pipe would wait.
        if not path or not is_private(os.path.dirname(path)) or not 0 < _regular_size(path) < MAX_BYTES:  # noqa: PTH120
            return ""
        with open(path, "rb") as file:  # noqa: PTH123
            recorded_key, text, *entries, end = file.read(MAX_BYTES).split(b"\0")
        output = text.decode()
    except (OSError, ValueError):
        return ""
    if recorded_key != key or end != END or not entries:
        return ""
    for entry in entries:
        state, _, name = entry.partition(b" ")
        if file_state(name) != state:
            return ""
    return output


def _regular_size(path: str) -> int:
    """Return the bytes of a file; 0 for a link or another entry that is not a regular file."""
    status = os.lstat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def is_supported() -> bool:
    """Return False in CI, as for the records of `write.cache`, on Windows, and if a variable of ours is set.

    On Windows, programs can set all times of a file. Elsewhere, only the system sets the change time. The variables
    change what commands do, and a record must not contain their values: one may be a password.
    """
    return sys.platform != "win32" and not is_ci() and not any(name.startswith("TOOLMASON_") for name in os.environ)


def run_key() -> bytes:
    """Return the inputs of a run that are not files: interpreter, import path and directory.

    Raises:
        OSError: the working directory has been deleted.
    """
    return ascii((FORMAT, sys.version, sys.path, os.getcwd())).encode()  # noqa: PTH109


def clean_run_path(key: bytes) -> str:
    """Return the path of the record of a key, which may not exist; empty without a project or a cache directory.

    Raises:
        OSError: the working directory has been deleted, or a directory cannot be listed.
    """
    project = _project(os.getcwd())  # noqa: PTH109
    directory = cache_directory(project) if project else ""
    return os.path.join(directory, f"clean-{binascii.crc32(key):08x}") if directory else ""  # noqa: PTH118


def _project(start: str) -> str:
    """Return the project that `project.find_project` finds from a directory upwards; empty if there is none."""
    directory = os.path.realpath(start)
    while True:
        manifests = os.path.join(directory, "manifest")  # noqa: PTH118
        if os.path.isdir(manifests) and any(name.endswith(".toml") for name in os.listdir(manifests)):  # noqa: PTH112, PTH208
            return directory
        parent = os.path.dirname(directory)  # noqa: PTH120
        if parent == directory:
            return ""
        directory = parent


def file_state(path: bytes) -> bytes:
    """Return the device, inode, size and times of a file or directory: those of its target, if it is a link."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return UNREADABLE if os.path.lexists(path) else ABSENT
    fields = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return b"%d:%d:%d:%d:%d" % fields
