"""The common parts of the discovery styles: the meta-tools, and the rule for direct calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, Protocol, overload

from toolmason_runtime.audit import events
from toolmason_runtime.discovery.annotations import combined_annotations, is_read_only
from toolmason_runtime.discovery.listing import listed_tool
from toolmason_runtime.discovery.parameters import TOOL_NAME, Parameter, Parameters, input_schema, parse_arguments
from toolmason_runtime.discovery.per_tool import PerTool
from toolmason_runtime.discovery.results import error_result, fit_budget, with_notes
from toolmason_runtime.shared.catalogue import ALWAYS_LOAD, Catalogue, ToolEntry, WireTool, with_meta
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.placeholders import Placeholders, placeholders_of
from toolmason_runtime.shared.search.hits import Hit
from toolmason_runtime.shared.search.index import ToolIndex
from toolmason_runtime.shared.selection import Selection, is_enabled, served_tools, why_disabled
from toolmason_runtime.shared.shown_names import ShownNames, bare_name, meta_name
from toolmason_runtime.shared.tokens import estimate_tokens
from toolmason_runtime.shared.values.wording import call_json, deprecation_text
from toolmason_runtime.wire.results import WireResult

Run = Callable[[str, dict[str, Any]], Coroutine[Any, Any, WireResult]]
"""The dispatcher's function that runs a tool, from its name and arguments."""

ARGUMENT_KEYS = ("args", "arguments", "params", "parameters", "input")
"""Names that models use for the object with a tool's arguments."""
MAX_SERVERS_TOKENS = 80
"""Maximum tokens of the servers of one tool in an answer; the others are counted."""
MAX_CATEGORY_TOKENS = 16
"""Maximum tokens of the category names in a description, which is in every conversation; the others are counted."""


class Style(Protocol):
    """A discovery style: the list of tools, and the meta-tools."""

    @property
    def index(self) -> ToolIndex:
        """The visible tools."""
        ...

    def listed(self) -> Sequence[WireTool]:
        """Return the tools of `tools/list`. Constant."""
        ...

    def is_meta_tool(self, name: str) -> bool:
        """Return whether `name` is a meta-tool, for `call`."""
        ...

    def allows_direct_call(self, name: str) -> bool:
        """Return whether clients can call the tool with this name or alias directly.

        A disabled tool is treated like an enabled one; its call returns an error.
        """
        ...

    def unknown_tool_text(self, name: str) -> str:
        """Return the error for a direct call that is not allowed, with the way to call the tool."""
        ...

    def call_of(self, entry: ToolEntry, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return name and arguments of a call of the tool, as a model sends it: directly or with a meta-tool."""
        ...

    @property
    def placeholders(self) -> Placeholders:
        """The names of tools in texts of the manifest."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any] | None, run: Run) -> Coroutine[Any, Any, WireResult]:
        """Run the meta-tool `name`."""
        ...


@dataclass(frozen=True)
class StyleContext:
    """The data of a style.

    `expect` is called with the tool that the model will probably call next; `names` are those that the client sees.
    """

    catalogue: Catalogue
    selection: Selection
    index: ToolIndex
    expect: Callable[[ToolEntry], None]
    names: ShownNames

    def shown(self, name: str) -> str:
        """Return the name that the client sees for a tool, an alias or a meta-tool."""
        return self.names.shown(name)

    def meta_name(self, meta_tool: str) -> str:
        """Return the bare name of a meta-tool; it differs from `meta_tool` if a tool has that name."""
        tools = {**self.catalogue["tools"], **dict.fromkeys(_aliases(self.catalogue))}
        return meta_name(meta_tool, tools, self.catalogue["discovery"]["prefix"])

    @property
    def pinned_names(self) -> list[str]:
        """The tools or aliases that the style lists after the meta-tools."""
        discovery = self.catalogue["discovery"]
        return discovery.get("pins", {}).get(self.selection.style, discovery["pinned"])

    def pinned(self, *, is_brief: bool) -> list[WireTool]:
        """Return the visible tools of `pinned_names`, under these names as the client sees them.

        A brief tool has its summary as description and no output schema: no client needs that schema for a call.
        """
        entries = ((name, self.with_names(self.index.get(name))) for name in self.pinned_names)
        tools = [(_brief(entry) if is_brief else entry["tool"]) | {"name": name} for name, entry in entries if entry]
        return [
            with_meta(listed_tool(tool) | {"name": self.shown(tool["name"])}, ALWAYS_LOAD, value=True) for tool in tools
        ]

    def pinned_name(self, entry: ToolEntry) -> str:
        """Return the name under which a tool is listed; empty if it is not pinned."""
        names = (entry["tool"]["name"], *entry.get("aliases", ()))
        return next((name for name in self.pinned_names if name in names), "")

    @cached_property
    def placeholders(self) -> Placeholders:
        """The names of tools in texts of the manifest, as the client sees and calls them in this style."""
        return placeholders_of(
            self.catalogue,
            self.selection.style,
            meta_name=lambda name: self.shown(self.meta_name(name)),
            shown_name=self.shown,
        )

    @overload
    def with_names(self, entry: ToolEntry) -> ToolEntry: ...
    @overload
    def with_names(self, entry: None) -> None: ...
    def with_names(self, entry: ToolEntry | None) -> ToolEntry | None:
        """Return the entry of a tool with the names of tools in its texts."""
        return self._filled(entry) if entry and entry.get("placeholders") else entry

    @cached_property
    def _filled(self) -> PerTool[ToolEntry]:
        return PerTool(self.placeholders.fill_entry)

    def find(self, name: str) -> ToolEntry | None:
        """Return the tool with this name or alias, also with the prefix; None if it is not served.

        Disabled tools are returned too.
        """
        visible = self.index.get(name)
        if visible is not None:
            return visible
        tools = served_tools(self.catalogue, self.selection)
        names = {alias: entry for own, entry in tools.items() for alias in (*entry.get("aliases", ()), own)}
        bare = bare_name(name, self.catalogue["discovery"]["prefix"], names)
        return self.index.get(bare) or names.get(bare)

    def tool(self, name: str) -> ToolEntry:
        """Return the enabled tool with this name or alias.

        Raises:
            ToolError: it does not exist (the text lists similar names), or is disabled.
        """
        name = name.strip()
        events.note(tool=name)
        entry = self.find(name)
        if entry is None:
            raise ToolError(unknown_tool_text(self.index, name), code="UNKNOWN_TOOL")
        if not is_enabled(entry):
            raise ToolError(why_disabled(entry), code="DISABLED_TOOL")
        return entry


@dataclass(frozen=True, slots=True)
class MetaTool:
    """A tool about tools. `answer` gets a value for each of `parameters`; it may raise a `ToolError`.

    `name` is its bare name. If it runs tools, the parameter `arguments_key` has their arguments.
    """

    name: str
    description: str
    parameters: Parameters
    annotations: Mapping[str, bool]
    answer: Callable[[dict[str, Any], Run], Awaitable[WireResult]]
    arguments_key: str = ""
    only_reads: bool = False
    """Whether it runs only tools that are read-only."""

    def to_wire(self, name: str) -> WireTool:
        """Return the MCP wire form under a name, without hints that follow from the others."""
        return listed_tool(
            {
                "name": name,
                "description": self.description,
                "inputSchema": input_schema(self.parameters),
                "annotations": dict(self.annotations),
                "_meta": {ALWAYS_LOAD: True},
            }
        )


class MetaStyle:
    """Lists the meta-tools, then the pinned tools.

    `runner` returns the shown name of the meta-tool that runs a hidden tool, and `arguments_key` is its parameter with
    the arguments. With `allows_hidden`, hidden tools can also be called directly. `brief_pins`: a meta-tool returns the
    description of a pinned tool.
    """

    def __init__(
        self,
        context: StyleContext,
        metas: Sequence[MetaTool],
        *,
        runner: Callable[[ToolEntry], str],
        arguments_key: str,
        allows_hidden: bool = False,
        brief_pins: bool = False,
    ) -> None:
        self._context = context
        self._metas = {meta.name: meta for meta in metas}
        self._runner = runner
        self._arguments_key = arguments_key
        self._allows_hidden = allows_hidden
        self._listed = [
            *(meta.to_wire(context.shown(meta.name)) for meta in metas),
            *context.pinned(is_brief=brief_pins),
        ]

    @property
    def index(self) -> ToolIndex:
        """The visible tools."""
        return self._context.index

    def listed(self) -> list[WireTool]:
        """Return the meta-tools and the pinned tools."""
        return list(self._listed)

    @property
    def placeholders(self) -> Placeholders:
        """The names of tools in texts of the manifest."""
        return self._context.placeholders

    def is_meta_tool(self, name: str) -> bool:
        """Return whether `name` is one of the meta-tools."""
        return name in self._metas

    def allows_direct_call(self, name: str) -> bool:
        """Return whether the tool is served, and pinned unless hidden tools can be called directly."""
        entry = self._context.find(name)
        return entry is not None and (self._allows_hidden or bool(self._context.pinned_name(entry)))

    def unknown_tool_text(self, name: str) -> str:
        """Return the error with the meta-tool that runs a hidden tool, or with the most similar names."""
        entry = self._context.find(name)
        if entry is None or self._allows_hidden:
            return unknown_tool_text(self.index, name)
        rest = f"; run it with `{self._runner(entry)}`" if is_enabled(entry) else ", and disabled on this server"
        return f"Unknown tool `{name}`: it is not listed{rest}."

    def call_of(self, entry: ToolEntry, arguments: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
        """Return a call of the tool, with a meta-tool unless it is pinned."""
        if name := self._context.pinned_name(entry):
            return self._context.shown(name), arguments
        return self._runner(entry), {"tool_name": entry["tool"]["name"], self._arguments_key: dict(arguments)}

    def call(self, name: str, arguments: Mapping[str, Any] | None, run: Run) -> Coroutine[Any, Any, WireResult]:
        """Parse the arguments and run the meta-tool; return its result with a note on each unknown argument."""
        meta = self._metas[name]
        if meta.arguments_key and arguments is not None and (tool := self._plain_target(meta, arguments)):
            return run(tool, arguments[meta.arguments_key])
        return self._answer(meta, arguments, run)

    def _plain_target(self, meta: MetaTool, arguments: Mapping[str, Any]) -> str:
        """Return the tool that a call runs, if its arguments have exactly the described form; otherwise empty."""
        tool, own = arguments.get("tool_name"), arguments.get(meta.arguments_key)
        if len(arguments) != len(meta.parameters) or type(tool) is not str or type(own) is not dict:
            return ""
        entry = self._context.index.get(tool)
        if entry is None or entry["tool"]["name"] != tool or not is_enabled(entry):
            return ""
        return "" if meta.only_reads and not is_read_only(entry) else tool

    async def _answer(self, meta: MetaTool, arguments: Mapping[str, Any] | None, run: Run) -> WireResult:
        try:
            parsed = parse_arguments(meta.parameters, arguments, partial(self._corrected_call, meta))
        except ToolError as error:
            events.note_failure(error.code)
            return error_result(error.message)
        try:
            result = await meta.answer(parsed.values, run)
        except ToolError as error:
            events.note_failure(error.code)
            result = error_result(error.message)
        return with_notes(result, parsed.notes)

    def _corrected_call(self, meta: MetaTool, arguments: Mapping[str, Any], wrong: Collection[str]) -> str:
        from toolmason_runtime.calls.correction import corrected, sample

        known = self._context.find(name) if isinstance(name := arguments.get("tool_name"), str) else None
        entry = known or next(iter(self.index.tools.values()), None)
        call: dict[str, Any] = {}
        if entry is not None:
            schema = entry["tool"]["inputSchema"]
            example = next((example["arguments"] for example in entry["examples"]), None)
            inner = sample(schema | {"type": "object"}, schema) if example is None else example
            call = {"tool_name": entry["tool"]["name"], self._arguments_key: inner}
        shown = self._context.shown(meta.name)
        return call_json(shown, corrected(arguments, wrong, meta.to_wire(shown)["inputSchema"], [call]))


def _aliases(catalogue: Catalogue) -> Iterator[str]:
    return (alias for entry in catalogue["tools"].values() for alias in entry.get("aliases", ()))


def _brief(entry: ToolEntry) -> WireTool:
    tool = {key: value for key, value in entry["tool"].items() if key != "outputSchema"}
    return tool | {"description": entry["summary"]}


def note_alias(name: str, entry: ToolEntry) -> None:
    """Add a former name, by which a tool is called, to the line of the call in the audit log."""
    if name in entry.get("aliases", ()):
        events.note(alias=name)


def call_meta(context: StyleContext, name: str, arguments_key: str, *, description: str) -> MetaTool:
    """Return the meta-tool that runs any visible tool; `arguments_key` is the parameter with the arguments."""

    async def answer(values: dict[str, Any], run: Run) -> WireResult:
        entry = context.tool(values["tool_name"])
        note_alias(values["tool_name"], entry)
        return await run(entry["tool"]["name"], values[arguments_key] or {})

    annotations = combined_annotations(context.index.tools.values())
    return MetaTool(name, description, call_parameters(arguments_key), annotations, answer, arguments_key)


def call_parameters(arguments_key: str) -> dict[str, Parameter]:
    """Return the parameters of a meta-tool that runs a tool."""
    misnomers = tuple(key for key in ARGUMENT_KEYS if key != arguments_key)
    return {"tool_name": TOOL_NAME, arguments_key: Parameter(type="object", misnomers=misnomers)}


def unknown_tool_text(index: ToolIndex, name: str) -> str:
    """Return the error for a tool that is not visible, with the three most similar names."""
    nearest = ", ".join(f"`{similar}`" for similar in index.nearest(name))
    return f"Unknown tool `{name}`. {f'Nearest names: {nearest}.' if nearest else 'No tools are served.'}"


def overview(index: ToolIndex) -> str:
    """Return the number of tools and their categories, for a description: a model must know that more tools exist."""
    categories = list(index.categories)
    tokens = accumulate(estimate_tokens(f", {name}") for name in categories)
    names = [name for name, sum_ in zip(categories, tokens, strict=True) if sum_ <= MAX_CATEGORY_TOKENS]
    rest = f" and {len(categories) - len(names)} more" if len(categories) > len(names) else ""
    return f"{len(index.tools)} tools: {', '.join(names)}{rest}" if categories else "No tools are served"


def filter_note(index: ToolIndex, query: str, category: str, cli: str) -> str:
    """Return the filters of a search with a query, and the matches that they leave out; empty without a filter."""
    filters = {"category": category.strip(), "cli": cli.strip()}
    named = " and ".join(f"{key} {value}" for key, value in filters.items() if value)
    if not named or not query.strip():
        return ""
    counts = index.others(query, category=category, cli=cli)
    if not counts:
        return f"Only {named} was searched; nothing else matches."
    others = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"Only {named} was searched; matches left out: {others}."


def rest_note(hits: Sequence[Hit], shown: Sequence[Hit]) -> str:
    """Return the note of a search that lists all tools of a small server; empty if all of `shown` match."""
    if not any(hit.reason == "rest" for hit in shown):
        return ""
    matches = sum(len(hit.tools) for hit in hits if hit.reason != "rest")
    total = sum(len(hit.tools) for hit in hits)
    return f"Only the first {matches} match; this server has {total} tools, so the others follow."


def same_tool(hit: Hit) -> dict[str, Any]:
    """Return `{"same_tool": {server: tool}}` for a tool that several servers have; without such, an empty dict.

    With many servers, `more_servers` is the number of those left out. The server of the shown tool is always included.
    """
    tools = servers_of(hit)
    if not tools or hit.same is None:
        return {}
    rest = len(hit.same.tools) - len(tools)
    return {"same_tool": tools} | ({"more_servers": rest} if rest else {})


def servers_of(hit: Hit) -> dict[str, str]:
    """Return the tool of each server, that of the hit first, within `MAX_SERVERS_TOKENS`; empty for one server."""
    if hit.same is None:
        return {}
    ordered = sorted(hit.same.tools.items(), key=lambda item: item[1] != hit.name)
    return dict(fit_budget(ordered, MAX_SERVERS_TOKENS))


def same_tool_note(shown: Sequence[Hit]) -> str:
    """Return the note on the first hit that several servers have; empty without one."""
    same = next((hit.same for hit in shown if hit.same), None)
    if same is None:
        return ""
    return f"{len(same.tools)} servers have `{same.name}`; `same_tool` has their names. Arguments may differ."


def entry_notes(entry: ToolEntry) -> dict[str, Any]:
    """Return `{"deprecated": text}` for a deprecated tool, and `{"scopes": [...]}` for one that needs scopes."""
    notes: dict[str, Any] = {"scopes": entry["scopes"]} if "scopes" in entry else {}
    return notes | ({"deprecated": deprecation_text(entry["deprecated"])} if "deprecated" in entry else {})
