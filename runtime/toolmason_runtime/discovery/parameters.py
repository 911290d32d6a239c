"""The parameters of the meta-tools: their schemas, and the parser of their arguments.

Parsing is lax: "10" is 10, null means absent, an object may be JSON text, unknown arguments are ignored with a note.
All problems are reported together, with the same texts as for tools.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.shared.values.wording import (
    GEMINI_EXTRA_ARGUMENT,
    mismatch,
    required,
    too_long,
    unknown,
    wrong_name,
)
from toolmason_runtime.wire.json_boundary import problems_of

_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_INVALID = object()
MAX_TEXT_LENGTH = 1000
"""Maximum characters of a text: it is compared with every tool, which blocks all other calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a meta-tool. `default` replaces an absent value.

    `values` are in the schema, but not enforced. `minimum` is enforced, but not in the schema, which costs tokens in
    every conversation.
    `misnomers` are wrong names that models often use. They are ignored with a note; if the right name is absent, the
    call returns an error with it.
    `is_listed`: whether it is in the schema; programs may use one that is not.
    """

    type: Literal["string", "integer", "boolean", "object"] = "string"
    description: str = ""
    required: bool = False
    default: Any = None
    minimum: int | None = None
    values: tuple[str, ...] = ()
    misnomers: tuple[str, ...] = ()
    is_listed: bool = True

    @property
    def enforced_schema(self) -> dict[str, Any]:
        """The enforced rules as JSON Schema."""
        return {"type": self.type} | ({} if self.minimum is None else {"minimum": self.minimum})

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema, with keywords that every client's converter keeps."""
        schema: dict[str, Any] = {"type": self.type}
        if self.values:
            schema["enum"] = list(self.values)
        if self.description:
            schema["description"] = self.description
        if self.default is not None:
            schema["default"] = self.default
        return schema


Parameters = Mapping[str, Parameter]
TOOL_NAME: Final = Parameter(required=True, misnomers=("name", "tool"))


@dataclass(frozen=True, slots=True)
class ParsedArguments:
    """A value for each parameter, and notes for the model on ignored arguments."""

    values: dict[str, Any]
    notes: tuple[str, ...]


def input_schema(parameters: Parameters) -> dict[str, Any]:
    """Return the `inputSchema` of a meta-tool."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: part.schema() for name, part in parameters.items() if part.is_listed},
    }
    if required_names := [name for name, parameter in parameters.items() if parameter.required]:
        schema["required"] = required_names
    return schema


def parse_arguments(parameters: Parameters, raw_arguments: Mapping[str, Any] | None) -> ParsedArguments:
    """Return a value for each of `parameters`: the converted argument, or the default.

    Raises:
        ToolError: an argument is missing, or has a wrong type or name; the text lists every problem.
    """
    arguments = raw_arguments or {}
    values: dict[str, Any] = {}
    problems: list[str] = []
    notes: list[str] = []
    for name, parameter in parameters.items():
        argument = arguments.get(name)
        if argument is None:
            values[name] = parameter.default
            if parameter.required:
                problems.append(required((name,), parameter.enforced_schema))
            continue
        values[name] = _convert(parameter, argument)
        if values[name] is _INVALID:
            problems.append(mismatch((name,), parameter.enforced_schema, argument))
        elif parameter.type == "object" and isinstance(argument, str):
            problems += problems_of(values[name], (name,))
        elif parameter.type == "string" and len(argument) > MAX_TEXT_LENGTH:
            values[name] = argument[:MAX_TEXT_LENGTH]
            notes.append(too_long((name,), MAX_TEXT_LENGTH))
    container = next((name for name, parameter in parameters.items() if parameter.type == "object"), "")
    for name in (name for name in arguments if name not in parameters and name != GEMINI_EXTRA_ARGUMENT):
        right_name = next((right for right, parameter in parameters.items() if name in parameter.misnomers), "")
        if right_name and arguments[name] and not arguments.get(right_name):
            problems.append(wrong_name((name,), right_name))
        else:
            note = unknown((name,), list(parameters), right_name=right_name, used=arguments, container=container)
            notes.append(note)
    if problems:
        raise ToolError("\n".join([*problems, *notes]), code=INVALID_ARGUMENT)
    return ParsedArguments(values, tuple(notes))


def _convert(parameter: Parameter, argument: Any) -> Any:
    """Convert an argument to the parameter's type; return `_INVALID` if that is impossible."""
    match parameter.type:
        case "string":
            return argument if isinstance(argument, str) else _INVALID
        case "integer":
            return _to_integer(argument, parameter.minimum)
        case "boolean":
            return argument if isinstance(argument, bool) else _FLAGS.get(str(argument).strip().lower(), _INVALID)
        case "object":
            return _to_object(argument)


def _to_integer(argument: Any, minimum: int | None) -> Any:
    try:
        number = int(argument) if isinstance(argument, str) else argument
    except ValueError:
        return _INVALID
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number // 1:
        return _INVALID
    return int(number) if minimum is None or number >= minimum else _INVALID


def _to_object(argument: Any) -> Any:
    """Accept JSON text too: clients with strict schemas cannot send an open object."""
    if isinstance(argument, str):
        try:
            argument = json.loads(argument) if argument.strip() else {}
        except (ValueError, RecursionError):
            return _INVALID
    if argument is None:
        return {}
    return argument if isinstance(argument, dict) else _INVALID
