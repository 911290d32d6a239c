"""Modules that handlers import at their first call: many tools of a category need modules that the others do not."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any, TypeVar

Handler = TypeVar("Handler", bound=Callable[..., Any])


def imports(*modules: str, starts_programs: bool = False) -> Callable[[Handler], Handler]:
    """Mark a handler that imports `modules` at its first call. The server imports them earlier if it expects the call.

    With `starts_programs`, it also starts the process that starts programs, in parallel to imports.

    Example:
        ```python
        @imports("workbench_handlers.files.find")
        async def search_files(params: SearchFilesParams, call: ToolCall) -> FoundPaths:
            from workbench_handlers.files.find import find
        ```
    """

    def mark(handler: Handler) -> Handler:
        # `Binding` reads both.
        handler.modules = modules  # type: ignore[attr-defined]
        handler.starts_programs = starts_programs  # type: ignore[attr-defined]
        return handler

    return mark


def handler_of(module: str, name: str) -> Callable[[Any, Any], Coroutine[Any, Any, Any]]:
    """Return a handler that imports `module` at its first call and calls the handler `name` there."""

    @imports(module)
    async def run(params: Any, call: Any) -> Any:
        return await getattr(import_module(module), name)(params, call)

    run.__name__ = run.__qualname__ = name  # in logs
    run.__module__ = module
    return run
