"""What a provider would refuse or lose of a schema as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from toolmason.schema.findings import Finding, Severity, json_pointer
from toolmason.schema.providers import Rule, providers
from toolmason.schema.scan import KNOWN, Sighting, look
from toolmason.schema.target import Target

UNLISTED_KEYWORD: Final = "unlisted-keyword"
UNLISTED_ANNOTATION: Final = "unlisted-annotation"
"""Rules of these two patterns apply to every keyword that a target does not list and no other rule names."""


def check(schema: Any, target: Target | str) -> tuple[Finding, ...]:
    """List what `target` would refuse or lose of `schema` if it were sent as it stands.

    The findings stand in the order of the document. Whatever `schema` is, it is not changed, nothing is raised, and
    the walk ends: one finding says where, if that was before the end. For `mcp`, a finding tells what the clients of
    today and the providers behind them will do to the tool.

    Raises:
        ValueError: there is no such target.
    """
    reader = Target(target)
    sightings = look(schema)
    return tuple(_finding(sighting, rule) for sighting in sightings if (rule := _rule_for(sighting, reader)))


def rules_for(target: Target | str) -> tuple[Rule, ...]:
    """Return the rules of one target, in the order of the table."""
    reader = Target(target)
    return tuple(rule for rule in providers().rules if reader in rule.targets)


@cache
def _rules_by_pattern(target: Target) -> Mapping[str, Rule]:
    return {rule.pattern: rule for rule in rules_for(target)}


def _rule_for(sighting: Sighting, target: Target) -> Rule | None:
    """Return the rule that says most about a sighting; None where the target does not mind."""
    rules, listed = _rules_by_pattern(target), providers().dialects[target].keywords
    if not sighting.is_keyword and sighting.keyword and sighting.keyword not in (KNOWN if listed is None else listed):
        return None  # the keyword itself says enough
    for pattern in sighting.patterns:
        if (rule := rules.get(pattern)) is not None:
            return None if isinstance(sighting.value, str) and sighting.value in rule.spared else rule
    if not sighting.is_keyword or listed is None or sighting.keyword in listed:
        return None
    limits_nothing = sighting.keyword in providers().annotations or sighting.keyword not in KNOWN
    return rules[UNLISTED_ANNOTATION if limits_nothing else UNLISTED_KEYWORD]


def _finding(sighting: Sighting, rule: Rule) -> Finding:
    is_unlisted = rule.pattern in {UNLISTED_KEYWORD, UNLISTED_ANNOTATION}
    return Finding(
        pointer=json_pointer(sighting.parts),
        pattern=sighting.keyword if is_unlisted else rule.pattern,
        severity=rule.severity,
        lossy=rule.severity is not Severity.NOTE,
        message=f"{sighting.about}: {rule.why}",
    )
