"""The typed client of a manifest's server, with the exact schemas and the type names of the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from toolmason.model.json_schema import definitions, with_definitions
from toolmason.model.server import Server
from toolmason.model.tool import Tool
from toolmason.render.typed_clients.tools import (
    Example,
    ListedTool,
    TypedClient,
    client_class,
    method_names,
    typed_client,
)

_TITLES: Final = {"python": "Python", "typescript": "TypeScript"}


def manifest_client(server: Server) -> TypedClient:
    """Return the facts about the typed client of `server`."""
    table = server.table
    program = server.launch[0]
    is_installed = len(server.launch) == 1
    return typed_client(
        tuple(_tools(server)),
        name=table.name,
        title=table.title or table.name,
        version=table.version,
        package=client_package(server),
        source=server.source,
        command=(program,) if is_installed else server.launch,
        factory=f"{server.package}:build_server",
    )


def client_package(server: Server) -> str:
    """Return the import name of the client: `notes_client` for the package `notes_server`."""
    return f"{re.sub(r'_server$', '', server.package)}_client"


def client_methods(server: Server) -> dict[str, tuple[str, ...]]:
    """Return the methods that call each tool: ``the Python client's `DiaryClient.find_notes` ``."""
    languages = server.outputs.clients
    if not languages:
        return {}
    names = method_names([tool.name for tool in server.tools if tool.table.enabled])
    owner = client_class(server.table.name)
    return {
        tool: tuple(f"the {_TITLES[language]} client's `{owner}.{methods[language]}`" for language in languages)
        for tool, methods in names.items()
    }


def _tools(server: Server) -> Iterator[ListedTool]:
    declared = definitions(server.types)
    for tool in server.tools:
        if not tool.table.enabled:
            continue
        result: Any = tool.output_schema
        if result is not None and tool.result_class in declared:
            result = with_definitions({"$ref": f"#/$defs/{tool.result_class}"}, declared)
        yield ListedTool(
            name=tool.name,
            title=tool.table.title,
            description=tool.description,
            arguments=_arguments(tool),
            result=result,
            examples=tuple(
                Example(description=example.table.description, arguments=example.arguments) for example in tool.examples
            ),
            deprecated=_deprecation(tool),
        )


def _arguments(tool: Tool) -> dict[str, Any]:
    """Return the exact schema of the arguments, under the names that clients send."""
    schema = dict(tool.schema)
    if not tool.renamed:
        return schema
    shown = {exact: name for name, exact in tool.renamed.items()}
    properties = {shown.get(name, name): part for name, part in schema.get("properties", {}).items()}
    required = [shown.get(name, name) for name in schema.get("required", ())]
    return {**schema, "properties": properties, "required": required}


def _deprecation(tool: Tool) -> str:
    deprecated = tool.table.deprecated
    if deprecated is None:
        return ""
    since = f"since {deprecated.since}" if deprecated.since else "it will be removed"
    instead = f"use `{deprecated.replaced_by}`" if deprecated.replaced_by else ""
    return "; ".join(part for part in (since, instead, deprecated.message) if part)
