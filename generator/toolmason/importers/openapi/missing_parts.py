"""Check that each tool has the parameters and the body of its operation, or a loss that explains why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from toolmason.importers.openapi.document import OpenApi, Operation, UnresolvedError, table, text
from toolmason.importers.openapi.losses import Losses

IGNORED_HEADERS: Final = frozenset({"accept", "content-type", "authorization"})
"""Header parameters that OpenAPI ignores."""
_EXPLAINED: Final = ("parameter", "header")
"""Kinds of losses that explain why a part is not in a tool."""


def missing_parts(operation: Operation, tool: Mapping[str, Any], document: OpenApi, losses: Losses) -> list[str]:
    """Return the parameters, and `the body`, of an operation whose tool has no parameters; empty if it has some.

    Parts that are reported as losses are not missing.
    """
    if tool.get("params") or table(tool.get("input_schema")).get("properties"):
        return []
    details = [item["detail"] for item in losses.of(operation.key) if item["kind"] in _EXPLAINED]
    return [part for part in _declared(operation, document) if not any(_is_about(detail, part) for detail in details)]


def _is_about(detail: str, part: str) -> bool:
    return detail == part or detail.startswith((f"{part},", f"{part}.", f"{part}:"))


def _declared(operation: Operation, document: OpenApi) -> Iterator[str]:
    for parameter in operation.parameters:
        name, place = text(parameter.get("name")), parameter.get("in")
        if not (place == "header" and name.lower() in IGNORED_HEADERS):
            yield name
    body = operation.data.get("requestBody")
    try:
        is_empty = body is None or body == {} or document.resolved(body).get("content") == {}
    except UnresolvedError:
        is_empty = False
    if not is_empty:
        yield "the body"
    if "$ref" in operation.data:
        yield "another operation"
