"""Faults that a model reports: read, looked up and weighed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workbench_handlers.research.analysis.evidence import Evidence
from workbench_handlers.research.analysis.parsing import object_of, text_of
from workbench_handlers.research.analysis.result import SEVERITIES, severity_of

MAX_ISSUES: Final = 50
"""Issues of one check or aspect."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What a model said of one check or aspect: its issues, worst first, and how many entries are none.

    `is_answered` says that there was a list, and that it can be relied on if no issue is in it.
    """

    issues: list[dict[str, Any]]
    dropped: int
    is_answered: bool


def read_issues(value: Any, evidence: Evidence) -> Reported:
    """Read a list of issues. One without a severity that is known counts as a warning, a mere text is its message."""
    if not isinstance(value, list):
        return Reported([], 0, is_answered=False)
    entries = [{"message": entry} if isinstance(entry, str) else object_of(entry) for entry in value]
    issues = [issue for entry in entries[:MAX_ISSUES] if (issue := _issue(entry, evidence))]
    issues.sort(key=lambda issue: SEVERITIES.index(issue["severity"]))
    return Reported(issues, len(value) - len(issues), is_answered=bool(issues) or not value)


def note_gaps(reported: Mapping[str, Reported], warnings: list[str]) -> None:
    """Add to `warnings` what was not answered, and what was left out."""
    if silent := [name for name, each in reported.items() if not each.is_answered]:
        warnings.append(f"the model did not answer for {', '.join(silent)}")
    for name, each in reported.items():
        if each.dropped:
            warnings.append(f"{each.dropped} issues of {name} are left out: blank, or more than {MAX_ISSUES}")


def counted(issues: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Give how many issues there are of each severity. What the files themselves refute does not count."""
    counts = Counter(issue["severity"] for issue in issues if not issue.get("refuted"))
    return {severity: counts[severity] for severity in SEVERITIES}


def _issue(entry: Mapping[str, Any], evidence: Evidence) -> dict[str, Any] | None:
    subject, message = text_of(entry.get("subject"), most=300), text_of(entry.get("message"), most=1000)
    if not message:
        return None
    expected = text_of(entry.get("expected"), most=1000)
    return {
        "severity": severity_of(entry.get("severity"), "warning"),
        **({"subject": subject} if subject else {}),
        "message": message,
        **({"expected": expected} if expected else {}),
        "evidence": evidence.references(entry.get("places")),
    }
