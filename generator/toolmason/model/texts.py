"""The texts of a manifest that may have placeholders for names of tools."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from toolmason_runtime.shared.toml.positions import KeyPath

from toolmason.model.prompt import Surface
from toolmason.model.server import Server
from toolmason.model.types import Property


@dataclass(frozen=True, slots=True)
class Text:
    """One text: its owner in messages, its key path, its content, its tool, and the names of arguments beside it."""

    owner: str
    at: KeyPath
    content: str
    tool: str = ""
    arguments: frozenset[str] = frozenset()


def texts(server: Server) -> Iterator[Text]:
    """Yield the texts of the manifest of `server`."""
    yield Text("`instructions`", ("server", "instructions"), server.instructions)
    for tool in server.tools:
        names = frozenset(param.name for param in tool.params)
        owner = f"`{tool.name}`"
        yield Text(owner, (*tool.at, "summary"), tool.table.summary, tool.name, names)
        yield Text(owner, (*tool.at, "description"), tool.table.description, tool.name, names)
        for param in tool.params:
            yield Text(owner, (*param.at, "description"), param.description, tool.name, names)
    for object_type in server.types:
        yield from _fields(f"the type `{object_type.name}`", object_type.fields)
    for surface in (*server.prompts, *server.resources):
        yield from _surface(surface)
    for prompt in server.prompts:
        if not prompt.command:
            names = frozenset(param.name for param in prompt.params)
            for message in prompt.messages:
                yield Text(f"the prompt `{prompt.name}`", message.at, message.text, arguments=names)
    for command in server.commands:
        owner = f"the command `{command.base_name}`"
        yield Text(owner, (*command.at, "summary"), command.table.summary)
        yield Text(owner, (*command.at, "prompt"), command.table.prompt)
    for workflow in server.workflows:
        owner = f"the workflow `{workflow.base_name}`"
        yield Text(owner, (*workflow.at, "summary"), workflow.table.summary)
        yield Text(owner, (*workflow.at, "description"), workflow.table.description)
        for index, step in enumerate(workflow.steps):
            yield Text(owner, (*workflow.at, "steps", index, "text"), step.text)
        for index, note in enumerate(workflow.table.notes):
            yield Text(owner, (*workflow.at, "notes", index), note)


def _fields(owner: str, fields: Iterable[Property]) -> Iterator[Text]:
    names = frozenset(field.name for field in fields)
    for field in fields:
        yield Text(owner, (*field.at, "description"), field.description, arguments=names)


def _surface(surface: Surface) -> Iterator[Text]:
    section = "resources" if hasattr(surface, "uri") else "prompts"
    owner = f"the {section.removesuffix('s')} `{surface.name}`"
    if getattr(surface, "command", ""):
        return
    for key in ("summary", "description"):
        yield Text(owner, (section, surface.name, key), getattr(surface, key))
    yield from _fields(owner, surface.params)
