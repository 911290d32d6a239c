"""The style of progressive disclosure with levels of detail: `discover_tools`, then `get_tool_schema`, then a call.

Hidden tools answer to their own names too; `call_tool` is for clients that refuse to call what was not listed.
"""

from __future__ import annotations

from typing import Any

from toolmason_runtime.discovery.annotations import LOOKS_UP
from toolmason_runtime.discovery.answers import Result, answer, failure, fitting
from toolmason_runtime.discovery.meta_tools import (
    MetaStyle,
    MetaTool,
    Run,
    Served,
    call_meta,
    deprecation_note,
    overview,
)
from toolmason_runtime.discovery.parameters import TOOL_NAME, Parameter
from toolmason_runtime.protocol.catalogue import ToolEntry
from toolmason_runtime.protocol.errors import ToolError

LEVELS = ("name_only", "with_description", "with_use_cases", "full")
"""How much is said of each tool, least first."""
MAX_VALUES = 12
"""Beyond so many categories the schema does not list them."""
NAMES_TOKENS = 300
"""Most tokens of the names in the answer to an unknown tool."""

DISCOVER = "discover_tools"
SCHEMA = "get_tool_schema"
CALL = "call_tool"


def discover_schema(served: Served) -> MetaStyle:
    """Make the style: `discover_tools`, `get_tool_schema` and `call_tool`."""
    categories = tuple(served.index.categories)
    metas = (
        MetaTool(
            DISCOVER,
            f"Find tools by intent, keywords or category. {overview(served.index)}",
            {
                "query": Parameter(),
                "category": Parameter(values=categories if len(categories) <= MAX_VALUES else ()),
                "detail_level": Parameter(default="with_description", values=LEVELS),
                "offset": Parameter(type="integer", default=0, minimum=0),
            },
            LOOKS_UP,
            _Discover(served).answer,
        ),
        MetaTool(
            SCHEMA,
            f"Get the parameters of a tool found by {DISCOVER}",
            {"tool_name": TOOL_NAME},
            LOOKS_UP,
            _Schema(served).answer,
        ),
        call_meta(served, CALL, "arguments", description=f"Run a tool, with arguments as {SCHEMA} says"),
    )
    return MetaStyle(served, metas)


class _Discover:
    def __init__(self, served: Served) -> None:
        self._served = served

    async def answer(self, values: dict[str, Any], run: Run) -> Result:  # noqa: ARG002  it runs no tool
        query, category, level, offset = (values[key] for key in ("query", "category", "detail_level", "offset"))
        known = list(self._served.index.categories)
        if category and category not in known:
            return failure({"error": f"Invalid category: {category}", "valid_categories": known})
        if level not in LEVELS:
            return failure({"error": f"Invalid detail_level: {level}", "valid_levels": list(LEVELS)})
        hits = self._served.index.search(query or "", category=category or "")
        shown = (self._shown(hit.entry, level) for hit in hits[offset:])
        page = fitting(shown, self._served.catalogue["discovery"]["page_tokens"])
        found: dict[str, Any] = {
            "query": query,
            "category": category,
            "detail_level": level,
            "tool_count": len(page),
            "tools": page,
        }
        if len(page) < len(hits):
            found["total"] = len(hits)
        if not hits:
            found["valid_categories"] = known
        if page and offset + len(page) < len(hits):
            found["next_offset"] = offset + len(page)
        return answer(found)

    def _shown(self, entry: ToolEntry, level: str) -> str | dict[str, Any]:
        name = entry["tool"]["name"]
        match level:
            case "name_only":
                return str(name)
            case "with_description":
                said = {"name": name, "description": entry["summary"], "complexity": entry["complexity"]}
            case "with_use_cases":
                said = {
                    "name": name,
                    "description": entry["summary"],
                    "complexity": entry["complexity"],
                    "use_cases": list(entry["use_cases"]),
                    "requires_codebase": entry.get("requires_codebase", False),
                }
            case _:
                said = {
                    "name": name,
                    "category": entry["category"],
                    "short_description": entry["summary"],
                    "keywords": list(entry["keywords"]),
                    "use_cases": list(entry["use_cases"]),
                    "complexity": entry["complexity"],
                    "requires_codebase": entry.get("requires_codebase", False),
                }
        return said | deprecation_note(entry)


class _Schema:
    def __init__(self, served: Served) -> None:
        self._served = served

    async def answer(self, values: dict[str, Any], run: Run) -> Result:  # noqa: ARG002  it runs no tool
        name = values["tool_name"].strip()
        if self._served.find(name) is None:
            return failure({"error": f"Tool not found: {name}", "available_tools": self._nearest(name)})
        try:
            entry = self._served.tool(name)
        except ToolError as error:
            return failure({"error": error.message})
        tool = entry["tool"]
        said = {
            "name": tool["name"],
            "description": tool.get("description", entry["summary"]),
            "inputSchema": tool["inputSchema"],
        }
        return answer(said | deprecation_note(entry))

    def _nearest(self, name: str) -> list[str]:
        """Return the names of visible tools, the most similar first, as many as a short answer can hold."""
        index = self._served.index
        return fitting(index.nearest(name, len(index.tools)), NAMES_TOKENS)
