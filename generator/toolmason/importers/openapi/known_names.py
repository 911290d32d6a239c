"""The names that the parameters of a tool have in a manifest, which an update keeps."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from toolmason.importers.openapi.document import text
from toolmason.manifest.checks import REQUEST_LOCATIONS

BODY_METHODS: Final = ("POST", "PUT", "PATCH")
"""Methods of which a parameter without a place is in the body."""


def known_parameter_names(path: str, table: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return the names that parameters have in the table of a tool, by place and name in the document.

    `path` is that of the document: `/orders/{order-id}`.
    """
    method, _, template = text(table.get("http")).partition(" ")
    default = "body" if method in BODY_METHODS else "query"
    in_path = dict(zip(_placeholders(template), _placeholders(path), strict=False))
    known: dict[tuple[str, str], str] = {}
    params = table.get("params")
    for name, entry in (params if isinstance(params, dict) else {}).items():
        if not isinstance(entry, dict):
            continue
        place = next((place for place in REQUEST_LOCATIONS if text(entry.get(place))), "")
        if place:
            known[place, entry[place]] = name
        elif name in in_path:
            known["path", in_path[name]] = name
        else:
            known[default, name] = name
    return known


def _placeholders(path: str) -> Collection[str]:
    return [name.removeprefix("+") for name in re.findall(r"\{([^{}]*)\}", path)]
