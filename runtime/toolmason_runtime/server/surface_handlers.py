"""Run the handlers of prompts, resources and completions. They are imported at their first call."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, cast

from toolmason_runtime.calls.arguments import ArgumentValidator
from toolmason_runtime.calls.binding import Binding
from toolmason_runtime.calls.call import Context, ToolCall
from toolmason_runtime.server.failures import to_tool_error
from toolmason_runtime.shared.catalogue import SurfaceEntry, ToolEntry
from toolmason_runtime.shared.errors import INTERNAL, INTERNAL_ERROR, INVALID_PARAMS, MethodError, ToolError
from toolmason_runtime.shared.values.wording import required
from toolmason_runtime.wire.content import is_prompt_content

NewCall = Callable[[str, Context], Awaitable[ToolCall]]
"""Returns the second parameter of a handler, from its name and the context of the request."""


class ResultType(NamedTuple):
    """The values that a handler may return: a description for its author, and the check."""

    description: str
    includes: Callable[[Any], bool]


PROMPT: Final = ResultType("text, a block such as `Image`, a `Message`, or a list of these", is_prompt_content)
RESOURCE: Final = ResultType("text, bytes or None", lambda value: value is None or isinstance(value, str | bytes))
COMPLETION: Final = ResultType(
    "a list of texts",
    lambda value: (
        isinstance(value, Sequence)
        and not isinstance(value, str | bytes)
        and all(isinstance(item, str) for item in value)
    ),
)


class SurfaceHandlers:
    """The handlers of all prompts or of all resources of a server."""

    def __init__(self, kind: Literal["prompt", "resource"], package: str, new_call: NewCall) -> None:
        self._kind = kind
        self._package = package
        self._new_call = new_call
        self._validators: dict[str, ArgumentValidator] = {}

    def validate(self, name: str, entry: SurfaceEntry, arguments: Mapping[str, str], *, handled: bool) -> Any:
        """Return the checked arguments: those of a handler as its model, else as a dict.

        Most prompts take any text, which does not need pydantic.

        Raises:
            MethodError: one is missing or invalid.
        """
        schema = entry.get("schema", {"type": "object", "properties": {}})
        if not handled and _has_only_plain_texts(schema):
            return _check_required(schema, arguments)
        if name not in self._validators:
            tool = cast("ToolEntry", {"tool": {"name": name, "inputSchema": schema}, "examples": []})
            self._validators[name] = ArgumentValidator(tool, self._binding(name).params if handled else None)
        try:
            return self._validators[name].validate(arguments).value
        except ToolError as error:
            raise MethodError(INVALID_PARAMS, error.message) from error

    async def run(self, name: str, params: Any, context: Context, expected: ResultType) -> Any:
        """Return the result of a handler.

        Raises:
            MethodError: it failed.
            InputRequired: the client must respond first.
        """
        try:
            binding = self._binding(name)
            result = await binding.result(params, await self._new_call(name, context))
            if not expected.includes(result):
                raise TypeError(f"`{binding.name}` must return {expected.description}, not {_type_name(result)}")  # noqa: TRY301  logged below
            return result  # noqa: TRY300
        except (Exception, BaseExceptionGroup) as failure:
            error = to_tool_error(f"{self._kind} {name}", failure)
            raise MethodError(INTERNAL_ERROR if error.code == INTERNAL else INVALID_PARAMS, error.message) from failure

    def _binding(self, name: str) -> Binding:
        bindings: Mapping[str, Binding] = importlib.import_module(f"{self._package}.{self._kind}s.bindings").BINDINGS
        return bindings[name]


def _type_name(value: Any) -> str:
    """Return the type of a value: `int`, or `list of int` for a list with items of another type."""
    name = type(value).__name__
    items = sorted({type(item).__name__ for item in value}) if isinstance(value, list | tuple) else []
    return f"{name} of {', '.join(items)}" if items else name


def _has_only_plain_texts(schema: Mapping[str, Any]) -> bool:
    return all(part.keys() <= {"type", "description", "default"} for part in schema["properties"].values())


def _check_required(schema: Mapping[str, Any], arguments: Mapping[str, str]) -> dict[str, str]:
    missing = [name for name in schema.get("required", ()) if name not in arguments]
    if missing:
        texts = (required((name,), schema["properties"][name]) for name in missing)
        raise MethodError(INVALID_PARAMS, "\n".join(texts))
    return dict(arguments)
