"""Pairs of tool lists in the kinds in which real servers changed, made for this comparison, with the right answers.

`breaking`: a call that was valid fails, or a reader of results gets something that it does not expect. `dangerous`:
calls stay valid, but do or mean something else. `safe`: neither.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

Tool = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two lists of tools, and the right answer."""

    name: str
    answer: str
    old: list[Tool]
    new: list[Tool]


_BASE: Final[list[Tool]] = [
    {
        "name": "search_issues",
        "title": "Search issues",
        "description": "Find issues by words in their title or text.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "Words to look for", "maxLength": 200},
                "state": {"type": "string", "enum": ["open", "closed", "all"], "default": "open"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
                "labels": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
                "since": {"type": "string"},
                "sort": {
                    "type": "object",
                    "properties": {"field": {"type": "string", "enum": ["date", "votes"]}, "down": {"type": "boolean"}},
                    "required": ["field"],
                },
                "assignee": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "reference": {
                    "oneOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}]
                },
            },
            "required": ["query"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "total": {"type": "integer"},
                "issues": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "integer"},
                            "state": {"type": "string", "enum": ["open", "closed"]},
                            "closed_at": {"type": "string"},
                        },
                        "required": ["id", "state"],
                    },
                },
            },
            "required": ["total", "issues"],
        },
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "close_issue",
        "description": "Close one issue with a comment.",
        "inputSchema": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "comment": {"type": "string"}},
            "required": ["id"],
        },
        "annotations": {
            "readOnlyHint": False,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    },
]

_Edit = Callable[[list[Tool]], object]


def _arguments(tools: list[Tool]) -> dict[str, Any]:
    return tools[0]["inputSchema"]["properties"]  # type: ignore[no-any-return]


def _argument(name: str, **keys: Any) -> _Edit:
    """Return an edit that sets keys of an argument; None removes one."""

    def edit(tools: list[Tool]) -> None:
        for key, value in keys.items():
            _arguments(tools)[name].pop(key, None)
            if value is not None:
                _arguments(tools)[name][key] = value

    return edit


def _replace(name: str, schema: Any) -> _Edit:
    return lambda tools: _arguments(tools).update({name: schema})


def _remove(name: str) -> _Edit:
    return lambda tools: _arguments(tools).pop(name)


def _rename(old: str, new: str) -> _Edit:
    return lambda tools: _arguments(tools).update({new: _arguments(tools).pop(old)})


def _require(name: str) -> _Edit:
    return lambda tools: tools[0]["inputSchema"]["required"].append(name)


def _hint(index: int, **hints: bool) -> _Edit:
    return lambda tools: tools[index]["annotations"].update(hints)


def _tool(index: int, **keys: Any) -> _Edit:
    return lambda tools: tools[index].update(keys)


def _result(name: str, schema: Any) -> _Edit:
    return lambda tools: tools[0]["outputSchema"]["properties"].update({name: schema})


def _issue(name: str, schema: Any) -> _Edit:
    """Return an edit of a field of the items of the result."""
    return lambda tools: tools[0]["outputSchema"]["properties"]["issues"]["items"]["properties"].update({name: schema})


def _sort(**keys: Any) -> _Edit:
    return lambda tools: _arguments(tools)["sort"].update(keys)


def _all(*edits: _Edit) -> _Edit:
    return lambda tools: [edit(tools) for edit in edits]


_NEW_TOOL: Final = {
    "name": "list_labels",
    "description": "List the labels of a project.",
    "inputSchema": {"type": "object"},
}
_FIELDS: Final = {"field": {"type": "string", "enum": ["date", "votes"]}, "down": {"type": "boolean"}}
_POSITIVE: Final = {"type": "integer", "minimum": 1}
_KEY: Final = {"type": "string", "pattern": "^[A-Z]+-[0-9]+$"}

_EDITS: Final[list[tuple[str, str, _Edit]]] = [
    ("breaking", "a tool is removed", lambda tools: tools.pop()),
    ("breaking", "a tool is renamed", _tool(1, name="resolve_issue")),
    ("breaking", "an optional argument is removed", _remove("since")),
    (
        "breaking",
        "a required argument is removed",
        _all(_remove("query"), lambda t: t[0]["inputSchema"].update(required=[])),
    ),
    ("breaking", "an argument is renamed", _rename("limit", "max_results")),
    ("breaking", "an optional argument is required", _require("since")),
    ("breaking", "an argument with a default is required", _all(_argument("limit", default=None), _require("limit"))),
    ("breaking", "a required argument is added", _all(_replace("project", {"type": "string"}), _require("project"))),
    ("breaking", "string becomes array", _replace("query", {"type": "array", "items": {"type": "string"}})),
    ("breaking", "integer becomes string", _argument("limit", type="string", minimum=None, maximum=None, default=None)),
    ("breaking", "number becomes integer", _argument("limit", type="integer")),
    ("breaking", "an enum loses a value", _argument("state", enum=["open", "closed"])),
    ("breaking", "a text becomes an enum", _argument("since", enum=["day", "week"])),
    ("breaking", "a maximum is lower", _argument("limit", maximum=50)),
    ("breaking", "a minimum is higher", _argument("limit", minimum=5)),
    ("breaking", "a text is shorter", _argument("query", maxLength=100)),
    ("breaking", "a text must not be empty", _argument("query", minLength=1)),
    ("breaking", "a list is shorter", _argument("labels", maxItems=5)),
    ("breaking", "a list needs an item", _argument("labels", minItems=1)),
    ("breaking", "items of a list must differ", _argument("labels", uniqueItems=True)),
    ("breaking", "items have another type", _argument("labels", items={"type": "integer"})),
    ("breaking", "items get an enum", _argument("labels", items={"type": "string", "enum": ["bug", "idea"]})),
    ("breaking", "a text gets a pattern", _argument("since", pattern="^[0-9]{4}-[0-9]{2}$")),
    ("breaking", "a text gets a format", _argument("since", format="date")),
    ("breaking", "null is refused", _replace("assignee", {"type": "string"})),
    ("breaking", "an alternative is removed", _replace("reference", {"oneOf": [_POSITIVE]})),
    (
        "breaking",
        "an alternative is stricter",
        _replace("reference", {"oneOf": [{"type": "integer", "minimum": 2}, _KEY]}),
    ),
    ("breaking", "a nested argument is removed", _sort(properties={"field": _FIELDS["field"]})),
    ("breaking", "a nested argument is required", _sort(required=["field", "down"])),
    (
        "breaking",
        "a nested enum loses a value",
        _sort(properties=_FIELDS | {"field": {"type": "string", "enum": ["date"]}}),
    ),
    ("breaking", "a nested type changes", _sort(properties=_FIELDS | {"down": {"type": "string"}})),
    ("breaking", "a field of the result is removed", lambda t: t[0]["outputSchema"]["properties"].pop("total")),
    ("breaking", "a nested field of the result changes its type", _issue("id", {"type": "string"})),
    ("breaking", "a field of the result may be missing", lambda t: t[0]["outputSchema"].update(required=["issues"])),
    ("breaking", "a field of the result may be null", _result("total", {"type": ["integer", "null"]})),
    ("breaking", "the result has no schema", lambda tools: tools[0].pop("outputSchema")),
    (
        "dangerous",
        "a result has another state",
        _issue("state", {"type": "string", "enum": ["open", "closed", "draft"]}),
    ),
    ("dangerous", "a default changes", _argument("state", default="all")),
    ("dangerous", "a numeric default changes", _argument("limit", default=100)),
    ("dangerous", "a tool becomes destructive", _hint(1, destructiveHint=True)),
    ("dangerous", "a tool is no longer read-only", _hint(0, readOnlyHint=False)),
    ("dangerous", "a tool reaches other systems", _hint(0, openWorldHint=True)),
    ("dangerous", "a tool is no longer idempotent", _hint(1, idempotentHint=False)),
    ("dangerous", "the hints are gone, which means the worst", lambda tools: tools[0].pop("annotations")),
    (
        "dangerous",
        "two descriptions look alike",
        _tool(1, description="Find issues by the words in their text or title."),
    ),
    ("safe", "nothing", _tool(0)),
    ("safe", "tools in another order", lambda tools: tools.reverse()),
    ("safe", "a tool is added", lambda tools: tools.append(_NEW_TOOL)),
    ("safe", "an optional argument is added", _replace("project", {"type": "string"})),
    ("safe", "a required argument is optional", lambda tools: tools[0]["inputSchema"].update(required=[])),
    ("safe", "an enum has another value", _argument("state", enum=["open", "closed", "all", "draft"])),
    ("safe", "an enum in another order", _argument("state", enum=["all", "closed", "open"])),
    ("safe", "a maximum is higher", _argument("limit", maximum=500)),
    ("safe", "integer becomes number", _argument("limit", type="number")),
    ("safe", "an exclusive bound instead of an inclusive one", _argument("limit", minimum=None, exclusiveMinimum=0)),
    ("safe", "null is accepted", _replace("since", {"type": ["string", "null"]})),
    ("safe", "null is written differently", _replace("assignee", {"type": ["string", "null"]})),
    ("safe", "an alternative is added", _replace("reference", {"oneOf": [_POSITIVE, _KEY, {"type": "boolean"}]})),
    (
        "safe",
        "an argument is behind a reference",
        lambda tools: tools[0]["inputSchema"].update(
            {
                "$defs": {"State": _arguments(tools)["state"]},
                "properties": _arguments(tools) | {"state": {"$ref": "#/$defs/State"}},
            }
        ),
    ),
    ("safe", "a field is added to the result", _result("page", {"type": "integer"})),
    (
        "safe",
        "a description says more",
        _tool(0, description="Find issues by words in their title or text, newest first."),
    ),
]


def pairs() -> list[Pair]:
    """Return the pairs."""
    found = []
    for answer, name, edit in _EDITS:
        old, new = copy.deepcopy(_BASE), copy.deepcopy(_BASE)
        if name == "number becomes integer":
            _arguments(old)["limit"]["type"] = "number"
        edit(new)
        found.append(Pair(name, answer, old, new))
    return found
