"""The tools that every server has; manifests and `catalogue.json` do not contain them, and they have no category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from toolmason_runtime.shared.catalogue import Catalogue, DiscoveryEntry, ToolEntry
from toolmason_runtime.shared.fetch_chunk import FETCH_CHUNK, FETCH_CHUNK_ENTRY

BUILT_IN: Final[Mapping[str, ToolEntry]] = {FETCH_CHUNK: FETCH_CHUNK_ENTRY}
_MODULE: Final = "toolmason_runtime.chunks.fetch"


def is_built_in(entry: ToolEntry) -> bool:
    """Return whether a tool is built in."""
    return entry is BUILT_IN.get(entry["tool"]["name"])


def requested(discovery: DiscoveryEntry) -> Mapping[str, ToolEntry]:
    """Return the built-in tools that the manifest wants in lists."""
    return BUILT_IN if discovery.get("list_fetch_chunk") else {}


def bindings_module(catalogue: Catalogue, entry: ToolEntry) -> str:
    """Return the module whose `BINDINGS` has the binding of a tool."""
    if is_built_in(entry):
        return _MODULE
    return f"{catalogue['server']['package']}.{catalogue['categories'][entry['category']]['module']}.bindings"
