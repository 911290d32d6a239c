"""Answer `prompts/list` and `prompts/get`."""

from __future__ import annotations

import logging
import os
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from toolmason_runtime.calls.call import Context
from toolmason_runtime.server.package_data import read_package_file
from toolmason_runtime.server.resources import Resources
from toolmason_runtime.server.surface_handlers import PROMPT, NewCall, SurfaceHandlers
from toolmason_runtime.shared.catalogue import Catalogue, MessageEntry, PromptEntry
from toolmason_runtime.shared.errors import INVALID_PARAMS, MethodError
from toolmason_runtime.shared.placeholders import Placeholders
from toolmason_runtime.shared.selection import Selection
from toolmason_runtime.shared.suggestions import closest_matches
from toolmason_runtime.wire.content import messages
from toolmason_runtime.wire.json_boundary import refused_arguments
from toolmason_runtime.wire.paging import page_of

_log = logging.getLogger(__name__)

_PLACEHOLDER: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")


def served_prompts(catalogue: Catalogue, selection: Selection) -> dict[str, PromptEntry]:
    """Return the served prompts by the names that clients use."""
    prompts = catalogue.get("prompts", {})
    commands = {name: entry["command"] for name, entry in prompts.items() if "command" in entry}
    if not selection.command_prompts:
        return {name: entry for name, entry in prompts.items() if name not in commands}
    variable = catalogue["server"].get("command_prefix_env", "")
    if variable and variable in os.environ:
        names = _prefixed(commands, variable, prompts.keys() - commands.keys())
        return {(served := names.get(name, name)): _named(entry, served) for name, entry in prompts.items()}
    return prompts


def _prefixed(commands: Mapping[str, str], variable: str, others: Collection[str]) -> dict[str, str]:
    """Return the names of commands with the prefix of an environment variable, by those in the catalogue.

    If the prefix is invalid or makes one of `others`, log an error and return no names: commands keep theirs.
    """
    from toolmason_runtime.shared.prefixes import prefix_from_environment

    try:
        prefix = prefix_from_environment(variable, "")
    except ValueError as error:
        _log.error("%s. Commands keep their names.", error)
        return {}
    for remark in prefix.warnings:
        _log.warning("%s", remark)
    for remark in prefix.notes:
        _log.info("%s", remark)
    names = {name: prefix.text + base_name for name, base_name in commands.items()}
    if clash := next((name for name in names.values() if name in others), ""):
        _log.error("%s: another prompt is named `%s`. Commands keep their names.", variable, clash)
        return {}
    return names


def _without_commands(text: str, start: str) -> str:
    """Separate the characters of the start of a command, so that the client does not run it."""
    return text.replace(start, " ".join(start))


def _named(entry: PromptEntry, name: str) -> PromptEntry:
    return {**entry, "prompt": {**entry["prompt"], "name": name}}


class Prompts:
    """The prompts of one server, by the names that clients use. Messages embed its resources."""

    def __init__(
        self,
        catalogue: Catalogue,
        entries: Mapping[str, PromptEntry],
        new_call: NewCall,
        resources: Resources,
        placeholders: Callable[[], Placeholders],
    ) -> None:
        self._placeholders = placeholders
        self._server = catalogue["server"]
        self._resources = resources
        self.handlers = SurfaceHandlers("prompt", self._server["package"], new_call)
        self.entries = entries

    async def list(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:  # noqa: ARG002  a method
        """Answer `prompts/list`."""
        fill = self._placeholders().fill_schema
        listed = [{**fill(entry["prompt"]), "name": name} for name, entry in self.entries.items()]
        return page_of("prompts", listed, params.get("cursor"), self._server["page_size"])

    async def get(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
        """Answer `prompts/get`.

        Raises:
            MethodError: the prompt is unknown, an argument is invalid, or its handler failed.
        """
        entry = self.find(params.get("name"))
        name, wire = entry["prompt"]["name"], entry["prompt"]
        if problems := refused_arguments(params):
            raise MethodError(INVALID_PARAMS, "\n".join(problems))
        arguments = _text_arguments(params.get("arguments"))
        checked = arguments
        syntax = self._server.get("prompt_syntax", {}).get(context.client_name)
        has_words = syntax is not None and any(re.fullmatch(syntax["argument"], each) for each in arguments.values())
        if "messages" not in entry or not has_words:
            checked = self.handlers.validate(name, entry, arguments, handled="messages" not in entry)
        if "messages" in entry:
            properties = entry.get("schema", {}).get("properties", {})
            values = {key: str(value.get("default", "")) for key, value in properties.items()} | checked
            if "command" in entry:
                values["COMMAND_NAME"] = name
            shown = [await self._message(message, values, context) for message in entry["messages"]]
        else:
            shown = messages(await self.handlers.run(name, checked, context, PROMPT))
            for message in shown:
                # A handler may have the text from others.
                if syntax and "text" in (content := message["content"]):
                    content["text"] = _without_commands(content["text"], syntax["run_start"])
        return {"description": self._placeholders().fill(wire["description"]), "messages": shown}

    def find(self, name: Any) -> PromptEntry:
        """Return the prompt with a name that clients see.

        Raises:
            MethodError: there is none.
        """
        if isinstance(name, str) and name in self.entries:
            return self.entries[name]
        nearest = closest_matches(name, list(self.entries)) if isinstance(name, str) else []
        raise MethodError(INVALID_PARAMS, f"Unknown prompt: {name}", {"nearest": nearest})

    async def _message(self, message: MessageEntry, values: Mapping[str, str], context: Context) -> dict[str, Any]:
        content: dict[str, Any]
        if "image" in message:
            data = await read_package_file(self._server.get("handlers", ""), message["image"])
            content = {"type": "image", "data": b64encode(data).decode(), "mimeType": message["mime_type"]}
        elif "resource" in message:
            read = await self._resources.read({"uri": _filled_uri(message["resource"], values)}, context)
            content = {"type": "resource", "resource": read["contents"][0]}
        else:
            content = {"type": "text", "text": self._placeholders().fill(message["text"], values)}
        return {"role": message["role"], "content": content}


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Return `text` with the arguments in their places, in one pass: their values are not searched for places."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def _filled_uri(uri: str, values: Mapping[str, str]) -> str:
    """Return `uri` with the arguments, encoded, in their places; an argument that is the whole URI stays as it is."""
    from urllib.parse import quote

    is_whole = _PLACEHOLDER.fullmatch(uri)
    return _filled(uri, values if is_whole else {name: quote(value, safe="") for name, value in values.items()})


def _text_arguments(arguments: Any) -> dict[str, str]:
    if not isinstance(arguments, dict | None) or not all(
        isinstance(value, str) for value in (arguments or {}).values()
    ):
        raise MethodError(INVALID_PARAMS, "`arguments` of prompts/get must be an object of strings")
    return arguments or {}
