"""The field `tools` of a request to a model, as a client builds it from the result of `tools/list`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolmason_runtime.protocol.catalogue import WireTool

from toolmason.clients import Client, ToolsField
from toolmason.model.server import Server


def tools_field(client: Client, server: Server, listed: Sequence[WireTool]) -> list[Any]:
    """Return the field `tools` that `client` sends for the tools in `listed`; empty if its form is unknown."""
    form, names = client.tools_field, client.names
    if form is None or names is None:
        return []
    tools = [
        _filled(
            form.tool,
            {
                "$tool": tool["name"],
                "$name": names.form.format(server=server.name, tool=tool["name"]),
                "$description": tool["description"],
                "$schema": _schema(form, tool["inputSchema"]),
            },
        )
        for tool in listed
    ]
    if not form.group:
        return tools
    group = names.form.format(server=server.name, tool="").rstrip("_")
    return [_filled(form.group, {"$name": group, "$description": server.instructions, "$tools": tools})]


def _filled(form: Any, values: Mapping[str, Any]) -> Any:
    """Return `form` with each placeholder, a key of `values`, replaced by its value."""
    if isinstance(form, Mapping):
        return {key: _filled(part, values) for key, part in form.items()}
    return values.get(form, form) if isinstance(form, str) else form


def _schema(form: ToolsField, schema: Mapping[str, Any]) -> dict[str, Any]:
    sent = {**schema, **form.keywords}
    properties = {
        name: {key: rule for key, rule in part.items() if key not in form.drops} if isinstance(part, Mapping) else part
        for name, part in schema.get("properties", {}).items()
    }
    return sent | {"properties": {**properties, **form.properties}}
