"""Convert JSON Schemas to a form that every provider and client accepts, and report every loss.

    from toolmason.schema import advertise, check, project, report

    advertise(schema).schema                # the `inputSchema` of an MCP tool
    project(schema, "gemini-parameters")    # a tool schema for one provider
    check(schema, "anthropic")              # what the provider would reject or lose of the original
    report({"search": schema})              # the same of many tools, as text

The functions do not modify their input or fetch references, and their run time is bounded.
"""

from __future__ import annotations

from toolmason.schema.check import check
from toolmason.schema.findings import Finding, Severity, json_path, json_pointer, pointer_parts
from toolmason.schema.project import Projection, advertise, project
from toolmason.schema.report import report
from toolmason.targets import Target

__all__ = [
    "Finding",
    "Projection",
    "Severity",
    "Target",
    "advertise",
    "check",
    "json_path",
    "json_pointer",
    "pointer_parts",
    "project",
    "report",
]
