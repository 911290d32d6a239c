"""Metadata of tools for programs (REQ-015.3), computed from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolmason_runtime.shared.built_in import BUILT_IN
from toolmason_runtime.shared.catalogue import Catalogue, ToolEntry
from toolmason_runtime.shared.placeholders import placeholders_of
from toolmason_runtime.shared.values.wording import deprecation_text


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """One parameter of a tool.

    `type` is the type of JSON Schema; several are joined by ` | `, and `any` stands for a schema without a type. `enum`
    is None if every value of the type is valid; values other than strings are written as in Python.
    """

    type: str
    description: str
    required: bool
    default: Any = None
    enum: list[str] | None = None


@dataclass(frozen=True, slots=True)
class ToolExample:
    """A valid call, in call syntax."""

    description: str
    invocation: str
    expected_output: str | None = None


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """The metadata of one tool. `summary` has at most 80 characters."""

    name: str
    summary: str
    category: str
    description: str
    parameters: dict[str, ParameterSpec]
    examples: list[ToolExample]
    related_tools: list[str]
    enabled: bool = True
    deprecated: bool = False
    deprecated_message: str | None = None


def get_tool_metadata(catalogue: Catalogue, name: str) -> ToolMetadata | None:
    """Return the metadata of the tool with this name or alias, built-in or not; None if there is none."""
    entries = catalogue["tools"]
    entry = BUILT_IN.get(name) or entries.get(name)
    if entry is None:
        entry = next((entry for entry in entries.values() if name in entry.get("aliases", ())), None)
    return None if entry is None else metadata_of(placeholders_of(catalogue).fill_entry(entry))


def list_all_tools(catalogue: Catalogue, category: str | None = None) -> list[ToolMetadata]:
    """Return the metadata of every tool, or of those in `category`, in the order of the manifest."""
    fill = placeholders_of(catalogue).fill_entry
    entries = catalogue["tools"].values()
    return [metadata_of(fill(entry)) for entry in entries if category in (None, entry["category"])]


def type_text(schema: Any) -> str:
    """Return the JSON types that a schema allows: `string | null`."""
    if not isinstance(schema, dict):
        return "any"
    types = schema.get("type")
    if isinstance(types, str):
        return types
    if isinstance(types, list):
        return " | ".join(types)
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    return " | ".join(dict.fromkeys(type_text(branch) for branch in branches)) or "any"


def metadata_of(entry: ToolEntry) -> ToolMetadata:
    """Return the metadata of one tool."""
    tool = entry["tool"]
    schema = tool["inputSchema"]
    required = schema.get("required", ())
    deprecation = entry.get("deprecated")
    return ToolMetadata(
        name=tool["name"],
        summary=entry["summary"],
        category=entry["category"],
        description=tool.get("description", entry["summary"]),
        parameters={name: _parameter(part, name in required) for name, part in schema.get("properties", {}).items()},
        examples=[
            ToolExample(example["description"], example["invocation"], example.get("expected_output"))
            for example in entry["examples"]
        ],
        related_tools=list(entry["related"]),
        enabled=entry.get("enabled", True),
        deprecated=deprecation is not None,
        deprecated_message=None if deprecation is None else deprecation_text(deprecation),
    )


def _parameter(schema: Any, required: bool) -> ParameterSpec:
    rules: Mapping[str, Any] = schema if isinstance(schema, dict) else {}
    # In `inputSchema`, the keywords of a union are in its branches.
    parts = [rules, *(branch for branch in rules.get("anyOf", ()) if isinstance(branch, dict))]
    return ParameterSpec(
        type=type_text(schema),
        description=next((part["description"] for part in parts if "description" in part), ""),
        required=required,
        default=next((part["default"] for part in parts if "default" in part), None),
        enum=[str(value) for value in rules["enum"]] if "enum" in rules else None,
    )
