"""The providers of `hosts.toml`, which take the requests of another target with other limits. Read once."""

from __future__ import annotations

import datetime as dt
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from toolmason.schema.findings import Severity
from toolmason.schema.keywords import NO_EFFECT, VALUE_CHECKS
from toolmason.schema.providers import Dialect, Rule, providers
from toolmason.targets import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """A provider with the dialect and the rules of `target`, except its own."""

    title: str
    target: Target
    dialect: Dialect
    rules: Mapping[str, Rule]
    """Its own rules by their pattern."""
    max_name: int | None = None
    max_tools: int | None = None
    name_pattern: re.Pattern[str] | None = None
    """Pattern of accepted tool names; None for any."""
    source: str
    checked: dt.date


@cache
def hosts() -> Mapping[str, Host]:
    """Return the providers by their keys."""
    data = tomllib.loads(Path(__file__).with_name("hosts.toml").read_text(encoding="utf-8"))
    checked = data.pop("checked")
    return {key: _host({"checked": checked} | table) for key, table in data.items()}


def destination(name: str) -> str:
    """Return the target, or the key of the provider, that is called `name`.

    Raises:
        ValueError: neither is known.
    """
    names = (*Target, *hosts())
    if name not in names:
        raise ValueError(f"unknown target `{name}`; use one of {', '.join(names)}")
    return name if name in hosts() else Target(name)


def dialect_of(name: str) -> Dialect:
    """Return the dialect of a target or provider."""
    return hosts()[name].dialect if name in hosts() else providers().dialects[Target(name)]


def _host(table: Mapping[str, Any]) -> Host:
    target = Target(table["like"])
    base = providers().dialects[target]
    omitted = {name for rule in table.get("rules", ()) if rule.get("omits") for name in rule["patterns"]}
    changes: dict[str, Any] = {
        key: frozenset(value) if isinstance(value, list) else value for key, value in table.get("dialect", {}).items()
    }
    if omitted:
        listed = base.keywords if base.keywords is not None else frozenset(VALUE_CHECKS) | NO_EFFECT
        changes = {"keywords": listed - omitted} | changes
    limits = {key: table[key] for key in ("max_name", "max_tools") if key in table}
    return Host(
        title=table["title"],
        target=target,
        dialect=replace(base, sources=(table["source"],), checked=table["checked"], **changes),
        rules={pattern: _rule(rule, pattern, table) for rule in table.get("rules", ()) for pattern in rule["patterns"]},
        name_pattern=re.compile(table["name_pattern"]) if "name_pattern" in table else None,
        source=table["source"],
        checked=table["checked"],
        **limits,
    )


def _rule(rule: Mapping[str, Any], pattern: str, table: Mapping[str, Any]) -> Rule:
    return Rule(
        pattern=pattern,
        targets=(),
        severity=Severity(rule["severity"]),
        reason=rule["reason"],
        fix=rule.get("fix", ""),
        source=rule.get("source", table["source"]),
        checked=table["checked"],
    )
