"""Schemas that every provider and every client accepts, with no silent loss.

    from toolwright.schema import advertise, check, project

    advertise(schema).schema                # what an MCP server should send
    project(schema, "gemini-parameters")    # what to paste into a call of the provider
    check(schema, "anthropic")              # what the provider would refuse or lose of it as it stands

None of them changes what it is given, follows a reference out of the schema, or runs without bound.
"""

from __future__ import annotations

from toolwright.schema.finding import Finding, Severity, json_path, json_pointer, pointer_parts
from toolwright.schema.projecting import Projection, advertise, project
from toolwright.schema.rules import check
from toolwright.schema.target import Target

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
