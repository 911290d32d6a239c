"""The parameters of the meta-tools: their schemas, and the parser of their arguments.

Wrong forms are converted as for tools: see `calls.repair`. Unknown arguments are ignored with a note. All problems are
reported together, with the same texts as for tools.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from toolmason_runtime.shared.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.shared.values.wording import (
    GEMINI_EXTRA_ARGUMENT,
    mismatch,
    other_name,
    required,
    too_long,
    unknown,
)
from toolmason_runtime.wire.json_boundary import problems_of

MAX_TEXT_LENGTH = 1000
"""Maximum characters of a text: it is compared with every tool, which blocks all other calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a meta-tool. `default` replaces an absent value.

    `values` are in the schema, but not enforced. `minimum` is enforced, but not in the schema, which costs tokens in
    every conversation.
    `misnomers` are wrong names that models often use. One is taken, with a note, if the right name is absent or empty.
    `is_lines`: a list of texts is taken as lines.
    `is_listed`: whether it is in the schema; programs may use one that is not.
    `max_length`: characters after which a text is cut.
    """

    type: Literal["string", "integer", "boolean", "object"] = "string"
    description: str = ""
    required: bool = False
    default: Any = None
    minimum: int | None = None
    values: tuple[str, ...] = ()
    misnomers: tuple[str, ...] = ()
    is_lines: bool = False
    is_listed: bool = True
    max_length: int = MAX_TEXT_LENGTH

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


class ParsedArguments(NamedTuple):
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


ShowCall = Callable[[Mapping[str, Any], Collection[str]], str]
"""Returns the call to send instead, from the arguments of a refused call and the names of the wrong ones."""


def parse_arguments(
    parameters: Parameters, raw_arguments: Mapping[str, Any] | None, show_call: ShowCall
) -> ParsedArguments:
    """Return a value for each of `parameters`: the converted argument, or the default.

    Raises:
        ToolError: an argument is missing, or has a wrong type or name; the text lists every problem.
    """
    sent = dict(raw_arguments or {})
    if (plain := _plain_values(parameters, sent)) is not None:
        return ParsedArguments(plain, ())
    from toolmason_runtime.calls.repair import Repair

    notes = list(_take_misnomers(parameters, sent))
    for name in (name for name, parameter in parameters.items() if parameter.is_lines):
        value = sent.get(name)
        if isinstance(value, list) and value and all(isinstance(text, str) for text in value):
            sent[name] = "\n".join(" ".join(text.split()) for text in value)
    arguments = Repair(_enforced(parameters)).apply(sent)
    # Their text tells all: an example would repeat them.
    if arguments is not sent and (decoded := problems_of(arguments, ())):
        raise ToolError("\n".join(decoded), code=INVALID_ARGUMENT)
    problems: dict[str, str] = {}
    values: dict[str, Any] = {}
    for name, parameter in parameters.items():
        value = arguments.get(name)
        values[name] = parameter.default if value is None else value
        if value is None and parameter.required:
            problems[name] = required((name,), parameter.enforced_schema)
        elif value is not None and not _is_valid(parameter, value):
            problems[name] = mismatch((name,), parameter.enforced_schema, value)
        elif parameter.type == "integer" and value is not None:
            values[name] = int(value)
        elif isinstance(value, str) and len(value) > parameter.max_length:
            values[name] = value[: parameter.max_length]
            notes.append(too_long((name,), parameter.max_length))
    notes += _unknown_notes(parameters, arguments)
    if problems:
        example = f"Example: {show_call(arguments, problems)}"
        raise ToolError("\n".join([*problems.values(), *notes, example]), code=INVALID_ARGUMENT)
    return ParsedArguments(values, tuple(notes))


_PYTHON_TYPES: Final[Mapping[str, type]] = {"string": str, "integer": int, "boolean": bool, "object": dict}


def _plain_values(parameters: Parameters, sent: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the values of arguments that need no conversion and no note, as most do; None for others."""
    if not sent.keys() <= parameters.keys():
        return None
    values: dict[str, Any] = {}
    for name, parameter in parameters.items():
        value = sent.get(name, parameter.default)
        if not value and not sent.keys().isdisjoint(parameter.misnomers):
            return None
        if name in sent:
            if type(value) is not _PYTHON_TYPES[parameter.type]:
                return None
            if type(value) is str and len(value) > parameter.max_length:
                return None
            if type(value) is int and parameter.minimum is not None and value < parameter.minimum:
                return None
        elif parameter.required:
            return None
        values[name] = value
    return values


def _enforced(parameters: Parameters) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: parameter.enforced_schema for name, parameter in parameters.items()},
        "required": [name for name, parameter in parameters.items() if parameter.required],
    }


def _take_misnomers(parameters: Parameters, arguments: dict[str, Any]) -> Iterator[str]:
    """Rename arguments under a wrong name in place, with a note for each."""
    for name in list(arguments):
        right_name = _right_name(parameters, name)
        if right_name and arguments[name] and not arguments.get(right_name):
            arguments[right_name] = arguments.pop(name)
            yield other_name(name, right_name, is_used=True)


def _right_name(parameters: Parameters, name: str) -> str:
    return next((right for right, parameter in parameters.items() if name in parameter.misnomers), "")


def _unknown_notes(parameters: Parameters, arguments: Mapping[str, Any]) -> Iterator[str]:
    container = next((name for name, parameter in parameters.items() if parameter.type == "object"), "")
    for name in (name for name in arguments if name not in parameters and name != GEMINI_EXTRA_ARGUMENT):
        right_name = _right_name(parameters, name)
        yield unknown((name,), list(parameters), right_name=right_name, used=arguments, container=container)


def _is_valid(parameter: Parameter, value: Any) -> bool:
    match parameter.type:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "object":
            return isinstance(value, dict)
        case "integer":
            is_integer = isinstance(value, int | float) and not isinstance(value, bool) and value // 1 == value
            return is_integer and (parameter.minimum is None or value >= parameter.minimum)
