"""What the user's own files hold that must not be shown: the keys and tokens that the program signs in with."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from workbench_handlers.model_backends.gemini_files import FOLDER, assigned, without_comments

_MAX_LENGTH: Final = 256 * 1024
_QUOTED: Final = re.compile(r"'([^']+)'|\"([^\"]+)\"|`([^`]+)`")
_PIECE: Final = re.compile(r"[\w+/=.~-]{16,}")
_MEMBER: Final = re.compile(r'("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*")')
_STRING: Final = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))(\s*:)?', re.DOTALL)
"""A string; a colon follows the name of a member."""
_REFERENCE: Final = re.compile(r"\$(?:\w+|\{[^}]*\})")
_SCHEME: Final = re.compile(r"^(?:bearer|basic|token)\s+", re.IGNORECASE)

Pairs = tuple[tuple[str, str], ...]


class _File(NamedTuple):
    path: str
    read: Callable[[str], Iterable[tuple[str, str]]]


def held(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give the names and values in the files of whose environment this is; what is no secret among them as well.

    A file is read again when it has changed.
    """
    return chain.from_iterable(_pairs(each) for each in _files(environ))


def _files(environ: Mapping[str, str]) -> Iterator[_File]:
    named = (environ.get(name, "") for name in ("GEMINI_CLI_HOME", "HOME"))
    for home in {Path(each): None for each in named if each}:
        yield _File(str(home / ".env"), _assigned)
        yield _File(str(home / FOLDER / ".env"), _assigned)
        yield _File(str(home / FOLDER / "settings.json"), _settings)
        yield _File(str(home / FOLDER / "oauth_creds.json"), _fields)
        yield _File(str(home / FOLDER / "gemini-credentials.json"), _all)
        yield _File(str(home / ".config" / "gcloud" / "application_default_credentials.json"), _fields)
    if service := environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        yield _File(service, _fields)


def _pairs(file: _File) -> Pairs:
    try:
        found = Path(file.path).stat()
    except (OSError, ValueError):
        return ()
    if not stat.S_ISREG(found.st_mode):
        return ()
    return _read(file, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))


@lru_cache(maxsize=32)
def _read(file: _File, _state: tuple[int, ...]) -> Pairs:
    try:
        # It may have become a pipe since, which must not hold anybody.
        descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as opened:
            text = (opened.read(_MAX_LENGTH) or b"").decode("utf-8", "replace")
        return tuple(file.read(text))
    except (OSError, ValueError, RecursionError):
        return ()


def _assigned(text: str) -> Iterator[tuple[str, str]]:
    for name, value in assigned(text).items():
        yield name, value
        # What a shell reads such a line as is no less secret.
        for found in _QUOTED.finditer(value):
            yield name, found[1] or found[2] or found[3]


def _fields(text: str) -> Iterator[tuple[str, str]]:
    return _leaves(json.loads(text), "")


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Return the strings with the names of their members. The file may have comments, and settings in them.

    The environment, headers and arguments of MCP servers are there. `$NAME` is a reference and no secret. All strings
    of an invalid file count as secrets.
    """
    plain = without_comments(text)
    try:
        pairs = list(_leaves(json.loads(plain, strict=False), ""))
    except (ValueError, RecursionError):
        pairs = [("SECRET", _unquoted(match[1])) for match in _STRING.finditer(plain) if not match[2]]
    pairs += [(_unquoted(match[1]), _unquoted(match[2])) for match in _MEMBER.finditer(text)]
    for name, value in pairs:
        if not _REFERENCE.fullmatch(value):
            yield name, value
            yield name, _SCHEME.sub("", value)


def _unquoted(text: str) -> str:
    """Return the value of a JSON string; the text between its quotes if it is invalid."""
    try:
        return str(json.loads(text, strict=False))
    except ValueError:
        return text.strip('"')


def _all(text: str) -> Iterator[tuple[str, str]]:
    """Take everything in it for a secret: it may be encrypted, and still opens the account where it was made."""
    try:
        found = [value for _, value in _leaves(json.loads(text), "")]
    except (ValueError, RecursionError):
        found = _PIECE.findall(text)
    return (("SECRET", value) for value in found)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _leaves(each, str(key))
    elif isinstance(value, list):
        flag = ""
        for each in value:
            yield from _leaves(each, f"{name}{flag}")
            # The value of `--token` is the next argument, or follows `=`.
            flag, _, rest = each.partition("=") if isinstance(each, str) and each.startswith("-") else ("", "", "")
            if rest:
                yield flag, rest
                flag = ""
    elif isinstance(value, str):
        yield name, value
