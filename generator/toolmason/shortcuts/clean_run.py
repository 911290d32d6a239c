"""The record of a clean run: the inode, size and times of all files on which its outcome depends.

If all of them are as recorded, nothing has changed, and no content is read. Git finds changed files by the same rule.
`write.record_clean_run` writes the record after a run that has compared all contents.
"""

from __future__ import annotations

import binascii
import os
import sys

from toolmason.user_directory import cache_directory, is_ci, is_private

FORMAT = 1
"""Number of the form of records."""
ABSENT = b"absent"
UNREADABLE = b"unreadable"
"""State of a path that exists but cannot be read. Records never contain it."""
END = b"end"
"""The last entry of a complete record."""


def load_clean_run() -> str:
    """Return the output of the last clean run here; empty if there was none, or if anything has changed since."""
    if not is_supported():
        return ""
    try:
        key = run_key()
        path = clean_run_path(key)
        if not path or not is_private(os.path.dirname(path)):  # noqa: PTH120
            return ""
        with open(path, "rb") as file:  # noqa: PTH123
            recorded_key, text, *entries, end = file.read().split(b"\0")
    except (OSError, ValueError):
        return ""
    if recorded_key != key or end != END:
        return ""
    for entry in entries:
        state, _, name = entry.partition(b" ")
        if file_state(name) != state:
            return ""
    return text.decode()


def is_supported() -> bool:
    """Return False in CI, as for the records of `write.cache`, and on Windows.

    On Windows, programs can set all times of a file. Elsewhere, only the system sets the change time.
    """
    return sys.platform != "win32" and not is_ci()


def run_key() -> bytes:
    """Return the inputs of a run that are not files: interpreter, import path, directory and variables.

    Raises:
        OSError: the working directory has been deleted.
    """
    variables = sorted(item for item in os.environ.items() if item[0].startswith("TOOLMASON_"))
    return ascii((FORMAT, sys.version, sys.path, os.getcwd(), variables)).encode()  # noqa: PTH109


def clean_run_path(key: bytes) -> str:
    """Return the path of the record of a key, which may not exist; empty without a cache directory."""
    directory = cache_directory(os.getcwd())  # noqa: PTH109
    return os.path.join(directory, f"clean-{binascii.crc32(key):08x}") if directory else ""  # noqa: PTH118


def file_state(path: bytes) -> bytes:
    """Return the inode, size and times of a file or directory: those of its target, if it is a link."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return UNREADABLE if os.path.lexists(path) else ABSENT
    return b"%d:%d:%d:%d" % (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
