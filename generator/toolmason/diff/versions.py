"""The version that changes ask for, by Semantic Versioning (https://semver.org)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from toolmason.diff.contract import Change
from toolmason.diff.rules import Bump, rules

_VERSION: Final = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(?:[.+-].*)?")


def required_bump(changes: Iterable[Change]) -> Bump | None:
    """Return the largest bump that a change asks for; None without changes."""
    order = list(Bump)
    return min((rules()[change.rule].bump for change in changes), key=order.index, default=None)


def next_version(version: str, bump: Bump | None) -> str:
    """Return the lowest version after `version` with a bump; empty for a version of another form.

    Before 1.0.0, a major bump raises the second number and a minor one the third.
    """
    numbers = _numbers(version)
    if numbers is None or bump is None:
        return version if numbers else ""
    major, minor, patch = numbers
    if major == 0:
        return f"0.{minor + 1}.0" if bump is Bump.MAJOR else f"0.{minor}.{patch + 1}"
    match bump:
        case Bump.MAJOR:
            return f"{major + 1}.0.0"
        case Bump.MINOR:
            return f"{major}.{minor + 1}.0"
        case _:
            return f"{major}.{minor}.{patch + 1}"


def is_enough(version: str, required: str) -> bool:
    """Return whether `version` is at least `required`; true if one has another form."""
    own, wanted = _numbers(version), _numbers(required)
    return own is None or wanted is None or own >= wanted


def _numbers(version: str) -> tuple[int, int, int] | None:
    found = _VERSION.fullmatch(version)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else None
