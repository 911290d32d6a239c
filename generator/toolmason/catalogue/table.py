"""The catalogue: the model as plain data, for the running server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from toolmason_runtime.shared.catalogue import (
    AppEntry,
    Catalogue,
    CategoryEntry,
    ClaimEntry,
    DeprecationEntry,
    DiscoveryEntry,
    ExampleEntry,
    KindEntry,
    ServerEntry,
    ToolEntry,
)
from toolmason_runtime.shared.placeholders import has_placeholders

from toolmason.catalogue.entries import entry_of
from toolmason.catalogue.prompts import prompt_entry, resource_entry, wire_icons
from toolmason.clients import prompt_syntax, tool_timeouts
from toolmason.model.implementation import Hints
from toolmason.model.json_schema import listed_result, property_schema, unique_paths, without_texts
from toolmason.model.server import App, Category, Server, Workflow
from toolmason.model.tool import ClaimParam, Example, Tool

NO_ENTRIES: Final[Mapping[str, ToolEntry]] = MappingProxyType({})


def catalogue(server: Server, known: Mapping[str, ToolEntry] = NO_ENTRIES) -> Catalogue:
    """Return the catalogue of `server`. `known` are entries of its tools."""
    table: Catalogue = {
        "server": _server(server),
        "discovery": entry_of(DiscoveryEntry, server.discovery, pins=server.pins, prefix=server.prefix),
        "categories": {category.name: _category(category) for category in server.categories},
        "tools": {tool.name: known.get(tool.name) or tool_entry(tool) for tool in server.tools},
    }
    for kind, groups in server.groups.items():
        entries: Any = {group.name: group.entry for group in groups}
        if section := groups[0].catalogue_section:
            table[section] = entries  # type: ignore[literal-required]  # of a built-in kind
        else:
            _kind_entry(table, kind)["groups"] = entries
    for kind in (found for entry in table["tools"].values() if (found := entry.get("kind"))):
        _kind_entry(table, kind)
    if server.prompts:
        table["prompts"] = {prompt.name: prompt_entry(prompt) for prompt in server.prompts}
    if server.resources:
        table["resources"] = {resource.name: resource_entry(resource) for resource in server.resources}
    if server.workflows:
        table["skills"] = {workflow.name: _tools_of(workflow) for workflow in server.workflows}
    if server.apps:
        table["apps"] = {app.tool: _app(app) for app in server.apps}
    return table


def _app(app: App) -> AppEntry:
    page = f"{app.page.module}:{app.page.function}"
    if app.action is None:
        return {"page": page}
    return {"page": page, "action": f"{app.action.module}:{app.action.function}"}


def _tools_of(workflow: Workflow) -> list[str]:
    """Return the tools that a workflow names, each once."""
    return [*dict.fromkeys(step.table.tool for step in workflow.steps if step.table.tool)]


def _kind_entry(table: Catalogue, kind: str) -> KindEntry:
    """Return the entry of a kind beyond the built-in ones."""
    return table.setdefault("kinds", {}).setdefault(kind, {"groups": {}})


def _server(server: Server) -> ServerEntry:
    table, lifespan = server.table, server.lifespan
    entry: ServerEntry = entry_of(
        ServerEntry,
        table,
        instructions=server.instructions,
        lifespan=f"{lifespan.module}:{lifespan.function}" if lifespan else "",
        icons=wire_icons(table.icons).get("icons"),
        command_prefix_env=server.outputs.command_prefix_env,
        expose_all_env=server.discovery.expose_all_env,
        audit={"path": table.audit, "max_mb": table.audit_max_mb, "keep": table.audit_keep} if table.audit else None,
        tool_timeouts=tool_timeouts(server),
        prompt_syntax=prompt_syntax(server),
        handlers=table.handlers if _has_files(server) else "",
    )
    return entry


def _has_files(server: Server) -> bool:
    """Return whether prompts or resources use files of the package of the handlers."""
    has_images = any(message.image for prompt in server.prompts for message in prompt.messages)
    return has_images or any(resource.table.file for resource in server.resources)


def _category(category: Category) -> CategoryEntry:
    errors = "json" if category.has_json_errors else ""
    entry: CategoryEntry = entry_of(CategoryEntry, category.table, module=category.module, errors=errors)
    return entry


def tool_entry(tool: Tool) -> ToolEntry:
    """Return the entry of one tool."""
    wire = wire_tool(tool)
    exact = without_texts(tool.output_schema) if tool.output_schema is not None else None
    # Only for raw schemas: generated models implement the types of the manifest.
    has_own_schema = not tool.params_class and tool.schema != tool.input_schema
    entry: ToolEntry = entry_of(
        ToolEntry,
        tool.table,
        tool=wire,
        category=tool.category,
        examples=[_example(example) for example in tool.examples],
        arguments_schema=tool.schema if has_own_schema else None,
        unique=unique_paths(tool.schema) if tool.params_class else (),
        result_schema=None if exact == wire.get("outputSchema") else exact,
        complete_schema=tool.complete_schema,
        renamed=tool.renamed,
        argument_aliases=tool.argument_aliases,
        deprecated_arguments=_deprecated_arguments(tool),
        **tool.implementation.entry,
        placeholders=has_placeholders(json.dumps([wire, tool.table.summary])),
        claims={param.value.name: _claim(param) for param in tool.claims},
    )
    return entry


def _deprecated_arguments(tool: Tool) -> dict[str, DeprecationEntry]:
    """Return the deprecations of parameters by the names that callers see."""
    shown = {own: public for public, own in tool.renamed.items()}
    result = {}
    for name, table in tool.table.params.items():
        if table.deprecated and not table.claim:
            other = table.deprecated.replaced_by
            result[shown.get(name, name)] = entry_of(
                DeprecationEntry, table.deprecated, replaced_by=shown.get(other, other)
            )
    return result


def _claim(param: ClaimParam) -> ClaimEntry:
    schema = property_schema(param.value, formats=False)
    rules = {key: rule for key, rule in schema.items() if key not in {"description", "default"}}
    return {"claim": param.claim, "schema": rules, "required": param.value.required}


def wire_tool(tool: Tool) -> dict[str, Any]:
    """Return a tool for `tools/list` (MCP 2025-11-25 and 2026-07-28, `Tool`)."""
    wire: dict[str, Any] = {"name": tool.name}
    if tool.table.title:
        wire["title"] = tool.table.title
    wire |= {"description": tool.description, "inputSchema": tool.input_schema}
    if tool.output_schema is not None:
        wire["outputSchema"] = listed_result(tool.output_schema)
    wire["annotations"] = wire_hints(tool.hints)
    wire |= wire_icons(tool.table.icons)
    if tool.table.ext:
        wire["_meta"] = dict(tool.table.ext)
    return wire


def wire_hints(hints: Hints) -> dict[str, bool]:
    """Return all four hints. Clients use them to decide on approval; the defaults of MCP are the worst case."""
    return {
        "readOnlyHint": hints.read_only,
        "destructiveHint": hints.destructive,
        "idempotentHint": hints.idempotent,
        "openWorldHint": hints.open_world,
    }


def _example(example: Example) -> ExampleEntry:
    entry: ExampleEntry = {
        "description": example.table.description,
        "arguments": dict(example.arguments),
        "invocation": example.invocation,
    }
    if example.table.expected_output:
        entry["expected_output"] = example.table.expected_output
    return entry
