"""Report issues as GitHub annotations and SARIF, with the printers of `toolmason.diagnostics.printers`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from toolmason_runtime.shared.toml.problems import quoted

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.audit.verdict import Policy, concern_text
from toolmason.diagnostics import Diagnostic, Location
from toolmason.diagnostics import Severity as Level
from toolmason.diagnostics.printers import report
from toolmason.diagnostics.rules import Rule
from toolmason.schema import Severity

_MEANINGS: Final = {
    Severity.REFUSED: "The provider rejects the whole request, or there is no schema to send.",
    Severity.BREAKS: "A client crashes and loses all tools of the session.",
    Severity.NARROWED: "A value that the original accepts is rejected.",
    Severity.LOSSY: "A value that the original rejects is accepted.",
    Severity.NOTE: "Expressed differently, without loss.",
}
# In GitHub annotations, findings of a running server have no file.
_SERVER_FILE: Final = re.compile(r"^(::[a-z]+ )file=-,line=1,col=1,", re.MULTILINE)


def github_report(tools: Sequence[AuditedTool], policy: Policy) -> str:
    """Return a workflow command for each issue."""
    diagnostics = [
        _diagnostic(tool, issue, policy, issue.location or Location(PurePosixPath("-")))
        for tool, issue in _issues(tools)
    ]
    return _SERVER_FILE.sub(r"\1", report(diagnostics, "github"))


def sarif_report(tools: Sequence[AuditedTool], policy: Policy) -> str:
    """Return a SARIF document. GitHub requires a file for each result: for a running server it is the server's name."""
    rules: dict[str, Rule] = {}
    diagnostics = []
    for tool, issue in _issues(tools):
        location = issue.location or Location(PurePosixPath(tool.source))
        diagnostic = _diagnostic(tool, issue, policy, location)
        diagnostics.append(diagnostic)
        severity = issue.finding.severity
        title = f"{issue.finding.pattern}: {severity}"
        rules[diagnostic.code] = Rule(code=diagnostic.code, title=title, why=_MEANINGS[severity], bad="", good="")
    return report(diagnostics, "sarif", rules=rules)


def _issues(tools: Sequence[AuditedTool]) -> Iterator[tuple[AuditedTool, Issue]]:
    """Yield the issues that count."""
    return ((tool, issue) for tool in tools for issue in tool.issues if not issue.accepted)


def _diagnostic(tool: AuditedTool, issue: Issue, policy: Policy, location: Location) -> Diagnostic:
    finding = issue.finding
    other = Level.NOTE if finding.severity is Severity.NOTE else Level.WARNING
    level = Level.ERROR if policy.fails(issue) else other
    return Diagnostic(
        code=f"schema/{finding.severity}/{finding.pattern}",
        message=f"tool {quoted(tool.tool.name)}, {finding.path}: {finding.message}",
        location=location,
        hint=f"{finding.severity} for {', '.join(issue.targets)}; {concern_text(issue)}",
        severity=level,
    )
