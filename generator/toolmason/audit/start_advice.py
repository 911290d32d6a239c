"""The stderr of a server that did not start shows what it lacks: a key, a program or the network."""

from __future__ import annotations

import re
from typing import Final

_VARIABLE: Final = re.compile(r"\b[A-Z][A-Z0-9]{0,40}(?:_[A-Z0-9]{1,40}){1,8}\b")
_MISSING: Final = re.compile(
    r"\b(?:required|requires|missing|must be|not set|not provided|not found|undefined|is empty|cannot be empty"
    r"|please set|provide)\b",
    re.IGNORECASE,
)
_KEY: Final = re.compile(r"\b(?:api[ _-]?key|access[ _-]?token|token|credentials?|password|secret)s?\b", re.IGNORECASE)
_NETWORK: Final = re.compile(
    r"\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ECONNREFUSED|getaddrinfo|network is unreachable|fetch failed"
    r"|name or service not known|temporary failure in name resolution|no address associated|name resolution"
    r"|connection refused|connecterror|connectionerror|max retries exceeded)\b",
    re.IGNORECASE,
)
_EITHER: Final = re.compile(r"\b(?:or|either|one of)\b", re.IGNORECASE)
_CODES: Final = ("ERR_", "EAI_", "MODULE_NOT_FOUND")
"""Beginnings of error codes of Node.js, which look like variables."""
_MAX_NAMED: Final = 3


def start_advice(stderr: str, *, is_confined: bool = False) -> str:
    """Return what to set or to allow so that a server starts; an empty string if its stderr does not show it.

    A confined server gets only the variables that are passed on to it.
    """
    for line in stderr.splitlines():
        if not _MISSING.search(line):
            continue
        names = [name for name in dict.fromkeys(_VARIABLE.findall(line)) if not name.startswith(_CODES)]
        if names:
            listed = (" or " if _EITHER.search(line) else ", ").join(f"`{name}`" for name in names[:_MAX_NAMED])
            passed = f", and pass it on: `--pass-env {names[0]}`, in a manifest `pass_env`" if is_confined else ""
            return (
                f"it needs {listed}: set the environment variable{passed}; to list tools, many servers accept any value"
            )
        if _KEY.search(line):
            return "it needs a key or a token: see its documentation; to list tools, many servers accept any value"
    if _NETWORK.search(stderr):
        return "it needs the network to start: run this where it can reach its service"
    return ""
