"""The parameter model and handler of a tool; generated packages define one for each."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import RLock
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pydantic import BaseModel


MAX_IMPORT_WAIT_S: Final = 5.0
"""Maximum seconds that an import waits for one in another thread, which may never end."""
_IMPORTS: Final = RLock()


class HandlerExitError(Exception):
    """A handler tried to end the process."""


@contextmanager
def exclusive_import() -> Iterator[None]:
    """Import a tool or a model in one thread at a time: two threads could see unfinished modules of an import cycle.

    Raises:
        HandlerExitError: a module called `sys.exit`.
    """
    is_alone = _IMPORTS.acquire(timeout=MAX_IMPORT_WAIT_S)
    try:
        yield
    except SystemExit as error:
        raise HandlerExitError(f"an import called sys.exit({error.code!r})") from error
    finally:
        if is_alone:
            _IMPORTS.release()


@dataclass(frozen=True, slots=True)
class Binding:
    """The parameter model and the handler of a tool.

    `params` is None for a tool with raw JSON Schema: its arguments are checked against that schema, and the handler
    gets a dict. It is a reference such as `books.models:FindParams` if `inputSchema` has all rules of the model: the
    model is imported only for arguments that it must convert or reject, and the handler gets a dict of all others.
    """

    params: type[BaseModel] | str | None
    run: Callable[[Any, Any], Any]
    """An `async def` handler, or a plain `def`, which may block."""
    modules: tuple[str, ...] = ()
    """Modules that `run` imports at its first call."""

    async def result(self, params: Any, call: Any) -> Any:
        """Return the result of one call.

        A plain function runs in a worker thread, with the context variables of the call. If the call is cancelled, the
        thread is abandoned: it runs on, and its result is dropped.

        Raises:
            HandlerExitError: the handler called `sys.exit`, which must not end the server.
        """
        try:
            return await self._run(params, call)
        except SystemExit as error:
            raise HandlerExitError(f"`{self.name}` called sys.exit({error.code!r}); raise ToolError instead") from error

    def prepare(self) -> None:
        """Import the modules of the first call: `modules`, and those in the attribute `modules` of the handler."""
        for module in (*self.modules, *getattr(self.run, "modules", ())):
            importlib.import_module(module)

    @property
    def name(self) -> str:
        """Module and name of the handler: `books.search:find`."""
        return f"{self.run.__module__}:{getattr(self.run, '__qualname__', type(self.run).__qualname__)}"

    @property
    def is_foreign(self) -> bool:
        """Whether the result has content of a program or of another machine."""
        return getattr(self.run, "is_foreign", False) is True

    @property
    def starts_programs(self) -> bool:
        """Whether the handler starts a program or a child process in nearly every call."""
        return getattr(self.run, "starts_programs", False) is True

    async def _run(self, params: Any, call: Any) -> Any:
        if _is_async(self.run):
            return await self.run(params, call)
        from asyncio import CancelledError

        from anyio import CancelScope
        from anyio.to_thread import run_sync

        with CancelScope() as scope:
            try:
                result = await run_sync(self.run, params, call, abandon_on_cancel=True)
            except CancelledError:
                # `check_cancelled` in the thread asks anyio, which does not know of `task.cancel()`.
                scope.cancel()
                raise
        # A decorator can hide that a function is asynchronous.
        return await result if inspect.isawaitable(result) else result


def _is_async(run: Callable[[Any, Any], Any]) -> bool:
    if type(run) is FunctionType and run.__code__.co_flags & inspect.CO_COROUTINE:
        return True  # most handlers; each call checks this
    return inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(type(run).__call__)


def load_model(reference: str) -> type[BaseModel]:
    """Import the model of a reference such as `books.models:FindParams`."""
    module, _, name = reference.partition(":")
    with exclusive_import():
        model: type[BaseModel] = getattr(importlib.import_module(module), name)
    return model
