"""The style without meta-tools: every visible tool is listed and called by its own name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, overload

from toolmason_runtime.discovery.listing import listed_tool
from toolmason_runtime.discovery.meta_tools import Run, StyleContext, unknown_tool_text
from toolmason_runtime.discovery.results import error_result
from toolmason_runtime.shared.built_in import BUILT_IN, requested
from toolmason_runtime.shared.catalogue import SEARCH_HINT, ToolEntry, WireTool, with_meta
from toolmason_runtime.shared.placeholders import Placeholders
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.wire.results import WireResult


def classic(context: StyleContext) -> Classic:
    """Return the style without meta-tools."""
    return Classic(context)


class Classic:
    """Lists all served tools. It has an index (FR-014), but no meta-tool to search it."""

    def __init__(self, context: StyleContext) -> None:
        self._context = context

    @property
    def index(self) -> ToolIndex:
        """The visible tools."""
        return self._context.index

    def listed(self) -> Sequence[WireTool]:
        """Return every visible tool, in the order of the manifest, with its keywords as a search hint."""
        discovery = self._context.catalogue["discovery"]
        pinned = {name: entry for name, entry in BUILT_IN.items() if name in discovery["pinned"]}
        built_in = {**requested(discovery), **pinned}.values()
        return _LazyTools((*self.index.tools.values(), *built_in), self._listed_tool)

    def _listed_tool(self, entry: ToolEntry) -> WireTool:
        tool = _with_search_hint(self._context.with_names(entry))
        return tool | {"name": self._context.shown(tool["name"])}

    @property
    def placeholders(self) -> Placeholders:
        """The names of tools in texts of the manifest."""
        return self._context.placeholders

    def is_meta_tool(self, name: str) -> bool:  # noqa: ARG002  the style has no meta-tools
        """Return False: this style has no meta-tools."""
        return False

    def allows_direct_call(self, name: str) -> bool:
        """Return whether the tool is served."""
        return self._context.find(name) is not None

    def unknown_tool_text(self, name: str) -> str:
        """Return the error with the tools of the most similar names."""
        return unknown_tool_text(self.index, name)

    def call_of(self, entry: ToolEntry, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return a direct call of the tool."""
        return self._context.shown(entry["tool"]["name"]), arguments

    async def call(self, name: str, arguments: Mapping[str, Any] | None, run: Run) -> WireResult:  # noqa: ARG002  as above
        """Return the error for an unknown tool."""
        return error_result(unknown_tool_text(self.index, name))


class _LazyTools(Sequence[WireTool]):
    """A list whose tools are created on access: a page of a long list has few of them.

    Args:
        entries: the tools.
        make: returns the listed form of a tool.
    """

    def __init__(self, entries: tuple[ToolEntry, ...], make: Callable[[ToolEntry], WireTool]) -> None:
        self._entries = entries
        self._make = make

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> WireTool: ...
    @overload
    def __getitem__(self, index: slice) -> list[WireTool]: ...
    def __getitem__(self, index: int | slice) -> WireTool | list[WireTool]:
        selected = self._entries[index]
        return [self._make(entry) for entry in selected] if isinstance(selected, tuple) else self._make(selected)

    def __iter__(self) -> Iterator[WireTool]:
        return map(self._make, self._entries)


def _with_search_hint(entry: ToolEntry) -> WireTool:
    hint = ", ".join(entry["keywords"])
    tool = listed_tool(entry["tool"])
    return with_meta(tool, SEARCH_HINT, value=hint) if hint else tool
