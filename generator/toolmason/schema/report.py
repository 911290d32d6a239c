"""`report`: the findings of `check` for one schema or many, as text with one entry for each cause."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolmason.schema.check import check
from toolmason.schema.findings import Finding
from toolmason.schema.hosts import destination
from toolmason.targets import Target


def report(schemas: Mapping[str, Any], target: Target | str = Target.MCP) -> str:
    """Return the findings about the schemas of tools, by their names, worst first: a line for each cause.

    It ends with a line that counts the tools without a finding worse than a note.

    Raises:
        ValueError: unknown target.
    """
    causes: dict[tuple[str, str, str], list[str]] = {}
    findings: dict[tuple[str, str, str], Finding] = {}
    target, fine = destination(target), 0
    for name, schema in schemas.items():
        found = check(schema, target)
        fine += not any(finding.lossy for finding in found)
        for finding in found:
            key = (finding.severity, finding.pattern, finding.reason)
            findings.setdefault(key, finding)
            causes.setdefault(key, []).append(f"{name} {finding.path}")
    lines = [_line(findings[key], places) for key, places in causes.items()]
    ranked = sorted(zip(findings.values(), lines, strict=True), key=lambda pair: pair[0].severity.rank)
    return "".join(f"{line}\n" for _, line in ranked) + f"{fine} of {len(schemas)} tools lose nothing.\n"


def _line(finding: Finding, places: list[str]) -> str:
    fix = f"; {finding.fix}" if finding.fix else ""
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"{finding.severity}  {finding.pattern}: {finding.reason}{fix} ({places[0]}{more})"
