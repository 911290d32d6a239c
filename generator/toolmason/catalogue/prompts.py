"""Prompts and resources as entries of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolmason_runtime.shared.catalogue import MessageEntry, PromptEntry, ResourceEntry, SurfaceEntry

from toolmason.manifest.tables import IconTable
from toolmason.model.prompt import Message, Prompt, Resource, Surface


def prompt_entry(prompt: Prompt) -> PromptEntry:
    """Return the entry of one prompt (MCP 2025-11-25 and 2026-07-28, `Prompt`)."""
    wire = _wire(prompt)
    if prompt.params:
        wire["arguments"] = [
            {
                "name": param.name,
                **({"description": param.description} if param.description else {}),
                "required": param.required,
            }
            for param in prompt.params
        ]
    entry: PromptEntry = {"prompt": wire}
    _add_arguments(entry, prompt)
    if prompt.handler is None:
        entry["messages"] = [_message(message) for message in prompt.messages]
    if prompt.command:
        entry["command"] = prompt.command
    return entry


def resource_entry(resource: Resource) -> ResourceEntry:
    """Return the entry of one resource or template (`Resource`, `ResourceTemplate`)."""
    uri = {"uriTemplate" if resource.is_template else "uri": resource.table.uri}
    entry: ResourceEntry = {"resource": {**uri, **_wire(resource), "mimeType": resource.table.mime_type}}
    _add_arguments(entry, resource)
    if resource.table.file:
        entry["file"] = resource.table.file
    if resource.table.subscribe:
        entry["subscribe"] = True
    return entry


def _wire(surface: Surface) -> dict[str, Any]:
    wire: dict[str, Any] = {"name": surface.name}
    if surface.title:
        wire["title"] = surface.title
    wire["description"] = surface.description
    return wire | wire_icons(surface.icons)


def _add_arguments(entry: SurfaceEntry, surface: Surface) -> None:
    if surface.params:
        entry["schema"] = surface.schema
    if surface.completions:
        entry["completions"] = {
            argument: None if completion.handler else list(completion.values)
            for argument, completion in surface.completions.items()
        }


def _message(message: Message) -> MessageEntry:
    if message.image:
        return {"role": message.role, "image": message.image, "mime_type": message.mime_type}
    if message.resource:
        return {"role": message.role, "resource": message.resource}
    return {"role": message.role, "text": message.text}


def wire_icons(icons: Sequence[IconTable]) -> dict[str, list[dict[str, Any]]]:
    """Return the member `icons` of MCP; empty without icons."""
    listed = []
    for icon in icons:
        wire: dict[str, Any] = {"src": icon.src}
        if icon.mime_type:
            wire["mimeType"] = icon.mime_type
        if icon.sizes:
            wire["sizes"] = list(icon.sizes)
        if icon.theme != "any":
            wire["theme"] = icon.theme
        listed.append(wire)
    return {"icons": listed} if listed else {}
