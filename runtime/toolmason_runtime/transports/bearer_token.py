"""The bearer token of an HTTP server: read from a file, or created once and reused at every start."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from pathlib import Path

from toolmason_runtime.calls.secrets import protect
from toolmason_runtime.transports.http_access import AccessError

MIN_LENGTH = 16
"""Minimum characters of a token; shorter tokens can be guessed."""
MAX_BYTES = 4096
"""Maximum bytes read from a token file."""
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""`b64token` of RFC 6750, section 2.1."""


def read_token(path: Path) -> str:
    """Return the token in the file `path`, without the white space around it. Links are followed.

    Raises:
        AccessError: the file cannot be read, is not a regular file, does not contain a token, or other users can read
            or write it.
    """
    try:
        # A pipe without a writer would block.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        with os.fdopen(descriptor, "rb") as file:
            _check_file(os.fstat(file.fileno()), path)
            return _parse_token(file.read(MAX_BYTES), path)
    except OSError as error:
        raise AccessError(f"cannot read the token file {path}: {error.strerror}") from error


def _check_file(about: os.stat_result, path: Path) -> None:
    """Raise AccessError unless a file is a regular one that is private, as OpenSSH requires of a private key.

    A file of root that this user can read belongs to its group, as in a mounted Kubernetes secret with `fsGroup`.
    """
    if not stat.S_ISREG(about.st_mode):
        raise AccessError(f"the token file {path} must be a regular file, not a pipe or device")
    if about.st_size > MAX_BYTES:
        raise AccessError(f"the token file {path} has {about.st_size} bytes; it must contain one token")
    if sys.platform == "win32":
        return  # the mode does not show the access list
    user = os.geteuid()
    if about.st_uid not in (user, 0):
        raise AccessError(f"the token file {path} belongs to another user: copy it to a file of your own")
    allowed = 0o740 if about.st_uid != user else 0o700
    if (mode := stat.S_IMODE(about.st_mode)) & 0o777 & ~allowed:
        fix = f"run `chmod 600 {path}`" if about.st_uid == user else f"run `chmod 640 {path}` as root"
        raise AccessError(
            f"other users can read or write the token file {path} (mode {mode:04o}): {fix};"
            " for a mounted secret, set `defaultMode: 0400` (Kubernetes) or `mode: 0400` (Docker)"
        )


def own_token(program: str) -> tuple[str, Path]:
    """Return the token of `program` for this user, and its file; create both at the first start.

    Raises:
        AccessError: the file cannot be created or read, or other users can read it.
    """
    try:
        path = state_directory() / program / "http-token"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _create_token(path) or _read_own(path), path
    except (OSError, RuntimeError) as error:
        raise AccessError(f"cannot create a token file: {error}; set one with --token-file") from error


def _create_token(path: Path) -> str:
    """Create the file with a new token and return it; return an empty text if the file exists."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return ""
    token = secrets.token_urlsafe(32)
    protect([token])
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{token}\n")
    return token


def _read_own(path: Path) -> str:
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        about = os.fstat(file.fileno())
        if sys.platform != "win32" and (about.st_uid != os.geteuid() or stat.S_IMODE(about.st_mode) & 0o077):
            raise AccessError(f"other users can read the token file {path}: remove it, and a new one is created")
        return _parse_token(file.read(MAX_BYTES), path)


def _parse_token(text: bytes, path: Path) -> str:
    """Return the token in a text, which no log contains from now on."""
    token = text.strip().decode("utf-8", "replace")
    if len(token) < MIN_LENGTH or not _TOKEN.fullmatch(token):
        raise AccessError(
            f"the token file {path} must contain one token of at least {MIN_LENGTH} letters, digits or -._~+/"
        )
    protect([token])
    return token


def state_directory() -> Path:
    """Return the directory for the user's state of programs.

    A relative `XDG_STATE_HOME` is invalid, and one within the working directory may be part of a project.
    """
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    directory = Path(os.environ.get("XDG_STATE_HOME", ""))
    if directory.is_absolute() and not directory.resolve().is_relative_to(Path.cwd()):
        return directory
    return Path.home() / ".local" / "state"
