"""What all styles of discovery share: a table of meta-tools, and the rule which tools answer to their own names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

from toolmason_runtime.discovery.annotations import joint_hints
from toolmason_runtime.discovery.answers import Result, failure, noted
from toolmason_runtime.discovery.parameters import TOOL_NAME, Parameter, Parameters, read, wire_tool
from toolmason_runtime.protocol.catalogue import ALWAYS_LOAD, Catalogue, ToolEntry, WireTool, with_meta
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.protocol.registry import deprecation_text
from toolmason_runtime.protocol.selection import Selection, is_enabled, served_tools
from toolmason_runtime.protocol.tokens import estimate_tokens
from toolmason_runtime.protocol.wording import disabled
from toolmason_runtime.search.index import ToolIndex

Run = Callable[[str, dict[str, Any]], Awaitable[Result]]
"""The dispatcher's own path for a real tool: its name and the arguments, to the result."""

ARGUMENT_KEYS = ("args", "arguments", "params", "parameters", "input")
"""What models call the object with a tool's arguments."""
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
        """Whether the real tool `name` (or one that was once called so) answers to its own name.

        A disabled one does where it would if it were not disabled: it answers that it is.
        """
        ...

    def refusal(self, name: str) -> str:
        """Say why `name`, which is no meta-tool and not permitted, cannot be called, and what can."""
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
        entries = map(self.index.get, self.catalogue["discovery"]["pinned"])
        return [with_meta(entry["tool"], ALWAYS_LOAD, value=True) for entry in entries if entry]

    def find(self, name: str) -> ToolEntry | None:
        """Give the tool called `name`, now or once, whether or not it is disabled; None if it is not served."""
        visible = self.index.get(name)
        if visible is not None:
            return visible
        served = served_tools(self.catalogue, self.selection).items()
        return next((entry for known, entry in served if name in (known, *entry.get("aliases", ()))), None)

    def tool(self, name: str) -> ToolEntry:
        """Give the tool that a model calls `name`.

        Raises:
            ToolError: there is none, or it is disabled; the text says which, and what is most like it.
        """
        wanted = name.strip()
        entry = self.find(wanted)
        if entry is None:
            raise ToolError(unknown_text(self.index, wanted), code="UNKNOWN_TOOL")
        if not is_enabled(entry):
            raise ToolError(disabled(entry["tool"]["name"]), code="DISABLED_TOOL")
        return entry


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool about tools. `answer` is given values for all of `parameters`; a `ToolError` of it is told the model."""

    name: str
    description: str
    parameters: Parameters
    hints: Mapping[str, bool]
    answer: Callable[[dict[str, Any], Run], Awaitable[Result]]

    def wire(self) -> WireTool:
        """Give it as `tools/list` sends it."""
        return wire_tool(self.name, self.description, self.parameters, self.hints)


class MetaStyle:
    """Meta-tools, then pinned tools.

    `runner` names the meta-tool that runs a hidden tool; None where hidden tools answer to their own names as well.
    """

    def __init__(
        self, served: Served, metas: Sequence[MetaTool], *, runner: Callable[[ToolEntry], str] | None = None
    ) -> None:
        self._served = served
        self._metas = {meta.name: meta for meta in metas}
        self._runner = runner
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
        """Whether the tool `name` is served and either pinned or in a style that lets each be called."""
        entry = self._served.find(name)
        pinned = self._served.catalogue["discovery"]["pinned"]
        return entry is not None and (self._runner is None or entry["tool"]["name"] in pinned)

    def refusal(self, name: str) -> str:
        """Name what runs a hidden tool, or the tools with the nearest names."""
        entry = self._served.find(name)
        if entry is None or self._runner is None:
            return unknown_text(self.index, name)
        rest = f"; run it with `{self._runner(entry)}`" if is_enabled(entry) else ", and disabled on this server"
        return f"Unknown tool `{name}`: it is not listed{rest}."

    async def call(self, name: str, arguments: Mapping[str, Any] | None, run: Run) -> Result:
        """Read the arguments and answer, with a note on each that is unknown; what does not fit is refused in words."""
        meta = self._metas[name]
        try:
            given = read(meta.parameters, arguments)
        except ToolError as error:
            return failure(error.message)
        try:
            result = await meta.answer(given.values, run)
        except ToolError as error:
            result = failure(error.message)
        return noted(result, given.notes)


def call_meta(served: Served, name: str, arguments_key: str, *, description: str) -> MetaTool:
    """Make the meta-tool that runs any visible tool, with the arguments under `arguments_key`."""

    async def answer(values: dict[str, Any], run: Run) -> Result:
        entry = served.tool(values["tool_name"])
        return await run(entry["tool"]["name"], values[arguments_key] or {})

    hints = joint_hints(served.index.tools.values())
    return MetaTool(name, description, call_parameters(arguments_key), hints, answer)


def call_parameters(arguments_key: str) -> dict[str, Parameter]:
    """Give the parameters of a meta-tool that runs a tool."""
    also = tuple(key for key in ARGUMENT_KEYS if key != arguments_key)
    return {"tool_name": TOOL_NAME, arguments_key: Parameter(type="object", also=also)}


def unknown_tool(index: ToolIndex, name: str) -> Result:
    """Answer a name that no visible tool has."""
    return failure(unknown_text(index, name))


def unknown_text(index: ToolIndex, name: str) -> str:
    """Say that no visible tool is called `name`, and name the three whose names are most like it."""
    nearest = ", ".join(f"`{each}`" for each in index.nearest(name))
    return f"Unknown tool `{name}`. {f'Nearest names: {nearest}.' if nearest else 'No tools are served.'}"


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
