"""The style without meta-tools: every visible tool is listed and called by its own name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolmason_runtime.discovery.answers import Result
from toolmason_runtime.discovery.meta_tools import Run, Served, unknown_text, unknown_tool
from toolmason_runtime.protocol.catalogue import SEARCH_HINT, ToolEntry, WireTool, with_meta
from toolmason_runtime.protocol.fetch_chunk import FETCH_CHUNK, FETCH_CHUNK_ENTRY
from toolmason_runtime.search.index import ToolIndex


class Classic:
    """All tools of the tier. The index is there (FR-014), but no tool shows it."""

    def __init__(self, served: Served) -> None:
        self._served = served

    @property
    def index(self) -> ToolIndex:
        """The visible tools."""
        return self._served.index

    def listed(self) -> list[WireTool]:
        """Return every visible tool, in the order of the manifest, with its keywords as a search hint."""
        discovery = self._served.catalogue["discovery"]
        is_wanted = discovery.get("list_fetch_chunk") or FETCH_CHUNK in discovery["pinned"]
        built_in = [FETCH_CHUNK_ENTRY] if is_wanted else []
        return [_hinted(entry) for entry in (*self.index.tools.values(), *built_in)]

    def handles(self, name: str) -> bool:  # noqa: ARG002  the style has no meta-tools
        """Say no: there are no meta-tools."""
        return False

    def permits(self, name: str) -> bool:
        """Whether the tool is served."""
        return self._served.find(name) is not None

    def refusal(self, name: str) -> str:
        """Name the tools with the nearest names."""
        return unknown_text(self.index, name)

    async def call(self, name: str, arguments: Mapping[str, Any] | None, run: Run) -> Result:  # noqa: ARG002  as above
        """Answer that there is no such meta-tool."""
        return unknown_tool(self.index, name)


def _hinted(entry: ToolEntry) -> WireTool:
    hint = ", ".join(entry["keywords"])
    return with_meta(entry["tool"], SEARCH_HINT, value=hint) if hint else entry["tool"]
