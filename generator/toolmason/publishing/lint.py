"""Check a project against the rules of profiles, and report their violations at the keys of the manifest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from toolmason.diagnostics import Diagnostic, Diagnostics, Location, Severity
from toolmason.diagnostics.rules import Rule
from toolmason.manifest.document import Document
from toolmason.publishing.checks import CHECKS, Problem, Subject
from toolmason.publishing.profiles import Profile, ProfileRule


def check_profile(profile: Profile, subject: Subject, document: Document, *, diagnostics: Diagnostics) -> None:
    """Add the violations of the rules of a profile."""
    for rule, problem in find_problems(profile, subject):
        _report(rule, problem, subject, document, diagnostics)


def find_problems(profile: Profile, subject: Subject) -> Iterator[tuple[ProfileRule, Problem]]:
    """Yield the violations of each rule of a profile, in the order of the rules."""
    for rule in profile.rules:
        if rule.check:
            yield from ((rule, problem) for problem in CHECKS[rule.check](subject, **rule.parameters))


def _report(
    rule: ProfileRule, problem: Problem, subject: Subject, document: Document, diagnostics: Diagnostics
) -> None:
    message = f"{problem.message}; required: {_requirement(rule, subject)}"
    hint = fill(rule.fix, subject)
    if problem.file:
        location = Location(PurePosixPath(problem.file))
        diagnostics.add(
            Diagnostic(code=rule.code, message=message, location=location, hint=hint, severity=rule.severity)
        )
        return
    document.report(diagnostics, rule.code, message, problem.at, hint=hint, value=problem.value, severity=rule.severity)


def _requirement(rule: ProfileRule, subject: Subject) -> str:
    """Return the requirement as the end of a sentence."""
    text = fill(rule.requires, subject)
    return f"{text[0].lower()}{text[1:]}"


def fill(text: str, subject: Subject) -> str:
    """Replace `{name}`, `{command}`, `{version}` and `{registry_name}` by those of the server."""
    for key in ("name", "command", "version", "registry_name"):
        text = text.replace(f"{{{key}}}", subject.field(key))
    return text


def add_manual_rules(
    profiles: Iterable[Profile], subject: Subject, document: Document, *, diagnostics: Diagnostics
) -> None:
    """Add a note for each rule that only a person can check, for output formats without a separate list."""
    for profile in profiles:
        for rule in profile.manual_rules:
            hint = fill(rule.fix, subject)
            message = f"check yourself: {_requirement(rule, subject)}"
            document.report(diagnostics, rule.code, message, ("server",), hint=hint, severity=Severity.NOTE)


def rules_of(profiles: Iterable[Profile]) -> dict[str, Rule]:
    """Return the rules of profiles in the form that a SARIF document describes."""
    rules = (rule for profile in profiles for rule in profile.rules)
    return {rule.code: Rule(code=rule.code, title=rule.requires, why=_origin(rule), bad="", good="") for rule in rules}


def _origin(rule: ProfileRule) -> str:
    return f"Source: {rule.source}, read {rule.read}."
