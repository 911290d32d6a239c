"""The style of REQ-015: a listing of names and summaries, a description on demand, and a way to call.

Hidden tools answer to their own names too; `call_tool` is for clients that refuse to call what was not listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from toolmason_runtime.discovery.annotations import LOOKS_UP
from toolmason_runtime.discovery.answers import Result, answer, cost, failure, fitting
from toolmason_runtime.discovery.meta_tools import (
    MetaStyle,
    MetaTool,
    Run,
    Served,
    call_meta,
    overview,
    unknown_text,
)
from toolmason_runtime.discovery.parameters import TOOL_NAME, Parameter
from toolmason_runtime.protocol.errors import ToolError
from toolmason_runtime.protocol.registry import ToolMetadata, list_all_tools, metadata_of, type_text
from toolmason_runtime.protocol.selection import served_tools

LISTING_TOKENS = 500
"""Most tokens of one listing (REQ-015.1)."""
DESCRIPTION_TOKENS = 400
"""Most tokens of one description (REQ-015, performance tests) unless all of it is requested or its texts need more."""
STRUCTURE_TOKENS = 1000
"""Tokens from which even the rules and members inside parameters go."""
NOTE: Final = "Shortened: all of it with full=true."
TEXTS: Final = frozenset({"title", "description", "$comment", "examples"})
"""Keywords that tell a reader something and bind nobody."""
MEMBERS: Final = frozenset({"properties", "items", "anyOf", "oneOf", "allOf", "additionalProperties", "prefixItems"})
"""Keywords that hold the schemas of what stands inside a value."""
ALTERNATIVES: Final = frozenset({"anyOf", "oneOf", "allOf"})
"""Those of them that describe the value itself: the text of a parameter that may be null is in one."""

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
                "full": Parameter(type="boolean", default=False),
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
        tools = self._tools(include_disabled=values["include_disabled"])
        categories = list(dict.fromkeys(tool.category for tool in tools))
        if wanted and wanted not in categories:
            return failure(f"Unknown category `{wanted}`. Categories: {', '.join(categories)}.")
        matching = [_line(tool) for tool in tools if wanted in ("", tool.category)]
        frame = {"tools": [], "total": len(matching), "categories": categories, "next_offset": len(matching)}
        page = fitting(matching[offset:], LISTING_TOKENS - cost(frame))
        listing = {"tools": page, "total": len(matching), "categories": categories}
        end = offset + len(page)
        return answer(listing | ({"next_offset": end} if page and end < len(matching) else {}))

    def _tools(self, *, include_disabled: bool) -> list[ToolMetadata]:
        served = self._served
        names = served_tools(served.catalogue, served.selection) if include_disabled else served.index.tools
        return [tool for tool in list_all_tools(served.catalogue) if tool.name in names]


def _line(tool: ToolMetadata) -> dict[str, Any]:
    return {
        "name": tool.name,
        "summary": tool.summary,
        "category": tool.category,
        "enabled": tool.enabled,
        **({"deprecated": True} if tool.deprecated else {}),
    }


class _Description:
    def __init__(self, served: Served) -> None:
        self._served = served

    async def answer(self, values: dict[str, Any], run: Run) -> Result:  # noqa: ARG002  it runs no tool
        name = values["tool_name"].strip()
        entry = self._served.find(name)
        if entry is None:
            raise ToolError(unknown_text(self._served.index, name), code="UNKNOWN_TOOL")
        whole = _whole(metadata_of(entry), entry["tool"]["inputSchema"], with_examples=values["include_examples"])
        for limit, each in _versions(whole):
            if values["full"] or cost(each) <= limit:
                return answer(each)
        return answer(each)


def _whole(tool: ToolMetadata, schema: dict[str, Any], *, with_examples: bool) -> dict[str, Any]:
    described: dict[str, Any] = {"name": tool.name} | ({} if tool.enabled else {"enabled": False})
    described |= {"description": tool.description, "parameters": _parameters(schema)}
    if with_examples:
        described["examples"] = [
            {key: text for key, text in asdict(example).items() if text} for example in tool.examples
        ]
    described["related_tools"] = tool.related_tools
    return described | ({"deprecated": tool.deprecated_message} if tool.deprecated else {})


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


def _versions(whole: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return ever shorter versions of a description, each with the most tokens it may cost.

    The descriptions of the tool and of its parameters stay whole, however long they are: a text that ends in
    mid-sentence may lose the rule that matters. Examples go down to one, then the texts inside parameters go, then the
    last example and the related tools. Each version names the keys that it shortens and how to get the rest.
    """
    yield DESCRIPTION_TOKENS, whole
    shorter = dict(whole)
    for count in range(len(whole.get("examples", ())) - 1, 0, -1):
        shorter["examples"] = whole["examples"][:count]
        yield DESCRIPTION_TOKENS, _with_trim_note(shorter, whole)
    shorter["parameters"] = _each(whole["parameters"], _Cut())
    yield DESCRIPTION_TOKENS, _with_trim_note(shorter, whole)
    if "examples" in whole:
        shorter["examples"] = []
        yield DESCRIPTION_TOKENS, _with_trim_note(shorter, whole)
    shorter["related_tools"] = []
    for cut in (_Cut(), _Cut(has_rules=False), _Cut(has_rules=False, has_members=False)):
        shorter["parameters"] = _each(whole["parameters"], cut)
        yield STRUCTURE_TOKENS, _with_trim_note(shorter, whole)


def _with_trim_note(shorter: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    trimmed = [key for key in whole if shorter[key] != whole[key]]
    return shorter | ({"trimmed": trimmed, "note": NOTE} if trimmed else {})


@dataclass(frozen=True, slots=True)
class _Cut:
    """What is left of the schemas inside a parameter: never their texts."""

    has_rules: bool = True
    has_members: bool = True

    def keeps(self, keyword: str) -> bool:
        if keyword in MEMBERS:
            return self.has_members
        return keyword not in TEXTS and (self.has_rules or keyword in ("type", "required"))


def _each(parameters: dict[str, Any], cut: _Cut) -> dict[str, Any]:
    return {name: _own(part, cut) for name, part in parameters.items()}


def _own(part: Any, cut: _Cut) -> Any:
    """Cut what is inside a parameter; its own texts and rules stay, those of its alternatives too."""
    if not isinstance(part, dict):
        return part
    return {
        keyword: [_own(each, cut) for each in value] if keyword in ALTERNATIVES else _inside(keyword, value, cut)
        for keyword, value in part.items()
        if cut.has_members or keyword not in MEMBERS - ALTERNATIVES
    }


def _brief(part: Any, cut: _Cut) -> Any:
    if not isinstance(part, dict):
        return part
    return {keyword: _inside(keyword, value, cut) for keyword, value in part.items() if cut.keeps(keyword)}


def _inside(keyword: str, value: Any, cut: _Cut) -> Any:
    match value:
        case dict() if keyword == "properties":
            return {name: _brief(part, cut) for name, part in value.items()}
        case dict() if keyword in MEMBERS:
            return _brief(value, cut)
        case list() if keyword in MEMBERS:
            return [_brief(each, cut) for each in value]
        case _:
            return value
