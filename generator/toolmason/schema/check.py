"""`check`: list what a provider rejects or ignores in a schema that is sent unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from toolmason.schema.findings import Finding, Severity, json_pointer
from toolmason.schema.hosts import destination, dialect_of, hosts
from toolmason.schema.providers import Dialect, Rule, providers
from toolmason.schema.scan import KNOWN_KEYWORDS, Occurrence, scan_schema
from toolmason.targets import Target

UNLISTED_KEYWORD: Final = "unlisted-keyword"
UNLISTED_ANNOTATION: Final = "unlisted-annotation"
"""Rules of these two patterns apply to every keyword that a target does not list and that has no rule of its own."""


def check(schema: Any, target: Target | str) -> tuple[Finding, ...]:
    """List what `target`, or a provider of `hosts.toml`, would reject or lose of `schema` if it were sent unchanged.

    The findings are in document order. `schema` may be any value; it is not changed, and the scan is bounded: a
    finding reports where it stopped early. For `mcp`, findings describe today's clients and the providers behind them.

    Raises:
        ValueError: unknown target.
    """
    target = destination(target)
    return check_targets(schema, [target])[target]


def check_targets(schema: Any, targets: Iterable[str]) -> dict[str, tuple[Finding, ...]]:
    """Scan `schema` once and return the findings of `check` for each target and provider."""
    occurrences = scan_schema(schema)
    return {target: tuple(_judge(occurrences, target)) for target in targets}


def _judge(occurrences: Iterable[Occurrence], target: str) -> Iterator[Finding]:
    for occurrence in occurrences:
        rule = _find_rule(occurrence, target)
        if rule is not None:
            yield _finding(occurrence, rule)


def rules_for(target: Target | str) -> tuple[Rule, ...]:
    """Return the rules of one target, in the order of the table."""
    target = Target(target)
    return tuple(rule for rule in providers().rules if target in rule.targets)


@cache
def _rules_by_pattern(target: str) -> Mapping[str, Rule]:
    if target in hosts():
        host = hosts()[target]
        return {**_rules_by_pattern(host.target), **host.rules}
    return {rule.pattern: rule for rule in rules_for(target)}


def _find_rule(occurrence: Occurrence, target: str) -> Rule | None:
    """Return the most specific rule about an occurrence; None if the target accepts it."""
    rules, dialect = _rules_by_pattern(target), dialect_of(target)
    listed = dialect.keywords if UNLISTED_KEYWORD in rules else None
    keyword = occurrence.keyword
    if not occurrence.is_keyword and keyword and keyword not in (KNOWN_KEYWORDS if listed is None else listed):
        return None  # The keyword itself has a finding.
    for pattern in occurrence.patterns:
        if (rule := rules.get(pattern)) is not None:
            return None if pattern == "format" and _is_listed_format(occurrence.value, dialect) else rule
    if not occurrence.is_keyword or listed is None or keyword in listed:
        return None
    is_annotation = keyword in providers().annotations or keyword not in KNOWN_KEYWORDS
    return rules[UNLISTED_ANNOTATION if is_annotation else UNLISTED_KEYWORD]


def _is_listed_format(value: Any, dialect: Dialect) -> bool:
    return isinstance(value, str) and dialect.formats is not None and value in dialect.formats


def _finding(occurrence: Occurrence, rule: Rule) -> Finding:
    is_unlisted = rule.pattern in {UNLISTED_KEYWORD, UNLISTED_ANNOTATION}
    pattern = occurrence.keyword if is_unlisted else rule.pattern
    return finding_of(rule, occurrence.subject, pattern=pattern, pointer=json_pointer(occurrence.parts))


def finding_of(rule: Rule, subject: str, *, pattern: str, pointer: str) -> Finding:
    """Return a finding of a rule. `subject` begins its message."""
    return Finding(
        pointer=pointer,
        pattern=pattern,
        severity=rule.severity,
        lossy=rule.severity is not Severity.NOTE,
        message=f"{subject}: {rule.text}",
        reason=rule.reason,
        fix=rule.fix,
        clients=rule.clients,
        providers=rule.providers,
        share=rule.share,
    )
