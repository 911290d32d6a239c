"""The style of REQ-015: a listing of names and summaries, a description on demand, and a way to call.

Hidden tools answer to their own names too; `call_tool` is for clients that refuse to call what was not listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from toolwright_runtime.catalogue import ToolEntry
from toolwright_runtime.discovery.answers import Result, answer, cost, failure, fitting, shortened
from toolwright_runtime.discovery.arguments import TOOL_NAME, Parameter
from toolwright_runtime.discovery.hints import LOOKS_UP
from toolwright_runtime.discovery.style import (
    MetaStyle,
    MetaTool,
    Run,
    Served,
    call_meta,
    deprecation_note,
    overview,
    unknown_tool,
)
from toolwright_runtime.registry import type_text
from toolwright_runtime.selection import is_enabled, served_tools

LISTING_TOKENS = 500
"""Most tokens of one listing (REQ-015.1)."""
DESCRIPTION_TOKENS = 400
"""Most tokens of one description (REQ-015, performance tests)."""

LIST = "list_available_tools"
DESCRIBE = "get_tool_description"
CALL = "call_tool"


def list_describe(served: Served) -> MetaStyle:
    """Make the style: `list_available_tools`, `get_tool_description` and `call_tool`."""
    metas = (
        MetaTool(
            LIST,
            f"List tools by name and summary. {overview(served.index)}",
            {
                "category": Parameter(),
                "include_disabled": Parameter(type="boolean", default=False),
                "offset": Parameter(type="integer", default=0, minimum=0),
            },
            LOOKS_UP,
            _Listing(served).answer,
        ),
        MetaTool(
            DESCRIBE,
            "Get a tool's description, parameters and examples",
            {
                "tool_name": TOOL_NAME,
                "include_examples": Parameter(type="boolean", default=True),
            },
            LOOKS_UP,
            _Description(served).answer,
        ),
        call_meta(served, CALL, "arguments", description=f"Run a tool described by {DESCRIBE}"),
    )
    return MetaStyle(served, metas)


class _Listing:
    def __init__(self, served: Served) -> None:
        self._served = served

    async def answer(self, values: dict[str, Any], run: Run) -> Result:  # noqa: ARG002  it runs no tool
        wanted, offset = (values["category"] or "").strip(), values["offset"]
        entries = self._entries(include_disabled=values["include_disabled"])
        categories = list(dict.fromkeys(entry["category"] for entry in entries))
        if wanted and wanted not in categories:
            return failure(f"Unknown category `{wanted}`. Categories: {', '.join(categories)}.")
        matching = [_line(entry) for entry in entries if wanted in ("", entry["category"])]
        frame = {"tools": [], "total": len(matching), "categories": categories, "next_offset": len(matching)}
        page = fitting(matching[offset:], LISTING_TOKENS - cost(frame))
        listing = {"tools": page, "total": len(matching), "categories": categories}
        end = offset + len(page)
        return answer(listing | ({"next_offset": end} if page and end < len(matching) else {}))

    def _entries(self, *, include_disabled: bool) -> list[ToolEntry]:
        if not include_disabled:
            return list(self._served.index.tools.values())
        toolsets = frozenset(self._served.selection.toolsets)
        return list(served_tools(self._served.catalogue, self._served.selection, toolsets).values())


def _line(entry: ToolEntry) -> dict[str, Any]:
    return {
        "name": entry["tool"]["name"],
        "summary": entry["summary"],
        "category": entry["category"],
        "enabled": is_enabled(entry),
        **({"deprecated": True} if "deprecated" in entry else {}),
    }


class _Description:
    def __init__(self, served: Served) -> None:
        self._served = served

    async def answer(self, values: dict[str, Any], run: Run) -> Result:  # noqa: ARG002  it runs no tool
        name = values["tool_name"].strip()
        entry = self._served.index.get(name)
        if entry is None:
            return unknown_tool(self._served.index, name)
        whole = _whole(entry, with_examples=values["include_examples"])
        for each in _versions(whole, entry["summary"]):
            if cost(each) <= DESCRIPTION_TOKENS:
                return answer(each)
        return answer(each)


def _whole(entry: ToolEntry, *, with_examples: bool) -> dict[str, Any]:
    tool = entry["tool"]
    described = {
        "name": tool["name"],
        "description": tool.get("description", entry["summary"]),
        "parameters": _parameters(tool["inputSchema"]),
    }
    if with_examples:
        described["examples"] = [
            {key: example[key] for key in ("description", "invocation", "expected_output") if example.get(key)}
            for example in entry["examples"]
        ]
    return described | {"related_tools": list(entry["related"])} | deprecation_note(entry)


def _parameters(schema: dict[str, Any]) -> dict[str, Any]:
    """Give each parameter's schema with `required` as a yes or no beside it, and so on into objects and lists."""
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


def _versions(whole: dict[str, Any], summary: str) -> Iterator[dict[str, Any]]:
    """Give ever shorter versions of a description, each saying what it lacks: examples go first, then long text."""
    yield whole
    shorter = dict(whole)
    examples = list(whole.get("examples", ()))
    while examples:
        examples.pop()
        shorter["examples"] = examples[:]
        yield shorter | {"trimmed": ["examples"]}
    cut = ["examples", "description"] if whole.get("examples") else ["description"]
    for length in (600, 300):
        shorter["description"] = shortened(whole["description"], length)
        yield shorter | {"trimmed": cut}
    shorter["description"] = summary
    for length in (120, 60, 0):
        shorter["parameters"] = {
            name: _brief(part, length, nested=length > 60) for name, part in whole["parameters"].items()
        }
        yield shorter | {"trimmed": [*cut, "parameters"]}


def _brief(part: dict[str, Any], length: int, *, nested: bool) -> dict[str, Any]:
    """Cut the description of a parameter, and what stands inside it too or leave that out."""
    dropped = {"properties", "items"} if not nested else set()
    dropped |= set() if length else {"description"}
    brief = {key: value for key, value in part.items() if key not in dropped}
    if "description" in brief:
        brief["description"] = shortened(str(brief["description"]), length)
    if isinstance(brief.get("properties"), dict):
        brief["properties"] = {name: _brief(each, length, nested=True) for name, each in brief["properties"].items()}
    if isinstance(brief.get("items"), dict):
        brief["items"] = _brief(brief["items"], length, nested=True)
    return brief
