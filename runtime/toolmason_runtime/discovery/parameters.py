"""The parameters of the meta-tools: one table gives their schema and reads what a model sends.

Reading is lax, since models are: "10" is 10, null is absent, an object may come as JSON text, what is unknown is
ignored and noted. All that is wrong is said at once, in the words in which tools say it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from toolmason_runtime.protocol.catalogue import ALWAYS_LOAD, WireTool
from toolmason_runtime.protocol.errors import INVALID_ARGUMENT, ToolError
from toolmason_runtime.protocol.json_boundary import problems_of
from toolmason_runtime.protocol.wording import FORWARDED, mismatch, misnamed, required, too_long, unknown

_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MISSING = object()
MAX_TEXT_LENGTH = 1000
"""Characters of a text that are read: it is compared with every tool, and nobody else is served meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a meta-tool. `values` are advertised, not enforced; `default` is used when it is absent.

    `also` are names under which models send it by mistake: they are not read, but answered with the right one, and
    where that is absent the call is refused.
    """

    type: Literal["string", "integer", "boolean", "object"] = "string"
    description: str = ""
    required: bool = False
    default: Any = None
    minimum: int | None = None
    values: tuple[str, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def rule(self) -> dict[str, Any]:
        """What is enforced, as JSON Schema."""
        return {"type": self.type} | ({} if self.minimum is None else {"minimum": self.minimum})

    def schema(self) -> dict[str, Any]:
        """Give the JSON Schema, in the form that every client's converter leaves whole."""
        schema: dict[str, Any] = {"type": self.type}
        if self.values:
            schema["enum"] = list(self.values)
        if self.description:
            schema["description"] = self.description
        if self.default is not None:
            schema["default"] = self.default
        if self.minimum is not None:
            schema["minimum"] = self.minimum
        return schema


Parameters = Mapping[str, Parameter]
TOOL_NAME: Final = Parameter(required=True, also=("name", "tool"))


@dataclass(frozen=True, slots=True)
class Given:
    """A value for each parameter, and notes for the model on what was ignored."""

    values: dict[str, Any]
    notes: tuple[str, ...]


def input_schema(parameters: Parameters) -> dict[str, Any]:
    """Give the `inputSchema` of a meta-tool."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: each.schema() for name, each in parameters.items()},
    }
    if required := [name for name, each in parameters.items() if each.required]:
        schema["required"] = required
    return schema


def read(parameters: Parameters, arguments: Mapping[str, Any] | None) -> Given:
    """Give a value for each of `parameters`: what was sent, made to fit, or the default.

    Raises:
        ToolError: something required is absent, or something sent has the wrong type or name; the text names each.
    """
    sent = arguments or {}
    values: dict[str, Any] = {}
    problems: list[str] = []
    notes: list[str] = []
    for name, parameter in parameters.items():
        given = sent.get(name)
        if given is None:
            values[name] = parameter.default
            if parameter.required:
                problems.append(required((name,), parameter.rule))
            continue
        values[name] = _fitted(parameter, given)
        if values[name] is _MISSING:
            problems.append(mismatch((name,), parameter.rule, given))
        elif parameter.type == "object" and isinstance(given, str):
            problems += problems_of(values[name], (name,))
        elif parameter.type == "string" and len(given) > MAX_TEXT_LENGTH:
            values[name] = given[:MAX_TEXT_LENGTH]
            notes.append(too_long((name,), MAX_TEXT_LENGTH))
    holder = next((name for name, parameter in parameters.items() if parameter.type == "object"), "")
    for name in (name for name in sent if name not in parameters and name != FORWARDED):
        meant = _meant(parameters, name)
        if meant and sent[name] and not sent.get(meant):
            problems.append(misnamed((name,), meant))
        else:
            notes.append(unknown((name,), list(parameters), meant=meant, given=sent, holder=holder))
    if problems:
        raise ToolError("\n".join([*problems, *notes]), code=INVALID_ARGUMENT)
    return Given(values, tuple(notes))


def wire_tool(name: str, description: str, parameters: Parameters, hints: Mapping[str, bool]) -> WireTool:
    """Give a meta-tool as `tools/list` sends it."""
    return {
        "name": name,
        "description": description,
        "inputSchema": input_schema(parameters),
        "annotations": dict(hints),
        "_meta": {ALWAYS_LOAD: True},
    }


def _meant(parameters: Parameters, name: str) -> str:
    """Give the parameter that models send as `name` by mistake, or nothing."""
    return next((right for right, parameter in parameters.items() if name in parameter.also), "")


def _fitted(parameter: Parameter, given: Any) -> Any:
    """Give `given` as the parameter's type, or `_MISSING` when it cannot be one."""
    match parameter.type:
        case "string":
            return given if isinstance(given, str) else _MISSING
        case "integer":
            return _integer(given, parameter.minimum)
        case "boolean":
            return _flag(given)
        case "object":
            return _object(given)


def _integer(given: Any, minimum: int | None) -> Any:
    try:
        number = int(given) if isinstance(given, str) else given
    except ValueError:
        return _MISSING
    if isinstance(number, bool) or not isinstance(number, int | float) or number != number // 1:
        return _MISSING
    return int(number) if minimum is None or number >= minimum else _MISSING


def _flag(given: Any) -> Any:
    if isinstance(given, bool):
        return given
    return _FLAGS.get(str(given).strip().lower(), _MISSING)


def _object(given: Any) -> Any:
    """Accept JSON text too: clients with strict schemas cannot send an open object."""
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return _MISSING
    if given is None:
        return {}
    return given if isinstance(given, dict) else _MISSING
