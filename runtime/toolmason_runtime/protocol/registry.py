"""What a program can read about a tool at run time: the metadata of REQ-015.3, made from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolmason_runtime.protocol.catalogue import Catalogue, DeprecationEntry, ExampleEntry, ToolEntry


@dataclass(frozen=True, slots=True)
class ParameterSpec:
    """One parameter of a tool.

    `type` is that of JSON Schema; several are joined by ` | `, and `any` says that the schema names none. `enum` is
    None when any value of the type will do; values that are no strings are written as Python writes them.
    """

    type: str
    description: str
    required: bool
    default: Any = None
    enum: list[str] | None = None


@dataclass(frozen=True, slots=True)
class ToolExample:
    """A call that works, as call syntax."""

    description: str
    invocation: str
    expected_output: str | None = None


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """All that is known of one tool. `summary` has at most 80 characters."""

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
    """Give the metadata of the tool called `name`, or once called so; None if there is none."""
    entry = catalogue["tools"].get(name)
    if entry is None:
        entry = next((each for each in catalogue["tools"].values() if name in each.get("aliases", ())), None)
    return None if entry is None else metadata_of(entry)


def list_all_tools(catalogue: Catalogue, category: str | None = None) -> list[ToolMetadata]:
    """Give the metadata of every tool, or of those in `category`, in the order of the manifest."""
    entries = catalogue["tools"].values()
    return [metadata_of(entry) for entry in entries if category is None or entry["category"] == category]


def metadata_of(entry: ToolEntry) -> ToolMetadata:
    """Give the metadata of one entry."""
    tool = entry["tool"]
    deprecation = entry.get("deprecated")
    return ToolMetadata(
        name=tool["name"],
        summary=entry["summary"],
        category=entry["category"],
        description=tool.get("description", entry["summary"]),
        parameters=parameters_of(tool["inputSchema"]),
        examples=[_example(example) for example in entry["examples"]],
        related_tools=list(entry["related"]),
        enabled=entry.get("enabled", True),
        deprecated=deprecation is not None,
        deprecated_message=None if deprecation is None else deprecation_text(deprecation),
    )


def parameters_of(schema: Mapping[str, Any]) -> dict[str, ParameterSpec]:
    """Give the parameters of an `inputSchema`, in its order."""
    required = schema.get("required", ())
    return {name: _parameter(part, name in required) for name, part in schema.get("properties", {}).items()}


def deprecation_text(deprecation: DeprecationEntry) -> str:
    """Say since when a tool is deprecated, what replaces it, and what its author adds."""
    since = f"since {deprecation['since']}" if deprecation["since"] else "deprecated"
    instead = f"use `{deprecation['replaced_by']}`" if deprecation["replaced_by"] else ""
    return "; ".join(part for part in (since, instead, deprecation["message"]) if part)


def type_text(schema: Any) -> str:
    """Name the JSON types a schema allows."""
    if not isinstance(schema, dict):
        return "any"
    kind = schema.get("type")
    if isinstance(kind, str):
        return kind
    if isinstance(kind, list):
        return " | ".join(kind)
    branches = schema.get("anyOf") or schema.get("oneOf") or ()
    return " | ".join(dict.fromkeys(type_text(branch) for branch in branches)) or "any"


def _parameter(schema: Any, required: bool) -> ParameterSpec:
    said = schema if isinstance(schema, dict) else {}
    # Nothing stands beside `anyOf` in what clients are sent: the alternatives say it.
    spoken = [said, *(each for each in said.get("anyOf", ()) if isinstance(each, dict))]
    return ParameterSpec(
        type=type_text(schema),
        description=next((each["description"] for each in spoken if "description" in each), ""),
        required=required,
        default=next((each["default"] for each in spoken if "default" in each), None),
        enum=[str(value) for value in said["enum"]] if "enum" in said else None,
    )


def _example(example: ExampleEntry) -> ToolExample:
    return ToolExample(example["description"], example["invocation"], example.get("expected_output"))
