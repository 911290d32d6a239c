"""Keys and tokens in the user's own files, which must not be shown."""

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

from workbench_research.gemini_files import GEMINI_DIRECTORY, parse_dotenv, without_comments

_MAX_BYTES: Final = 256 * 1024
_QUOTED: Final = re.compile(r"'([^']+)'|\"([^\"]+)\"|`([^`]+)`")
_PIECE: Final = re.compile(r"[\w+/=.~-]{16,}")
"""A token in a file that is not JSON: `ya29.a0AfB_byC...`."""
_MEMBER: Final = re.compile(r'(?<!\\)("(?:[^"\\]++|\\.)*+")\s*+:\s*+("(?:[^"\\]++|\\.)*+")')
"""A member with a text, also in a comment: `"apiKey": "..."`."""
_STRING: Final = re.compile(r'("(?:[^"\\]++|\\.?)*+(?:"|\Z))(\s*+:)?', re.DOTALL)
"""A string; a colon follows the name of a member."""
_REFERENCE: Final = re.compile(r"\$(?:\w+|\{[^}]*\})")
"""A variable in place of a value: `$API_KEY`, `${API_KEY}`."""
_SCHEME: Final = re.compile(r"^(?:bearer|basic|token)\s+", re.IGNORECASE)

Pairs = tuple[tuple[str, str], ...]


class _File(NamedTuple):
    path: str
    read: Callable[[str], Iterable[tuple[str, str]]]


def load_credentials(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return the names and values in the credential files of `environ`, including values that are not secret.

    A file is read again when it changes.
    """
    return chain.from_iterable(_pairs(file) for file in _files(environ))


def _files(environ: Mapping[str, str]) -> Iterator[_File]:
    for home in dict.fromkeys(Path(environ[name]) for name in ("GEMINI_CLI_HOME", "HOME") if environ.get(name)):
        yield _File(str(home / ".env"), _dotenv_values)
        yield _File(str(home / GEMINI_DIRECTORY / ".env"), _dotenv_values)
        yield _File(str(home / GEMINI_DIRECTORY / "settings.json"), _settings_values)
        yield _File(str(home / GEMINI_DIRECTORY / "oauth_creds.json"), _json_values)
        yield _File(str(home / GEMINI_DIRECTORY / "gemini-credentials.json"), _all_values)
        yield _File(str(home / ".config" / "gcloud" / "application_default_credentials.json"), _json_values)
    if service := environ.get("GOOGLE_APPLICATION_CREDENTIALS"):
        yield _File(service, _json_values)


def _pairs(file: _File) -> Pairs:
    try:
        status = Path(file.path).stat()
    except (OSError, ValueError):
        return ()
    if not stat.S_ISREG(status.st_mode):
        return ()
    return _read(file, (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=32)
def _read(file: _File, _state: tuple[int, ...]) -> Pairs:
    try:
        # A pipe in its place must not block.
        descriptor = os.open(file.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as stream:
            text = (stream.read(_MAX_BYTES) or b"").decode("utf-8", "replace")
        return tuple(file.read(text))
    except (OSError, ValueError, RecursionError):
        return ()


def _dotenv_values(text: str) -> Iterator[tuple[str, str]]:
    for name, value in parse_dotenv(text).items():
        yield name, value
        # The part in quotes, as a shell reads it, is secret as well.
        for match in _QUOTED.finditer(value):
            yield name, match[1] or match[2] or match[3]


def _json_values(text: str) -> Iterator[tuple[str, str]]:
    return _leaves(json.loads(text), "")


def _settings_values(text: str) -> Iterator[tuple[str, str]]:
    """Return the strings with the names of their members. The file may have comments, and settings in them.

    The environment, headers and arguments of MCP servers are included. All strings of an invalid file count as secrets.
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


def _all_values(text: str) -> Iterator[tuple[str, str]]:
    """Return every value as a secret: an encrypted file still opens the account on the machine where it was made."""
    try:
        values = [value for _, value in _leaves(json.loads(text), "")]
    except (ValueError, RecursionError):
        values = _PIECE.findall(text)
    return (("SECRET", value) for value in values)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _leaves(child, str(key))
    elif isinstance(value, list):
        flag = ""
        for child in value:
            yield from _leaves(child, f"{name}{flag}")
            # The value of `--token` is the next argument, or follows `=`.
            flag, _, rest = child.partition("=") if isinstance(child, str) and child.startswith("-") else ("", "", "")
            if rest:
                yield flag, rest
                flag = ""
    elif isinstance(value, str):
        yield name, value
