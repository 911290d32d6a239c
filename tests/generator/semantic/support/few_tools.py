"""Catalogues of tools that have only a name, a summary and a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from toolmason_runtime.shared.catalogue import Catalogue


def catalogue(tools: Mapping[str, str], *, disabled: tuple[str, ...] = ()) -> Catalogue:
    entries: dict[str, Any] = {
        name: {
            "tool": {"name": name, "description": text, "inputSchema": {"type": "object", "properties": {"to": {}}}},
            "summary": text,
            "use_cases": [],
            "keywords": [],
            "examples": [],
            "category": "",
            **({"enabled": False} if name in disabled else {}),
        }
        for name, text in tools.items()
    }
    discovery = {"style": "search-call", "pinned": [], "split_calls": False, "prefix": ""}
    return cast("Catalogue", {"tools": entries, "categories": {}, "discovery": discovery})
