"""The catalogue: the model as plain data, for the running server."""

from __future__ import annotations

from typing import Any

from toolmason_runtime.protocol.catalogue import (
    AuthEntry,
    Catalogue,
    CategoryEntry,
    ClaimEntry,
    CliEntry,
    ExampleEntry,
    ToolEntry,
)

from toolmason.catalogue.prompts import prompt_entry, resource_entry, wire_icons
from toolmason.clients import tool_timeouts
from toolmason.model.json_schema import listed_result, property_schema, unique_paths, without_texts
from toolmason.model.server import Category, Cli, Server, ServerAuth
from toolmason.model.tool import ClaimParam, Example, Hints, Tool


def catalogue(server: Server) -> Catalogue:
    """Return the catalogue of `server`."""
    table: Catalogue = {
        "server": {
            "name": server.name,
            "title": server.title,
            "version": server.version,
            "package": server.package,
            "instructions": server.instructions,
            "website": server.website,
            "page_size": server.page_size,
            "lifespan": f"{server.lifespan.module}:{server.lifespan.function}" if server.lifespan else "",
        },
        "discovery": {
            "style": server.discovery.style,
            "prefix": server.discovery.prefix,
            "pinned": list(server.discovery.pinned),
            "page_tokens": server.discovery.page_tokens,
            "split_calls": server.discovery.split_calls,
        },
        "categories": {category.name: _category(category) for category in server.categories},
        "tools": {tool.name: tool_entry(tool) for tool in server.tools},
    }
    if server.icons:
        table["server"]["icons"] = wire_icons(server.icons)["icons"]
    if server.outputs.command_prefix_env:
        table["server"]["command_prefix_env"] = server.outputs.command_prefix_env
    if server.auth:
        table["server"]["auth"] = _auth(server.auth)
    if server.chunk_store:
        table["server"]["chunk_store"] = server.chunk_store
    if server.audit:
        limits = {"max_mb": server.audit_max_mb, "keep": server.audit_keep}
        table["server"]["audit"] = {"path": server.audit, **limits}  # type: ignore[typeddict-item]
    if timeouts := tool_timeouts(server):
        table["server"]["tool_timeouts"] = timeouts
    if server.discovery.pins:
        table["discovery"]["pins"] = {style: list(pins) for style, pins in server.discovery.pins.items()}
    if server.discovery.detail != "signature":
        table["discovery"]["detail"] = server.discovery.detail
    if server.discovery.list_fetch_chunk:
        table["discovery"]["list_fetch_chunk"] = True
    if server.discovery.ranker:
        table["discovery"]["ranker"] = server.discovery.ranker
    if server.clis:
        table["clis"] = {cli.name: _cli(cli) for cli in server.clis}
    if server.apis:
        table["apis"] = {api.name: {"summary": api.summary, "tags": list(api.tags)} for api in server.apis}
    if server.upstreams:
        table["upstreams"] = {
            upstream.name: {"summary": upstream.summary, "tags": list(upstream.tags)} for upstream in server.upstreams
        }
    if server.prompts:
        table["prompts"] = {prompt.name: prompt_entry(prompt) for prompt in server.prompts}
    if server.resources:
        table["resources"] = {resource.name: resource_entry(resource) for resource in server.resources}
    if _has_files(server):
        table["server"]["handlers"] = server.handlers
    return table


def _auth(auth: ServerAuth) -> AuthEntry:
    return {
        "issuer": auth.issuer,
        "audience": auth.audience,
        "jwks_url": auth.jwks_url,
        "resource": auth.resource,
        "scopes": list(auth.scopes),
        "algorithms": list(auth.algorithms),
    }


def _has_files(server: Server) -> bool:
    """Return whether prompts or resources use files of the package of the handlers."""
    has_images = any(message.image for prompt in server.prompts for message in prompt.messages)
    return has_images or any(resource.file for resource in server.resources)


def _cli(cli: Cli) -> CliEntry:
    entry: CliEntry = {"summary": cli.summary, "tags": list(cli.tags)}
    if cli.description:
        entry["description"] = cli.description
    if cli.is_confined:
        entry["confined"] = True
    return entry


def _category(category: Category) -> CategoryEntry:
    entry: CategoryEntry = {"module": category.module, "summary": category.summary, "tags": list(category.tags)}
    if category.description:
        entry["description"] = category.description
    if category.has_json_errors:
        entry["errors"] = "json"
    return entry


def tool_entry(tool: Tool) -> ToolEntry:
    """Return the entry of one tool."""
    entry: ToolEntry = {
        "tool": wire_tool(tool),
        "summary": tool.summary,
        "category": tool.category,
        "complexity": tool.complexity,
        "tier": tool.tier,
        "keywords": list(tool.keywords),
        "use_cases": list(tool.use_cases),
        "related": list(tool.related),
        "examples": [_example(example) for example in tool.examples],
    }
    if tool.tags:
        entry["tags"] = list(tool.tags)
    if tool.requires_codebase:
        entry["requires_codebase"] = True
    if tool.command:
        entry["cli"] = tool.command.tool.program.name
    if tool.http:
        entry["api"] = tool.http.tool.api.name
    if tool.upstream:
        entry["upstream"] = tool.upstream.tool.upstream.name
    if tool.aliases:
        entry["aliases"] = list(tool.aliases)
    if tool.deprecated:
        old = tool.deprecated
        entry["deprecated"] = {"since": old.since, "replaced_by": old.replaced_by, "message": old.message}
    if not tool.enabled:
        entry["enabled"] = False
    # Only for raw schemas: generated models implement the types of the manifest.
    if not tool.params_class and tool.schema != tool.input_schema:
        entry["arguments_schema"] = tool.schema
    if tool.complete_schema is not None:
        entry["complete_schema"] = tool.complete_schema
    if tool.params_class and (paths := unique_paths(tool.schema)):
        entry["unique"] = paths
    if tool.output_schema is not None:
        exact = without_texts(tool.output_schema)
        if exact != entry["tool"]["outputSchema"]:
            entry["result_schema"] = exact
    if tool.renamed:
        entry["renamed"] = dict(tool.renamed)
    if tool.scopes:
        entry["scopes"] = list(tool.scopes)
    if tool.claims:
        entry["claims"] = {param.value.name: _claim(param) for param in tool.claims}
    return entry


def _claim(param: ClaimParam) -> ClaimEntry:
    schema = property_schema(param.value, formats=False)
    rules = {key: rule for key, rule in schema.items() if key not in {"description", "default"}}
    return {"claim": param.claim, "schema": rules, "required": param.value.required}


def wire_tool(tool: Tool) -> dict[str, Any]:
    """Return a tool for `tools/list` (MCP 2025-11-25 and 2026-07-28, `Tool`)."""
    wire: dict[str, Any] = {"name": tool.name}
    if tool.title:
        wire["title"] = tool.title
    wire |= {"description": tool.description, "inputSchema": tool.input_schema}
    if tool.output_schema is not None:
        wire["outputSchema"] = listed_result(tool.output_schema)
    wire["annotations"] = wire_hints(tool.hints)
    wire |= wire_icons(tool.icons)
    if tool.ext:
        wire["_meta"] = dict(tool.ext)
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
        "description": example.description,
        "arguments": dict(example.arguments),
        "invocation": example.invocation,
    }
    if example.expected_output:
        entry["expected_output"] = example.expected_output
    return entry
