"""What a newer document changes for callers: tools that are added, removed or changed, and calls that now fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason.importers.server.losses import some

_LOWER: Final = ("minimum", "min_length", "min_items")
_UPPER: Final = ("maximum", "max_length", "max_items")


@dataclass(frozen=True, slots=True)
class Changes:
    """The names of tools, and a text for each change that can make a valid call fail."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    breaking: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the report, one line for each kind that occurs and for each breaking change."""
        kinds = (("added", self.added), ("removed", self.removed), ("changed", self.changed))
        lines = [f"{kind} ({len(names)}): {some(names)}" for kind, names in kinds if names]
        lines += [f"breaking: {text}" for text in self.breaking]
        return lines or ["no tool has changed"]


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    """Compare the tables of two imports."""
    old, new = before["tools"], after["tools"]
    types = _breaking_types(before.get("types", {}), after.get("types", {}))
    result = Changes(added=[name for name in new if name not in old], removed=[name for name in old if name not in new])
    result.breaking.extend(f"{name} is removed" for name in result.removed)
    for name, table in old.items():
        if name not in new:
            continue
        breaking = list(_breaking_tool(table, new[name]))
        used = _used_types(table, before.get("types", {}))
        breaking += [text for kind, texts in types.items() if kind in used for text in texts]
        has_new_types = any(before["types"].get(kind) != after.get("types", {}).get(kind) for kind in used)
        if breaking or has_new_types or table != new[name]:
            result.changed.append(name)
        result.breaking.extend(f"{name}: {text}" for text in breaking)
    return result


def _breaking_tool(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    if "input_schema" in old or "input_schema" in new:
        yield from _breaking_schema(old, new)
        return
    yield from _breaking_values(old.get("params", {}), new.get("params", {}), "parameter")


def _breaking_schema(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Compare the arguments of tools of which one has an `input_schema`: their names, and which are required."""
    (names, required), (new_names, new_required) = _arguments(old), _arguments(new)
    for name in names:
        if name not in new_names:
            yield f"the parameter `{name}` is removed"
    for name in new_required:
        if name not in required:
            yield f"the parameter `{name}` is required"


def _arguments(tool: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    if "input_schema" in tool:
        schema = tool["input_schema"]
        return list(schema.get("properties", {})), list(schema.get("required", []))
    params = tool.get("params", {})
    return list(params), [name for name, entry in params.items() if entry.get("required", True)]


def _breaking_values(old: Mapping[str, Any], new: Mapping[str, Any], kind: str) -> Iterator[str]:
    """Compare parameters or fields."""
    for name, entry in old.items():
        if name not in new:
            yield f"the {kind} `{name}` is removed"
            continue
        value = new[name]
        if value.get("required", True) and not entry.get("required", True):
            yield f"the {kind} `{name}` is required"
        if value["type"] != entry["type"]:
            # An object accepts what its type did.
            if value["type"].replace("object", "") not in entry["type"] or "object" not in value["type"]:
                yield f"the {kind} `{name}` is `{value['type']}`, not `{entry['type']}`"
            continue
        if "enum" in value and (
            lost := [item for item in entry.get("enum", ["any other"]) if item not in value["enum"]]
        ):
            yield f"the {kind} `{name}` no longer accepts {', '.join(f'`{item}`' for item in lost[:4])}"
        stricter = [key for key in _LOWER if key in value and value[key] > entry.get(key, float("-inf"))]
        stricter += [key for key in _UPPER if key in value and value[key] < entry.get(key, float("inf"))]
        stricter += [key for key in ("pattern", "format") if key in value and value[key] != entry.get(key)]
        if entry.get("nullable") and not value.get("nullable"):
            stricter.append("nullable")
        if stricter:
            yield f"the {kind} `{name}` has a stricter `{stricter[0]}`"
    for name, value in new.items():
        if name not in old and value.get("required", True):
            yield f"the {kind} `{name}` is new and required"


def _breaking_types(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the breaking changes of each type that both imports have."""
    return {
        name: [
            f"{text} in `{name}`"
            for text in _breaking_values(table.get("fields", {}), new[name].get("fields", {}), "field")
        ]
        for name, table in old.items()
        if name in new
    }


def _used_types(tool: Mapping[str, Any], types: Mapping[str, Any]) -> set[str]:
    pending = [entry["type"] for entry in tool.get("params", {}).values()]
    used: set[str] = set()
    while pending:
        expression = pending.pop()
        kind = expression.removeprefix("map<").split(">")[0].split("[")[0].removeprefix("map<")
        if kind in types and kind not in used:
            used.add(kind)
            pending += [value["type"] for value in types[kind].get("fields", {}).values()]
    return used
