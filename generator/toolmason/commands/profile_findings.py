"""Findings of profiles, for `lint` and `publish`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from toolmason.diagnostics import Diagnostics
    from toolmason.diagnostics.rules import Rule
    from toolmason.diagnostics.terminal import Layout
    from toolmason.pipeline import LoadedManifest
    from toolmason.project import Project
    from toolmason.publishing.checks import Subject
    from toolmason.publishing.profiles import Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProfiles:
    """The profiles of one run."""

    profiles: tuple[Profile, ...]
    subject: Subject
    sarif_rules: Mapping[str, Rule]


def add_profile_findings(
    project: Project, manifest: LoadedManifest, names: Iterable[str], layout: Layout, diagnostics: Diagnostics
) -> CheckedProfiles:
    """Add the violations of profiles. In formats other than text, add a note for each rule that a person must check."""
    from toolmason.publishing.checks import Subject
    from toolmason.publishing.lint import add_manual_rules, check_profile, rules_of
    from toolmason.publishing.profiles import load_profile
    from toolmason.publishing.project_files import ProjectFiles

    profiles = tuple(load_profile(name) for name in dict.fromkeys(names))
    subject = Subject(server=manifest.server, files=ProjectFiles(project.root))
    for profile in profiles:
        check_profile(profile, subject, manifest.document, diagnostics=diagnostics)
    if layout != "text":
        add_manual_rules(profiles, subject, manifest.document, diagnostics=diagnostics)
    return CheckedProfiles(profiles=profiles, subject=subject, sarif_rules=rules_of(profiles))


def print_manual_rules(checked: CheckedProfiles) -> None:
    """Print the rules that only a person can check."""
    from toolmason.publishing.lint import fill

    for profile in checked.profiles:
        if profile.manual_rules:
            click.echo(f"\n{profile.name}: check yourself")
        for rule in profile.manual_rules:
            click.echo(f"- {fill(rule.requires, checked.subject)}: {fill(rule.fix, checked.subject)} ({rule.code})")
