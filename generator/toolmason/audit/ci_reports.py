"""What was found in tools, for GitHub and for code scanners. `toolmason.diagnostics.printers` prints both; here they get places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Final
from urllib.parse import quote

from toolmason_runtime.toml.problems import quoted

from toolmason.audit.audit import AuditedTool, Issue
from toolmason.diagnostics import Diagnostic, Location
from toolmason.diagnostics import Severity as Level
from toolmason.diagnostics.printers import OMITTED, bounded, report
from toolmason.schema import Severity

_WHY: Final = {
    Severity.REFUSED: "The provider answers the whole request with an error, or there is no schema to send.",
    Severity.NARROWED: "A value that the original takes is no longer taken.",
    Severity.LOSSY: "A value that the original refuses is no longer refused.",
    Severity.NOTE: "Said in other words; nothing is lost.",
}
_NO_PLACE: Final = Location(PurePosixPath("-"))
"""Stands for the place of what came from a running server, until it is taken out again."""
_NO_FILE: Final = re.compile(r"^(::[a-z]+ )file=-,line=1,col=1,", re.MULTILINE)


def github(tools: Sequence[AuditedTool], threshold: Severity) -> str:
    """Give a workflow command a finding. One about a running server names no file."""
    commands = report([_diagnostic(each, issue, threshold) for each, issue in _all(tools)], "github")
    return _NO_FILE.sub(r"\1", commands)


def sarif(tools: Sequence[AuditedTool], threshold: Severity) -> str:
    """Give one document. What came from a running server has a logical place: the tool, and the path in its schema."""
    found = [(_diagnostic(each, issue, threshold), each, issue) for each, issue in _all(tools)]
    diagnostics = [diagnostic for diagnostic, _, _ in found]
    origin = {id(diagnostic): (each, issue) for diagnostic, each, issue in found}
    document = json.loads(report(diagnostics, "sarif"))
    (run,) = document["runs"]
    # A last result may stand for those that are not shown.
    for result, diagnostic in zip(run["results"], bounded(diagnostics), strict=False):
        each, issue = origin[id(diagnostic)]
        result["locations"] = [_sarif_place(result["locations"][0], each, issue)]
        result["properties"] = {"severity": str(issue.finding.severity), "targets": [str(to) for to in issue.targets]}
    for rule in run["tool"]["driver"]["rules"]:
        if rule["id"] == OMITTED:
            continue
        severity = Severity(rule["id"].split("/")[1])
        rule["shortDescription"] = {"text": f"{rule['id'].split('/', 2)[2]}: {severity}"}
        rule["fullDescription"] = {"text": _WHY[severity]}
    return json.dumps(document, indent=2) + "\n"


def _sarif_place(place: dict[str, Any], each: AuditedTool, issue: Issue) -> dict[str, Any]:
    name = f"{each.tool.name}{issue.finding.path[1:]}"
    logical = [{"fullyQualifiedName": name, "kind": "member"}]
    if issue.location:
        return {**place, "logicalLocations": logical}
    # GitHub takes no result without a file, and a running server has none: its name stands for one.
    name_of_source = quote(each.source, safe="/:") or "tools"
    artifact = {"artifactLocation": {"uri": name_of_source}, "region": {"startLine": 1}}
    return {"physicalLocation": artifact, "logicalLocations": logical}


def _all(tools: Sequence[AuditedTool]) -> Iterator[tuple[AuditedTool, Issue]]:
    return ((each, issue) for each in tools for issue in each.issues)


def _diagnostic(each: AuditedTool, issue: Issue, threshold: Severity) -> Diagnostic:
    finding = issue.finding
    message = f"tool {quoted(each.tool.name)}, {finding.path}: {finding.message}"
    return Diagnostic(
        code=f"schema/{finding.severity}/{finding.pattern}",
        message=message,
        location=issue.location or _NO_PLACE,
        hint=f"{finding.severity} for {', '.join(issue.targets)}",
        severity=_level(finding.severity, threshold),
    )


def _level(severity: Severity, threshold: Severity) -> Level:
    """Say how loud a finding is: one that fails the run is an error."""
    if severity.rank <= threshold.rank:
        return Level.ERROR
    return Level.NOTE if severity is Severity.NOTE else Level.WARNING
