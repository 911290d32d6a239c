"""The prompts and resources of the model: arguments, completions, messages and handlers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from toolmason_runtime.shared.values.uri_template import match_uri

from toolmason.manifest.tables import ArgumentTable, MessageTable, PromptTable, ResourceTable
from toolmason.model import json_schema
from toolmason.model.from_table import copied
from toolmason.model.identifiers import class_name, constant_name, params_class_name
from toolmason.model.prompt import Completion, Message, Prompt, Resource
from toolmason.model.server import SlashCommand
from toolmason.model.types import PrimitiveType, Property
from toolmason.resolve import types
from toolmason.resolve.context import ResolveContext, allowed
from toolmason.resolve.uri_template import UriTemplateError, variables

COMMAND_ARGUMENT: Final = "arguments"
"""The argument of a slash command's prompt: the words after the command."""
IMAGE_TYPES: Final[Mapping[str, str]] = {
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
}
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")


def resolve_prompts(context: ResolveContext, package: Path | None) -> tuple[Prompt, ...]:
    """Return the prompts without those of slash commands. Files are looked up in `package`, the one of the handlers."""
    prompts = []
    for name, table in context.tables.prompts.items():
        _check_name(context, "prompts", name)
        fields = _surface(context, name, table)
        messages = table.messages or ((MessageTable(text=table.text, at=table.at),) if table.text else ())
        _check_messages(context, table, messages, package)
        allow, texts = allowed(table.allow), tuple(map(_message, messages))
        prompts.append(Prompt(**fields, messages=texts, allow=allow, at=table.at))
    return tuple(prompts)


def resolve_resources(context: ResolveContext, package: Path | None) -> tuple[Resource, ...]:
    """Return the resources and resource templates."""
    resources = []
    owners: dict[str, str] = {}
    for name, table in context.tables.resources.items():
        _check_name(context, "resources", name)
        if table.uri and (owner := owners.setdefault(table.uri, name)) != name:
            message = f"resources `{name}` and `{owner}` have the same URI"
            context.error("TM306", message, (*table.at, "uri"), hint="change one")
        if table.file and package is not None:
            _check_file(context, table.file, (*table.at, "file"), package)
        fields = _surface(context, name, table, _variables(context, table))
        resources.append(Resource(**fields, table=table))
    return tuple(resources)


def _check_name(context: ResolveContext, section: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        hint = "use up to 64 letters, digits, underscores and dashes, starting with a letter or a digit"
        message = f"`{name}` cannot name a {section.removesuffix('s')}"
        context.error("TM320", message, (section, name), hint=hint, value=False)
    if section == "prompts" and name in context.prefixed_names("command"):
        message = f"prompt `{name}` has the name of a command, which is served as a prompt too"
        context.error("TM306", message, (section, name), hint="rename one", value=False)


def _surface(
    context: ResolveContext, name: str, table: PromptTable | ResourceTable, extra: Sequence[Property] = ()
) -> dict[str, Any]:
    """Return the fields that prompts and resources share; `extra` are arguments that the manifest does not describe."""
    params = (*types.values(context, table.arguments), *extra)
    for param in params:
        _check_type(context, table, param)
    return {
        "name": name,
        "title": table.title,
        "summary": table.summary,
        "description": table.description.strip() or table.summary,
        "params": params,
        "completions": {
            argument: completion
            for argument, values in table.arguments.items()
            if (completion := _completion(context, f"{name}.{argument}", values))
        },
        "schema": json_schema.object_schema(params),
        "handler": context.handler(table.handler) if table.handler else None,
        "protocol": class_name(name),
        "constant": constant_name(name),
        "params_class": params_class_name(name),
        "icons": table.icons,
    }


def _check_type(context: ResolveContext, table: PromptTable | ResourceTable, param: Property) -> None:
    """Report a type that the text of a client cannot express."""
    kind = param.type.kind if isinstance(param.type, PrimitiveType) else ""
    if param.nullable or kind in ("", "object"):
        message = f"argument `{param.name}` must be a string, integer, number or boolean: clients send text"
        context.error("TM341", message, param.at, hint="parse the text in a handler", value=False)
    elif not table.handler and kind != "string":
        message = f"argument `{param.name}` must be a string: only a handler converts it"
        context.error("TM341", message, (*param.at, "type"), hint='write `type = "string"`')


def _completion(context: ResolveContext, name: str, table: ArgumentTable) -> Completion | None:
    values = table.suggestions or tuple(map(str, table.enum))
    handler = context.handler(table.complete) if table.complete else None
    constant = constant_name(f"complete_{name}")
    return Completion(values=values, handler=handler, constant=constant) if values or handler else None


def _variables(context: ResolveContext, table: ResourceTable) -> tuple[Property, ...]:
    """Report an invalid URI template; return its variables without a description in the manifest."""
    try:
        names = variables(table.uri)
    except UriTemplateError as error:
        context.error("TM342", f"`uri` {error}", (*table.at, "uri"), hint="write a URI such as `notes://{day}/{+path}`")
        return ()
    for argument in table.arguments.keys() - set(names) if table.uri else ():
        message = f"`{argument}` is not a variable of `{table.uri}`"
        context.error("TM342", message, table.arguments[argument].at, hint="add it to the URI", value=False)
    described = context.raw_table("resources", str(table.at[-1]), "arguments") if table.at else {}
    return tuple(Property(name=name, type=PrimitiveType("string")) for name in names if name not in described)


def _check_messages(
    context: ResolveContext, table: PromptTable, messages: Sequence[MessageTable], package: Path | None
) -> None:
    """Report unused arguments, unknown resources and missing pictures."""
    used = {name for message in messages for name in _PLACEHOLDER.findall(message.text + message.resource)}
    for name, argument in table.arguments.items():
        if messages and name not in used and not table.is_uncertain("text", "messages"):
            problem = f"argument `{name}` is not in the text"
            context.error("TM343", problem, argument.at, hint=f"write `{{{name}}}` where it belongs", value=False)
    uris = {resource.uri for resource in context.tables.resources.values()}
    are_uncertain = context.tables.is_uncertain("resources")
    for message in messages:
        at = (*message.at, "resource")
        is_fixed = message.resource and not _PLACEHOLDER.search(message.resource)
        if is_fixed and not are_uncertain and not any(_may_cover(known, message.resource) for known in uris):
            context.report_unknown("TM345", "resource", message.resource, sorted(uris), at)
        if message.image:
            at = (*message.at, "image")
            if PurePosixPath(message.image).suffix.lower() not in IMAGE_TYPES:
                hint = f"use {', '.join(IMAGE_TYPES)}"
                context.error("TM344", f"`{message.image}` is not a picture that models accept", at, hint=hint)
            elif package is not None:
                _check_file(context, message.image, at, package)


def _may_cover(template: str, uri: str) -> bool:
    """Return whether a URI or URI template covers `uri`; an invalid template, reported elsewhere, may cover any."""
    try:
        variables(template)
    except UriTemplateError:
        return True
    return match_uri(template, uri) is not None


def _check_file(context: ResolveContext, file: str, at: tuple[str | int, ...], package: Path) -> None:
    path = package / file
    # Not `Path.is_file`, which raises for a name that the system refuses.
    if not os.path.isfile(path) or not path.resolve().is_relative_to(package.resolve()):  # noqa: PTH113
        shown = f"{package.parent.name}/{package.name}/{file}"
        context.error("TM344", f"file not found: `{shown}`", at, hint="add it, or correct the path")


def _message(table: MessageTable) -> Message:
    return copied(
        Message,
        table,
        text=table.text.strip(),
        mime_type=IMAGE_TYPES.get(PurePosixPath(table.image).suffix.lower(), ""),
        at=(*table.at, "text"),
    )


def command_prompt(command: SlashCommand) -> Prompt:
    """Return the prompt of a slash command, with the words after the command as its argument.

    It is optional if its hint is in brackets, as in `[directory]`. Gemini CLI drops words for optional arguments.
    """
    words = Property(
        name=COMMAND_ARGUMENT,
        type=PrimitiveType("string"),
        description=command.table.argument_hint or "Text after the command",
        required=bool(command.table.argument_hint) and not command.table.argument_hint.startswith("["),
    )
    params = (words,) if f"{{{COMMAND_ARGUMENT}}}" in command.template else ()
    hint = f"\n\n{command.call_hint}" if command.call_hint else ""
    return Prompt(
        name=command.name,
        title="",
        summary=command.table.summary,
        description=command.table.summary,
        params=params,
        completions={},
        schema=json_schema.object_schema(params),
        handler=None,
        protocol=class_name(command.name),
        constant=constant_name(command.name),
        params_class=params_class_name(command.name),
        icons=(),
        messages=(Message(role="user", text=command.template + hint),),
        command=command.base_name,
    )
