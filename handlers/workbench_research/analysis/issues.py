"""Issues that a model reports: parsed, verified and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from workbench_research.analysis.answer_json import parse_object, parse_text
from workbench_research.analysis.citations import CitationChecker
from workbench_research.analysis.result import SEVERITIES, parse_severity

MAX_ISSUES: Final = 50
"""Maximum issues of one check or aspect."""


@dataclass(frozen=True, slots=True)
class ReportedIssues:
    """The issues of one check or aspect, worst first, and the number of dropped entries.

    `is_answered`: there was a list, and if it contains no issue it was empty.
    """

    issues: list[dict[str, Any]]
    dropped: int
    is_answered: bool


def parse_issues(value: Any, citations: CitationChecker) -> ReportedIssues:
    """Parse a list of issues. An unknown severity counts as a warning; a string is the message of an issue."""
    if not isinstance(value, list):
        return ReportedIssues([], 0, is_answered=False)
    entries = [{"message": entry} if isinstance(entry, str) else parse_object(entry) for entry in value]
    issues = [issue for entry in entries[:MAX_ISSUES] if (issue := _issue(entry, citations))]
    issues.sort(key=lambda issue: SEVERITIES.index(issue["severity"]))
    return ReportedIssues(issues, len(value) - len(issues), is_answered=bool(issues) or not value)


def note_gaps(reported: Mapping[str, ReportedIssues], warnings: list[str]) -> None:
    """Add warnings about unanswered checks and dropped issues."""
    if unanswered := [name for name, entry in reported.items() if not entry.is_answered]:
        warnings.append(f"the model did not answer for {', '.join(unanswered)}")
    for name, entry in reported.items():
        if entry.dropped:
            warnings.append(f"{entry.dropped} issues of {name} are omitted: blank, or more than {MAX_ISSUES}")


def count_by_severity(issues: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of issues of each severity, without those that the files refute."""
    counts = Counter(issue["severity"] for issue in issues if not issue.get("refuted"))
    return {severity: counts[severity] for severity in SEVERITIES}


def _issue(entry: Mapping[str, Any], citations: CitationChecker) -> dict[str, Any] | None:
    subject, message = parse_text(entry.get("subject"), max_chars=300), parse_text(entry.get("message"), max_chars=1000)
    if not message:
        return None
    expected = parse_text(entry.get("expected"), max_chars=1000)
    return {
        "severity": parse_severity(entry.get("severity"), "warning"),
        **({"subject": subject} if subject else {}),
        "message": message,
        **({"expected": expected} if expected else {}),
        "evidence": citations.check_all(entry.get("places")),
    }
