"""Versions of packages: Python's form and semantic versions."""

from __future__ import annotations

import re
from typing import Final

NUMBERS: Final = 3
_PRE: Final = {"a": "alpha", "b": "beta", "rc": "rc"}
_SEMANTIC: Final = re.compile(
    r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)"
    r"(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
"""See https://semver.org."""


def is_semantic(version: str) -> bool:
    """Return whether a version is a semantic version."""
    return _SEMANTIC.fullmatch(version) is not None


def semantic_version(version: str) -> str:
    """Return the semantic version for a version of Python; empty if there is none.

    For example, `1.2` becomes `1.2.0` and `1.0.0rc1` becomes `1.0.0-rc.1`. Post-releases, epochs, local versions and
    versions with four numbers have no such form.
    """
    from packaging.version import InvalidVersion, Version

    if is_semantic(version):
        return version
    try:
        parsed = Version(version)
    except InvalidVersion:
        return ""
    is_python_only = parsed.epoch or parsed.post is not None or parsed.local or (parsed.pre and parsed.dev is not None)
    if is_python_only or len(parsed.release) > NUMBERS:
        return ""
    numbers = ".".join(str(number) for number in (*parsed.release, 0, 0)[:NUMBERS])
    if parsed.pre:
        kind, number = parsed.pre
        return f"{numbers}-{_PRE[kind]}.{number}"
    return f"{numbers}-0.dev.{parsed.dev}" if parsed.dev is not None else numbers
