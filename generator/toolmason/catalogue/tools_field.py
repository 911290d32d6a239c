"""The field `tools` of a request to a model, as a client builds it from the result of `tools/list`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolmason_runtime.shared.catalogue import WireTool
from toolmason_runtime.toolkit import compact_json

from toolmason.clients import Client, ToolsField
from toolmason.model.server import Server
from toolmason.schema.keywords import SCHEMA_KEYWORDS, SCHEMA_LIST_KEYWORDS, SCHEMA_MAP_KEYWORDS


def tools_field(client: Client, server: Server, listed: Sequence[WireTool]) -> list[Any]:
    """Return the field `tools` that `client` sends for the tools in `listed`; empty if its form is unknown."""
    return tools_field_of(client, listed, server=server.table.name, instructions=server.instructions)


def tools_field_of(client: Client, listed: Sequence[WireTool], *, server: str, instructions: str) -> list[Any]:
    """Return the same for another server, with its name and instructions."""
    form, names = client.tools_field, client.names
    if form is None or names is None:
        return []
    tools = [
        _filled(
            form.tool,
            {
                "$tool": tool["name"],
                "$name": names.form.format(server=server, tool=tool["name"]),
                "$description": tool.get("description", ""),
                "$schema": _schema(form, _mapping(tool.get("inputSchema"))),
            },
        )
        for tool in listed
    ]
    if not form.group:
        return tools
    group = names.form.format(server=server, tool="").rstrip("_")
    return [_filled(form.group, {"$name": group, "$description": instructions, "$tools": tools})]


def _filled(form: Any, values: Mapping[str, Any]) -> Any:
    """Return `form` with each placeholder, a key of `values`, replaced by its value."""
    if isinstance(form, Mapping):
        return {key: _filled(part, values) for key, part in form.items()}
    return values.get(form, form) if isinstance(form, str) else form


def _schema(form: ToolsField, schema: Mapping[str, Any]) -> dict[str, Any]:
    sent: dict[str, Any] = _with_keywords(schema, form.passes) if form.passes else {**schema}
    if form.max_described and len(compact_json(sent).encode(errors="surrogatepass")) > form.max_described:
        sent = _with_keywords(sent, [keyword for keyword in form.passes if keyword != "description"])
    return {**sent, **form.keywords, "properties": {**_mapping(sent.get("properties")), **form.properties}}


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return an object in a schema; an empty one for any other value, which another server may send."""
    return value if isinstance(value, Mapping) else {}


def _with_keywords(schema: Any, keywords: Sequence[str]) -> Any:
    """Return a copy of `schema` in which every schema has only `keywords`."""
    if not isinstance(schema, Mapping):
        return schema
    copy: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword not in keywords:
            continue
        if keyword in SCHEMA_MAP_KEYWORDS:
            copy[keyword] = {name: _with_keywords(part, keywords) for name, part in _mapping(value).items()}
        elif keyword in SCHEMA_LIST_KEYWORDS and isinstance(value, list):
            copy[keyword] = [_with_keywords(part, keywords) for part in value]
        else:
            copy[keyword] = _with_keywords(value, keywords) if keyword in SCHEMA_KEYWORDS else value
    return copy
