"""The style of REQ-015: a listing of names and summaries, then a description, then a call.

Hidden tools can also be called directly; `call_tool` is for clients that call only listed tools.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from toolmason_runtime.calls.registry import ToolMetadata, metadata_of, type_text
from toolmason_runtime.discovery.annotations import READ_ONLY_ANNOTATIONS
from toolmason_runtime.discovery.meta_tools import (
    MetaStyle,
    MetaTool,
    Run,
    StyleContext,
    call_meta,
    overview,
    same_tool,
    unknown_tool_text,
)
from toolmason_runtime.discovery.parameters import TOOL_NAME, Parameter
from toolmason_runtime.discovery.results import error_result, fit_budget, success_result, token_cost, truncate
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.selection import served_tools
from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.wire.results import WireResult

MAX_LISTING_TOKENS = 450
"""Maximum tokens of one listing; REQ-015.1 allows 500."""
MAX_DESCRIPTION_TOKENS = 400
"""Maximum tokens of one description (REQ-015, performance tests), unless `full` is true."""
TEXT_LENGTHS = ((250, 2000), (120, 2000), (120, 1000), (120, 500), (60, 500), (60, 250), (30, 250), (0, 250))
"""Maximum characters of the texts of parameters and of the tool's description, in shorter and shorter versions."""
MAX_NAMES_TOKENS = 200
"""Maximum tokens of the names of parameters in the shortest version."""
NOTE: Final = "Shortened: all of it with full=true."
TEXT_KEYWORDS: Final = frozenset({"title", "description", "$comment", "examples"})
"""Keywords for readers, without effect on validation."""
SUBSCHEMA_KEYWORDS: Final = frozenset(
    {"properties", "items", "anyOf", "oneOf", "allOf", "additionalProperties", "prefixItems"}
)
COMBINATORS: Final = frozenset({"anyOf", "oneOf", "allOf"})
"""Subschemas for the value itself: one of them contains the text of a parameter that may be null."""

LIST, DESCRIBE, CALL = STYLES["list-describe"].metas


def list_describe(context: StyleContext) -> MetaStyle:
    """Return the style with `list_available_tools`, `get_tool_description` and `call_tool`."""
    metas = (
        MetaTool(
            LIST,
            f"List tools by name and summary. {overview(context.index)}",
            {
                "category": Parameter(),
                "include_disabled": Parameter(type="boolean", default=False),
                "offset": Parameter(type="integer", default=0, minimum=0),
            },
            READ_ONLY_ANNOTATIONS,
            _Listing(context).answer,
        ),
        MetaTool(
            DESCRIBE,
            "Get a tool's description, parameters and examples",
            {
                "tool_name": TOOL_NAME,
                "include_examples": Parameter(type="boolean", default=True),
                "full": Parameter(type="boolean", default=False),
            },
            READ_ONLY_ANNOTATIONS,
            _Description(context).answer,
        ),
        call_meta(context, CALL, "arguments", description=f"Run a tool described by {context.shown(DESCRIBE)}"),
    )
    call = context.shown(CALL)
    return MetaStyle(context, metas, runner=lambda _: call, arguments_key="arguments", allows_hidden=True)


class _Listing:
    def __init__(self, context: StyleContext) -> None:
        self._context = context

    async def answer(self, values: dict[str, Any], run: Run) -> WireResult:  # noqa: ARG002  it runs no tool
        category, offset = (values["category"] or "").strip(), values["offset"]
        tools = self._tools(include_disabled=values["include_disabled"])
        categories = list(dict.fromkeys(tool.category for tool in tools))
        if category and category not in categories:
            return error_result(f"Unknown category `{category}`. Categories: {', '.join(categories)}.")
        listed = [tool for tool in tools if category in ("", tool.category)]
        # A tool that several servers have is listed once; a disabled one is not among the visible tools.
        visible = self._context.index.tools
        shown = {hit.name: hit for hit in self._context.index.browse(t.name for t in listed if t.name in visible)}
        matching = [
            _line(tool) | (same_tool(shown[tool.name]) if tool.name in shown else {})
            for tool in listed
            if tool.name in shown or tool.name not in visible
        ]
        envelope = {"tools": [], "total": len(matching), "categories": categories, "next_offset": len(matching)}
        page = fit_budget(matching[offset:], MAX_LISTING_TOKENS - token_cost(envelope))
        listing = {"tools": page, "total": len(matching), "categories": categories}
        end = offset + len(page)
        return success_result(listing | ({"next_offset": end} if page and end < len(matching) else {}))

    def _tools(self, *, include_disabled: bool) -> list[ToolMetadata]:
        context = self._context
        names = served_tools(context.catalogue, context.selection) if include_disabled else context.index.tools
        entries = (entry for name, entry in context.catalogue["tools"].items() if name in names)
        return [metadata_of(context.with_names(entry)) for entry in entries]


def _line(tool: ToolMetadata) -> dict[str, Any]:
    return {
        "name": tool.name,
        "summary": tool.summary,
        "category": tool.category,
        "enabled": tool.enabled,
        **({"deprecated": True} if tool.deprecated else {}),
    }


class _Description:
    def __init__(self, context: StyleContext) -> None:
        self._context = context

    async def answer(self, values: dict[str, Any], run: Run) -> WireResult:  # noqa: ARG002  it runs no tool
        name = values["tool_name"].strip()
        entry = self._context.with_names(self._context.find(name))
        if entry is None:
            raise ToolError(unknown_tool_text(self._context.index, name), code="UNKNOWN_TOOL")
        self._context.expect(entry)
        served = self._context.index
        tool = metadata_of({**entry, "related": [name for name in entry["related"] if served.get(name)]})
        full = _full_description(tool, entry["tool"]["inputSchema"], with_examples=values["include_examples"])
        for description in _shorter_versions(full):
            if values["full"] or token_cost(description) <= MAX_DESCRIPTION_TOKENS:
                break
        return success_result(description)


def _full_description(tool: ToolMetadata, schema: dict[str, Any], *, with_examples: bool) -> dict[str, Any]:
    description: dict[str, Any] = {"name": tool.name} | ({} if tool.enabled else {"enabled": False})
    description |= {"description": tool.description, "parameters": _parameters(schema)}
    if with_examples:
        description["examples"] = [
            {key: text for key, text in asdict(example).items() if text} for example in tool.examples
        ]
    description["related_tools"] = tool.related_tools
    return description | ({"deprecated": tool.deprecated_message} if tool.deprecated else {})


def _parameters(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of each parameter with a boolean `required`, recursively in objects and arrays."""
    required = schema.get("required", ())
    return {
        name: _parameter(part) | {"required": name in required} for name, part in schema.get("properties", {}).items()
    }


def _parameter(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {"type": "any"}
    part = {"type": type_text(schema)} | {
        key: value for key, value in schema.items() if key not in ("type", "required")
    }
    if "properties" in schema:
        part["properties"] = _parameters(schema)
    if "items" in schema:
        part["items"] = _parameter(schema["items"])
    return part


def _shorter_versions(full: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield shorter and shorter versions of a description.

    First all examples but one are dropped, then the texts inside parameters, then the last example and the related
    tools, then rules inside parameters. Then texts are cut, although a part of a text may lack an important rule:
    without the members inside parameters, which are dropped next, a model guesses. Of a tool with hundreds of
    parameters, their names remain. Each version lists its shortened keys and how to get the rest.
    """
    yield full
    shorter = dict(full)
    for count in range(len(full.get("examples", ())) - 1, 0, -1):
        shorter["examples"] = full["examples"][:count]
        yield _with_omission_note(shorter, full)
    shorter["parameters"] = _Truncation().apply(full["parameters"])
    yield _with_omission_note(shorter, full)
    if "examples" in full:
        shorter["examples"] = []
        yield _with_omission_note(shorter, full)
    shorter["related_tools"] = []
    whole = len(full["description"])
    bare, closed = _Truncation(has_rules=False), _Truncation(has_rules=False, has_members=False)
    steps = [(_Truncation(), whole)]
    for truncation in (bare, closed):
        steps += [(truncation, whole), *((replace(truncation, max_text=text), length) for text, length in TEXT_LENGTHS)]
    for truncation, length in steps:
        shorter["parameters"] = truncation.apply(full["parameters"])
        shorter["description"] = truncate(full["description"], length)
        yield _with_omission_note(shorter, full)
    names = sorted(full["parameters"], key=lambda name: not full["parameters"][name]["required"])
    shorter["more_parameters"] = fit_budget(names, MAX_NAMES_TOKENS)
    shorter["parameters"] = {}
    yield _with_omission_note(shorter, full)


def _with_omission_note(shorter: dict[str, Any], full: dict[str, Any]) -> dict[str, Any]:
    trimmed = [key for key, value in full.items() if shorter[key] != value]
    return shorter | ({"trimmed": trimmed, "note": NOTE} if trimmed else {})


@dataclass(frozen=True, slots=True)
class _Truncation:
    """Shortens the schemas inside parameters, whose texts are dropped, and cuts the texts of the parameters.

    Without members, `items` has only its type, since providers refuse an array without items.
    """

    has_rules: bool = True
    has_members: bool = True
    max_text: int = 100_000

    def apply(self, parameters: dict[str, Any]) -> dict[str, Any]:
        return {name: self._parameter(part) for name, part in parameters.items()}

    def _parameter(self, part: Any) -> Any:
        """Shorten the schemas inside a parameter; the texts and rules of itself and its alternatives stay."""
        if not isinstance(part, dict):
            return part
        return {
            keyword: [self._parameter(branch) for branch in value]
            if keyword in COMBINATORS
            else truncate(value, self.max_text)
            if keyword == "description" and isinstance(value, str)
            else self._subschemas(keyword, value)
            for keyword, value in part.items()
            if (self.has_members or keyword == "items" or keyword not in SUBSCHEMA_KEYWORDS - COMBINATORS)
            and (self.max_text or keyword != "description")
        }

    def _keeps(self, keyword: str) -> bool:
        if keyword in SUBSCHEMA_KEYWORDS:
            return self.has_members or keyword == "items"
        return keyword not in TEXT_KEYWORDS and (self.has_rules or keyword in ("type", "required"))

    def _schema(self, part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        return {keyword: self._subschemas(keyword, value) for keyword, value in part.items() if self._keeps(keyword)}

    def _subschemas(self, keyword: str, value: Any) -> Any:
        match value:
            case dict() if keyword == "properties":
                return {name: self._schema(part) for name, part in value.items()}
            case dict() if keyword in SUBSCHEMA_KEYWORDS:
                return self._schema(value)
            case list() if keyword in SUBSCHEMA_KEYWORDS:
                return [self._schema(part) for part in value]
            case _:
                return value
