"""The style with levels of detail: `discover_tools`, then `get_tool_schema`, then a call.

Hidden tools can also be called directly; `call_tool` is for clients that call only listed tools.
"""

from __future__ import annotations

from typing import Any

from toolmason_runtime.discovery.annotations import READ_ONLY_ANNOTATIONS
from toolmason_runtime.discovery.meta_tools import (
    MetaStyle,
    MetaTool,
    Run,
    StyleContext,
    call_meta,
    entry_notes,
    filter_note,
    overview,
    rest_note,
    same_tool,
    same_tool_note,
)
from toolmason_runtime.discovery.parameters import TOOL_NAME, Parameter
from toolmason_runtime.discovery.request_parts import part_number, shown_parts
from toolmason_runtime.discovery.results import error_result, fit_budget, success_result, token_cost, truncate
from toolmason_runtime.shared.catalogue import ToolEntry
from toolmason_runtime.shared.errors import ToolError
from toolmason_runtime.shared.search.hits import Hit
from toolmason_runtime.shared.styles import STYLES
from toolmason_runtime.wire.results import WireResult

LEVELS = ("name_only", "with_description", "with_use_cases", "full")
"""The levels of detail, shortest first."""
MAX_ENUM_VALUES = 12
"""Maximum number of categories that the schema lists."""
MAX_QUERY_TOKENS = 245
"""Maximum tokens of the tools that a query finds: the right one is mostly among the first."""
MAX_ECHO_LENGTH = 80
"""Maximum characters of a query in its answer."""
MAX_NAMES_TOKENS = 300
"""Maximum tokens of the names in the error for an unknown tool."""

DISCOVER, SCHEMA, CALL = STYLES["discover-schema"].metas


def discover_schema(context: StyleContext) -> MetaStyle:
    """Return the style with `discover_tools`, `get_tool_schema` and `call_tool`."""
    categories = tuple(context.index.categories)
    call = context.shown(CALL)
    metas = (
        MetaTool(
            DISCOVER,
            f"Find tools by intent, keywords or category. {overview(context.index)}",
            {
                "query": Parameter(is_lines=True),
                "category": Parameter(values=categories if len(categories) <= MAX_ENUM_VALUES else ()),
                "detail_level": Parameter(default="with_description", values=LEVELS),
                "offset": Parameter(type="integer", default=0, minimum=0),
            },
            READ_ONLY_ANNOTATIONS,
            _Discover(context).answer,
        ),
        MetaTool(
            SCHEMA,
            f"Get the parameters of a tool found by {context.shown(DISCOVER)}",
            {"tool_name": TOOL_NAME},
            READ_ONLY_ANNOTATIONS,
            _Schema(context).answer,
        ),
        call_meta(
            context, CALL, "arguments", description=f"Run a tool, with arguments as {context.shown(SCHEMA)} says"
        ),
    )
    return MetaStyle(
        context, metas, runner=lambda _: call, arguments_key="arguments", allows_hidden=True, brief_pins=True
    )


class _Discover:
    def __init__(self, context: StyleContext) -> None:
        self._context = context

    async def answer(self, values: dict[str, Any], run: Run) -> WireResult:  # noqa: ARG002  it runs no tool
        query, category, level, offset = (values[key] for key in ("query", "category", "detail_level", "offset"))
        categories = list(self._context.index.categories)
        if category and category not in categories:
            return error_result({"error": f"Invalid category: {category}", "valid_categories": categories})
        if level not in LEVELS:
            return error_result({"error": f"Invalid detail_level: {level}", "valid_levels": list(LEVELS)})
        hits, parts, places = self._context.index.search_parts(query or "", category=category or "")
        tools = (self._details(hit, level, part_number(places, hit.name)) for hit in hits[offset:])
        budget: int = self._context.catalogue["discovery"]["page_tokens"]
        shown = shown_parts(parts)
        echo = query and truncate(query, MAX_ECHO_LENGTH)
        other_tokens = token_cost(echo) + token_cost(shown)
        page = fit_budget(tools, min(budget, MAX_QUERY_TOKENS - other_tokens) if query else budget)
        result: dict[str, Any] = {
            "query": echo,
            "category": category,
            "detail_level": level,
            "tool_count": len(page),
            **({"parts": shown} if parts and hits else {}),
            "tools": page,
        }
        if page and query:
            self._context.expect(hits[offset].entry)
        if len(page) < len(hits):
            result["total"] = len(hits)
        if not hits:
            result["valid_categories"] = categories
            if nearest := self._context.index.nearest_words(query or ""):
                result["nearest_words"] = nearest
        notes = (
            filter_note(self._context.index, query or "", category or "", ""),
            same_tool_note(hits[offset : offset + len(page)]),
            rest_note(hits, hits[offset : offset + len(page)]),
        )
        if note := " ".join(filter(None, notes)):
            result["note"] = note
        if page and offset + len(page) < len(hits):
            result["next_offset"] = offset + len(page)
        return success_result(result)

    def _details(self, hit: Hit, level: str, part: dict[str, Any]) -> str | dict[str, Any]:
        details = _tool_details(self._context.with_names(hit.entry), level, part)
        if hit.same is None:
            return details
        return ({"name": details} if isinstance(details, str) else details) | same_tool(hit)


def _tool_details(entry: ToolEntry, level: str, part: dict[str, Any]) -> str | dict[str, Any]:
    name = str(entry["tool"]["name"])
    brief: dict[str, Any] = {"name": name, "description": entry["summary"], "complexity": entry["complexity"]}
    usage: dict[str, Any] = {
        "use_cases": list(entry["use_cases"]),
        "requires_codebase": entry.get("requires_codebase", False),
    }
    match level:
        case "name_only":
            return name
        case "with_description":
            details = brief
        case "with_use_cases":
            details = brief | usage
        case _:
            details = {
                "name": name,
                "category": entry["category"],
                "short_description": entry["summary"],
                "keywords": list(entry["keywords"]),
                "use_cases": usage["use_cases"],
                "complexity": entry["complexity"],
                "requires_codebase": usage["requires_codebase"],
            }
    return details | part | entry_notes(entry)


class _Schema:
    def __init__(self, context: StyleContext) -> None:
        self._context = context

    async def answer(self, values: dict[str, Any], run: Run) -> WireResult:  # noqa: ARG002  it runs no tool
        name = values["tool_name"].strip()
        if self._context.find(name) is None:
            return error_result({"error": f"Tool not found: {name}", "available_tools": self._nearest(name)})
        try:
            entry = self._context.tool(name)
        except ToolError as error:
            return error_result({"error": error.message})
        self._context.expect(entry)
        entry = self._context.with_names(entry)
        tool = entry["tool"]
        details = {
            "name": tool["name"],
            "description": tool.get("description", entry["summary"]),
            "inputSchema": tool["inputSchema"],
        }
        return success_result(details | entry_notes(entry))

    def _nearest(self, name: str) -> list[str]:
        """Return the names of visible tools, the most similar first, within `MAX_NAMES_TOKENS`."""
        index = self._context.index
        return fit_budget(index.nearest(name, len(index.tools)), MAX_NAMES_TOKENS)
