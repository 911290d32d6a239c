"""Call an ordinary typed function as a tool: convert JSON arguments to its types, and its result to JSON."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, get_type_hints

import anyio.to_thread
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python
from toolmason_runtime.shared.errors import ToolError


class ImportedFunction:
    """A function of another package, as `toolmason import python` writes it into handlers.

    `names` has the parameters of the function by the names in the tool, where they differ: `{"from": "from_"}`.

    A function that is not `async` runs in a worker thread. Its `ToolError`, also that of FastMCP, is sent to the model.
    """

    def __init__(self, function: Callable[..., Any], names: Mapping[str, str] | None = None) -> None:
        self._function = function
        self._names = names or {}

    async def data(self, params: BaseModel | Mapping[str, Any]) -> Any:
        """Call the function and return its result as JSON data. Arguments that the call omits are not passed.

        Raises:
            ToolError: an argument has no valid value, or the function raised one.
        """
        arguments = self._arguments(params)
        try:
            if inspect.iscoroutinefunction(self._function):
                result = await self._function(**arguments)
            else:
                result = await anyio.to_thread.run_sync(partial(self._function, **arguments))
                if inspect.isawaitable(result):
                    result = await result
        except Exception as error:
            if any(base.__name__ == "ToolError" for base in type(error).__mro__):
                raise ToolError(str(error)) from error
            raise
        return to_jsonable_python(result)

    async def text(self, params: BaseModel | Mapping[str, Any]) -> str:
        """Call the function and return its result as text: JSON unless it is text, and `Done.` for None."""
        result = await self.data(params)
        if result is None:
            return "Done."
        return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)

    @cached_property
    def _adapters(self) -> dict[str, TypeAdapter[Any]]:
        hints = get_type_hints(self._function, include_extras=True)
        # Constraints of a default such as `Field(gt=0)` are checked too.
        fields: dict[str, Any] = {
            name: (Annotated[hint, self._defaults[name]] if name in self._defaults else hint)
            for name, hint in hints.items()
        }
        return {name: TypeAdapter[Any](hint) for name, hint in fields.items() if name != "return"}

    @cached_property
    def _defaults(self) -> dict[str, FieldInfo]:
        """Defaults that only pydantic understands: `limit: int = Field(default=5)`."""
        parameters = inspect.signature(self._function).parameters.values()
        return {item.name: item.default for item in parameters if isinstance(item.default, FieldInfo)}

    def _arguments(self, params: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
        sent = (
            params.model_dump(mode="json", by_alias=True, exclude_unset=True)
            if isinstance(params, BaseModel)
            else dict(params)
        )
        arguments = {}
        for name, value in sent.items():
            parameter = self._names.get(name, name)
            try:
                arguments[parameter] = self._adapters[parameter].validate_python(value)
            except ValidationError as error:
                problem = error.errors(include_url=False)[0]
                inner = "".join(f".{part}" for part in problem["loc"])
                raise ToolError(f"Argument '{name}{inner}' is invalid: {problem['msg']}") from error
        for name, default in self._defaults.items():
            arguments.setdefault(name, default.get_default(call_default_factory=True))
        return arguments
