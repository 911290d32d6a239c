"""What a provider would refuse or lose of a schema as it stands."""

from __future__ import annotations

from typing import Any, Final

from toolmason.schema.findings import Finding, Severity, json_pointer
from toolmason.schema.provider_rules import (
    ANNOTATIONS,
    KEYWORDS,
    RULES,
    UNLISTED_ANNOTATION,
    UNLISTED_KEYWORD,
    Rule,
)
from toolmason.schema.scan import KNOWN, Sighting, look
from toolmason.schema.target import Target

__all__ = ["RULES", "Rule", "check", "rules_for"]

_TABLE: Final = {(target, rule.pattern): rule for rule in RULES for target in rule.targets}


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
    """Give the rules of one target, in the order of the table."""
    reader = Target(target)
    return tuple(rule for rule in RULES if reader in rule.targets)


def _rule_for(sighting: Sighting, target: Target) -> Rule | None:
    """Give the row that says most about a sighting; None where the target does not mind."""
    listed = KEYWORDS.get(target)
    if not sighting.is_keyword and sighting.keyword and sighting.keyword not in (KNOWN if listed is None else listed):
        return None  # the keyword itself says enough
    for pattern in sighting.patterns:
        if (rule := _TABLE.get((target, pattern))) is not None:
            return None if isinstance(sighting.value, str) and sighting.value in rule.spared else rule
    if not sighting.is_keyword or listed is None or sighting.keyword in listed:
        return None
    limits_nothing = sighting.keyword in ANNOTATIONS or sighting.keyword not in KNOWN
    return _TABLE[target, UNLISTED_ANNOTATION if limits_nothing else UNLISTED_KEYWORD]


def _finding(sighting: Sighting, rule: Rule) -> Finding:
    is_unlisted = rule.pattern in {UNLISTED_KEYWORD, UNLISTED_ANNOTATION}
    return Finding(
        pointer=json_pointer(sighting.parts),
        pattern=sighting.keyword if is_unlisted else rule.pattern,
        severity=rule.severity,
        lossy=rule.severity is not Severity.NOTE,
        message=f"{sighting.about}: {rule.why}",
    )
