"""Handlers that import modules at their first call, because the other tools of their category do not need them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any, TypeVar

Handler = TypeVar("Handler", bound=Callable[..., Any])


def first_call(*, imports: str = "", starts_programs: bool = False) -> Callable[[Handler], Handler]:
    """Declare the first call of a handler, so that the server can prepare it.

    Args:
        imports: a module that the first call imports. The server imports it earlier if it expects the call.
        starts_programs: whether calls start programs. The server then starts their launcher while it imports the tool.

    Example:
        ```python
        @first_call(imports="workbench_handlers.files.find")
        async def search_files(params: SearchFilesParams, call: ToolCall) -> FoundPaths:
            from workbench_handlers.files.find import find
        ```
    """

    def declare(handler: Handler) -> Handler:
        # `Binding` reads both.
        handler.modules = (imports,) if imports else ()  # type: ignore[attr-defined]
        handler.starts_programs = starts_programs  # type: ignore[attr-defined]
        return handler

    return declare


def handler_of(module: str, name: str) -> Callable[[Any, Any], Coroutine[Any, Any, Any]]:
    """Return a handler that imports `module` at its first call and calls the handler `name` there."""

    @first_call(imports=module)
    async def run(params: Any, call: Any) -> Any:
        return await getattr(import_module(module), name)(params, call)

    run.__name__ = run.__qualname__ = name  # in logs
    run.__module__ = module
    return run
