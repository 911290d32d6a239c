"""The rules of `rules.toml`: a severity for each kind of change."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Final


class Severity(StrEnum):
    """The effect of a change on those who use the old contract, the worst first."""

    BREAKING = "breaking"
    DANGEROUS = "dangerous"
    SAFE = "safe"

    @property
    def rank(self) -> int:
        """The position in the order of severities: 0 is the worst."""
        return list(Severity).index(self)


class Bump(StrEnum):
    """The part of a version that changes, the largest first."""

    MAJOR = "major"
    MINOR = "minor"
    PATCH = "patch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One kind of change."""

    name: str
    severity: Severity
    title: str
    why: str
    bump: Bump
    fix: str = ""


_BUMPS: Final = {Severity.BREAKING: Bump.MAJOR, Severity.DANGEROUS: Bump.MINOR}


@cache
def rules() -> Mapping[str, Rule]:
    """Return the rules by name, in the order of the file."""
    data = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))
    return {name: _rule(name, table) for name, table in data.items()}


def _rule(name: str, table: Mapping[str, str]) -> Rule:
    severity = Severity(table["severity"])
    return Rule(
        name=name,
        severity=severity,
        title=table["title"],
        why=table["why"],
        bump=_BUMPS.get(severity) or Bump(table["bump"]),
        fix=table.get("fix", ""),
    )


def worst(severities: Iterable[Severity]) -> Severity | None:
    """Return the worst severity; None if there is none."""
    return min(severities, key=lambda severity: severity.rank, default=None)
