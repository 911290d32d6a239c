"""Accept issues of an earlier report (`--baseline`) and of ignored patterns (`--ignore`): they do not count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.json_parser import MAX_BYTES, JsonError, decode, parse
from toolmason.audit.sources import SourceError

IN_BASELINE = "in the baseline"
"""The reason for accepting issues of an earlier report."""
IssueKey = tuple[str, str, str, str]
"""Tool, path, pattern and severity: a moved issue is the same issue, a more severe one is a new issue."""


def load_baseline(path: Path) -> frozenset[IssueKey]:
    """Return the issues of a report that `check --json` wrote.

    Raises:
        SourceError: it cannot be read, or is not such a report.
    """
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise SourceError(f"{path}: larger than {MAX_BYTES // 1024 // 1024} MiB")
        report = parse(decode(raw))
    except OSError as error:
        raise SourceError(f"{path}: cannot read: {(error.strerror or str(error)).lower()}") from None
    except JsonError as error:
        raise SourceError(f"{path}: {error}") from None
    try:
        report["summary"]["total_tools"]  # a list of tools has no summary
        return frozenset(
            _key(tool["name"], issue["path"], issue["pattern"], issue["severity"])
            for tool in report["tools"]
            for issue in tool["issues"]
        )
    except (KeyError, TypeError):
        raise SourceError(f"{path}: not a report of `toolmason schema check --json`") from None


def accept_issues(
    tools: Iterable[AuditedTool], *, baseline: frozenset[IssueKey] = frozenset(), ignored: Mapping[str, str]
) -> tuple[AuditedTool, ...]:
    """Return the tools, with `accepted` set for issues of `ignored` (pattern to reason) and of the baseline."""

    def accept(tool: AuditedTool, issue: Issue) -> Issue:
        finding = issue.finding
        reason = ignored.get(finding.pattern, "")
        if not reason and _key(tool.tool.name, finding.path, finding.pattern, finding.severity) in baseline:
            reason = IN_BASELINE
        return replace(issue, accepted=reason) if reason else issue

    return tuple(replace(tool, issues=tuple(accept(tool, issue) for issue in tool.issues)) for tool in tools)


def unused_patterns(tools: Sequence[AuditedTool], ignored: Iterable[str]) -> tuple[str, ...]:
    """Return the ignored patterns that no issue has."""
    patterns = {issue.finding.pattern for tool in tools for issue in tool.issues}
    return tuple(pattern for pattern in ignored if pattern not in patterns)


def _key(tool: Any, path: Any, pattern: Any, severity: Any) -> IssueKey:
    return str(tool), str(path), str(pattern), str(severity)
