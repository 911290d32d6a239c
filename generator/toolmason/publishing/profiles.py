"""The rules of each profile: what a registry or a directory requires, with its source, from `profiles/NAME.toml`."""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from toolmason.diagnostics import Severity
from toolmason.publishing.names import PROFILES

_DIRECTORY: Final = Path(__file__).with_name("profiles")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileRule:
    """One written rule.

    Args:
        id: The name of the rule in its profile.
        requires: The requirement in one sentence, without a full stop.
        fix: The change that fulfils it. `{name}` and the like are fields of the server.
        source: The address of the page with the rule.
        read: The date on which it was read.
        check: The function of `checks` that looks for violations. Empty if the rule cannot be checked here.
        parameters: The arguments of the check.
        enforced_by: The code that every manifest is checked for, if that includes the rule.
    """

    profile: str
    id: str
    requires: str
    fix: str
    source: str
    read: dt.date
    severity: Severity = Severity.ERROR
    check: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    enforced_by: str = ""

    @property
    def code(self) -> str:
        """The code of its findings, such as `mcp-registry/version`."""
        return f"{self.profile}/{self.id}"

    @property
    def is_manual(self) -> bool:
        """Whether only a person can check it."""
        return not self.check and not self.enforced_by


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The rules of one place."""

    name: str
    title: str
    rules: tuple[ProfileRule, ...]

    @property
    def manual_rules(self) -> tuple[ProfileRule, ...]:
        """The rules that only a person can check."""
        return tuple(rule for rule in self.rules if rule.is_manual)


@cache
def load_profile(name: str) -> Profile:
    """Return a profile.

    Raises:
        KeyError: there is no such profile.
    """
    if name not in PROFILES:
        raise KeyError(name)
    data = tomllib.loads((_DIRECTORY / f"{name}.toml").read_text(encoding="utf-8"))
    rules = tuple(_rule(name, row, data["sources"], data["read"]) for row in data["rules"])
    return Profile(name=name, title=data["title"], rules=rules)


def _rule(profile: str, row: Mapping[str, Any], sources: Mapping[str, str], read: dt.date) -> ProfileRule:
    keys = {key: row[key] for key in ("id", "requires", "fix", "check", "enforced_by") if key in row}
    return ProfileRule(
        profile=profile,
        source=sources[row["source"]],
        read=row.get("read", read),
        severity=Severity(row.get("severity", "error")),
        parameters=row.get("with", {}),
        **keys,
    )


def find_rule(code: str) -> ProfileRule | None:
    """Return the rule with a code such as `mcp-registry/version`; None if there is none."""
    profile, _, name = code.partition("/")
    if profile not in PROFILES:
        return None
    return next((rule for rule in load_profile(profile).rules if rule.id == name), None)


def explain_rule(rule: ProfileRule) -> str:
    """Return the rule with its reason and its fix, for a terminal. Ends with a newline."""
    checked = "Check it yourself." if rule.is_manual else f"Severity: {rule.severity}."
    if rule.enforced_by:
        checked = f"Every manifest is checked for it: {rule.enforced_by}."
    return f"{rule.code}: {rule.requires}.\n\nFix: {rule.fix}\n\n{checked}\nSource: {rule.source}, read {rule.read}\n"
