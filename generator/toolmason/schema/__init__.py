"""Schemas that every provider and every client accepts, with no silent loss.

    from toolmason.schema import advertise, check, project

    advertise(schema).schema                # what an MCP server should send
    project(schema, "gemini-parameters")    # what to paste into a call of the provider
    check(schema, "anthropic")              # what the provider would refuse or lose of it as it stands

None of them changes what it is given, follows a reference out of the schema, or runs without bound.
"""

from __future__ import annotations

from toolmason.schema.check import check
from toolmason.schema.findings import Finding, Severity, json_path, json_pointer, pointer_parts
from toolmason.schema.project import Projection, advertise, project
from toolmason.schema.target import Target

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
]
