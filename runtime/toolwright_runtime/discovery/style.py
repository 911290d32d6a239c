"""What all styles of discovery share: a table of meta-tools, and the rule which tools answer to their own names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

from toolwright_runtime.catalogue import Catalogue, ToolEntry, WireTool
from toolwright_runtime.discovery.answers import Result, failure
from toolwright_runtime.discovery.arguments import ArgumentError, Parameter, Parameters, four_hints, read, wire_tool
from toolwright_runtime.index import ToolIndex
from toolwright_runtime.registry import deprecation_text
from toolwright_runtime.selection import Selection
from toolwright_runtime.tokens import estimate_tokens

Run = Callable[[str, dict[str, Any]], Awaitable[Result]]
"""The dispatcher's own path for a real tool: its name and the arguments, to the result."""

CATEGORY_TOKENS = 16
"""Room for the names of categories in a description that every conversation pays for; the rest are counted."""


class Style(Protocol):
    """How a server shows its tools."""

    @property
    def index(self) -> ToolIndex:
        """The visible tools. It is there in every style, whether or not meta-tools show it."""
        ...

    def listed(self) -> list[WireTool]:
        """Give what `tools/list` answers, always the same."""
        ...

    def handles(self, name: str) -> bool:
        """Whether `name` is a meta-tool, to be called by `call`."""
        ...

    def permits(self, name: str) -> bool:
        """Whether the real tool `name` (or one that was once called so) may be called by its own name."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any] | None, run: Run) -> Result:
        """Carry out the meta-tool `name`."""
        ...


@dataclass(frozen=True, slots=True)
class Served:
    """What a style is made from."""

    catalogue: Catalogue
    selection: Selection
    index: ToolIndex

    def pinned(self) -> list[WireTool]:
        """Give the visible tools that are listed beside the meta-tools."""
        return [self.index.tools[name]["tool"] for name in self.pinned_names()]

    def pinned_names(self) -> list[str]:
        """Give their names."""
        return [name for name in self.catalogue["discovery"]["pinned"] if name in self.index.tools]


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool about tools. `answer` is given values for all of `parameters`."""

    name: str
    description: str
    parameters: Parameters
    hints: Mapping[str, bool]
    answer: Callable[[dict[str, Any], Run], Awaitable[Result]]

    def wire(self) -> WireTool:
        """Give it as `tools/list` sends it."""
        return wire_tool(self.name, self.description, self.parameters, self.hints)


class MetaStyle:
    """Meta-tools, then pinned tools. `direct` says whether hidden tools answer to their own names as well."""

    def __init__(self, served: Served, metas: Sequence[MetaTool], *, direct: bool) -> None:
        self._served = served
        self._metas = {meta.name: meta for meta in metas}
        self._direct = direct
        self._listed = [*(meta.wire() for meta in metas), *served.pinned()]

    @property
    def index(self) -> ToolIndex:
        """The visible tools."""
        return self._served.index

    def listed(self) -> list[WireTool]:
        """Give the meta-tools and the pinned tools."""
        return list(self._listed)

    def handles(self, name: str) -> bool:
        """Whether `name` is one of the meta-tools."""
        return name in self._metas

    def permits(self, name: str) -> bool:
        """Whether the tool `name` is visible and either pinned or in a style that lets each be called."""
        entry = self.index.get(name)
        return entry is not None and (self._direct or entry["tool"]["name"] in self._served.pinned_names())

    async def call(self, name: str, arguments: Mapping[str, Any] | None, run: Run) -> Result:
        """Read the arguments and answer; what does not fit is answered with what was expected."""
        meta = self._metas[name]
        try:
            values = read(meta.parameters, arguments)
        except ArgumentError as error:
            return failure(f"{name}: {error}")
        return await meta.answer(values, run)


def call_meta(served: Served, name: str, arguments_key: str, *, description: str) -> MetaTool:
    """Make the meta-tool that runs any tool, with the arguments under `arguments_key`.

    It must count as destructive, since some tool behind it may be.
    """

    async def answer(values: dict[str, Any], run: Run) -> Result:
        entry = served.index.get(values["tool_name"].strip())
        if entry is None:
            return unknown_tool(served.index, values["tool_name"])
        return await run(entry["tool"]["name"], values[arguments_key] or {})

    hints = four_hints(read_only=False, open_world=reaches_out(served.index.tools.values()))
    return MetaTool(name, description, call_parameters(arguments_key), hints, answer)


def call_parameters(arguments_key: str) -> dict[str, Parameter]:
    """Give the parameters of a meta-tool that runs a tool."""
    return {"tool_name": Parameter(required=True), arguments_key: Parameter(type="object")}


def unknown_tool(index: ToolIndex, name: str) -> Result:
    """Answer a name that no visible tool has, with the nearest ones."""
    return failure(f"Unknown tool `{name}`. {nearest_text(index, name)}")


def nearest_text(index: ToolIndex, name: str) -> str:
    """Name the three visible tools whose names are most like `name`."""
    nearest = ", ".join(f"`{each}`" for each in index.nearest(name))
    return f"Nearest names: {nearest}." if nearest else "No tools are served."


def reaches_out(entries: Sequence[ToolEntry] | Any) -> bool:
    """Whether any of the tools reaches beyond this machine; one that does not say counts as doing so."""
    return any(hint(entry, "openWorldHint", absent=True) for entry in entries)


def is_read_only(entry: ToolEntry) -> bool:
    """Whether the tool says that it changes nothing."""
    return hint(entry, "readOnlyHint", absent=False)


def hint(entry: ToolEntry, name: str, *, absent: bool) -> bool:
    """Give one hint of a tool; `absent` is what the MCP specification takes it for when it is not said."""
    return bool(entry["tool"].get("annotations", {}).get(name, absent))


def overview(index: ToolIndex) -> str:
    """Say how many tools there are and where, in bounded room: a model must know that hidden tools exist."""
    categories = list(index.categories)
    spent = accumulate(estimate_tokens(f", {name}") for name in categories)
    shown = [name for name, tokens in zip(categories, spent, strict=True) if tokens <= CATEGORY_TOKENS]
    rest = f" and {len(categories) - len(shown)} more" if len(categories) > len(shown) else ""
    return f"{len(index.tools)} tools: {', '.join(shown)}{rest}" if categories else "No tools are served"


def deprecation_note(entry: ToolEntry) -> dict[str, str]:
    """Give `{"deprecated": why}` for a deprecated tool, else nothing."""
    return {"deprecated": deprecation_text(entry["deprecated"])} if "deprecated" in entry else {}
