"""The parameters of the meta-tools: one table gives their schema and reads what a model sends.

Reading is lax, since models are: "10" is 10, null is absent, an object may come as JSON text, what is unknown is
ignored. All that is wrong is said at once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolwright_runtime.catalogue import WireTool

_ARTICLES = {"string": "a string", "integer": "an integer", "boolean": "true or false", "object": "an object"}
_FLAGS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_MISSING = object()


class ArgumentError(ValueError):
    """What a model sent does not fit; the text says what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of a meta-tool. `values` are advertised, not enforced; `default` is used when it is absent."""

    type: Literal["string", "integer", "boolean", "object"] = "string"
    description: str = ""
    required: bool = False
    default: Any = None
    minimum: int | None = None
    values: tuple[str, ...] = ()

    @property
    def expected(self) -> str:
        """What to send, in words."""
        return _ARTICLES[self.type] + ("" if self.minimum is None else f" of at least {self.minimum}")

    def schema(self) -> dict[str, Any]:
        """Give the JSON Schema, in the form that every client's converter leaves whole."""
        schema: dict[str, Any] = {"type": self.type}
        if self.values:
            schema["enum"] = list(self.values)
        if self.description:
            schema["description"] = self.description
        if self.default not in (None, "", False):
            schema["default"] = self.default
        return schema


Parameters = Mapping[str, Parameter]


def input_schema(parameters: Parameters) -> dict[str, Any]:
    """Give the `inputSchema` of a meta-tool."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: each.schema() for name, each in parameters.items()},
    }
    if required := [name for name, each in parameters.items() if each.required]:
        schema["required"] = required
    return schema


def read(parameters: Parameters, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Give a value for each of `parameters`: what was sent, made to fit, or the default.

    Raises:
        ArgumentError: something required is absent or something sent has the wrong type.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, parameter in parameters.items():
        given = (arguments or {}).get(name)
        if given is None:
            values[name] = parameter.default
            if parameter.required:
                problems.append(f"`{name}` is required: {parameter.expected}")
            continue
        values[name] = _fitted(parameter, given)
        if values[name] is _MISSING:
            problems.append(f"`{name}` must be {parameter.expected}, not {_shown(given)}")
    if problems:
        raise ArgumentError("; ".join(problems))
    return values


def four_hints(*, read_only: bool, open_world: bool) -> dict[str, bool]:
    """Give all four hints: clients decide by them what may run unasked. What is not read-only counts as destructive."""
    return {
        "readOnlyHint": read_only,
        "destructiveHint": not read_only,
        "idempotentHint": read_only,
        "openWorldHint": open_world,
    }


def wire_tool(name: str, description: str, parameters: Parameters, hints: Mapping[str, bool]) -> WireTool:
    """Give a meta-tool as `tools/list` sends it."""
    return {
        "name": name,
        "description": description,
        "inputSchema": input_schema(parameters),
        "annotations": dict(hints),
    }


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
        except ValueError:
            return _MISSING
    if given is None:
        return {}
    return given if isinstance(given, dict) else _MISSING


def _shown(given: Any) -> str:
    text = json.dumps(given, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else f"{text[:39]}…"
