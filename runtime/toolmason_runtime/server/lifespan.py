"""The lifespan of a server: entered at the first tool call, closed with the server."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import Context
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from toolmason_runtime.calls.secrets import protect
from toolmason_runtime.shared.errors import INTERNAL, ToolError

if TYPE_CHECKING:
    import asyncio

Options = TypeVar("Options")
"""The class of the options: the generated `Options`."""
LifespanFactory = Callable[[Options], AbstractAsyncContextManager[object]]
"""A function of the handlers, usually with `@asynccontextmanager`, that yields one object or a tuple of them."""

_log = logging.getLogger(__name__)


class Lifespan:
    """Enters the context manager of `target` (`module:function`, or empty for none) once, at its first use.

    It gets `options`, or what `load_options` makes of them.

    Invariant: one task enters and exits the context manager, as cancel scopes require, and that task is independent of
    every request, so that no cancelled request ends the state of the others.
    """

    def __init__(self, target: str, options: object, load_options: Callable[[Any], object] | None = None) -> None:
        self._target = target
        self._given_options = options
        self._load_options = load_options
        self._entered: asyncio.Future[tuple[object, ...]] | None = None
        self._closing: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def modules(self) -> tuple[str, ...]:
        """The module that the first use imports; empty without a lifespan."""
        return (self._target.partition(":")[0],) if self._target else ()

    @cached_property
    def options(self) -> object:
        """The object that the context manager receives. Its secrets are masked from now on."""
        options = self._load_options(self._given_options) if self._load_options else self._given_options
        if is_dataclass(options):
            # `Options` does not print its secrets.
            protect(getattr(options, field.name) for field in fields(options) if not field.repr)
        return options

    async def state(self) -> tuple[object, ...]:
        """Enter the context manager unless it is open; return the objects that it yielded.

        Raises:
            ToolError: it raised an error. The next call tries again.
        """
        if not self._target:
            return ()
        import asyncio

        if self._entered is None:
            self._entered = asyncio.get_running_loop().create_future()
            self._closing = asyncio.Event()
            # An empty context: the state must not inherit the context variables of the first caller.
            self._task = asyncio.create_task(self._live(self._entered, self._closing), context=Context())
        return await asyncio.shield(self._entered)

    async def aclose(self) -> None:
        """Exit the context manager if it is open. It may be entered again afterwards."""
        task, entered, self._task, self._entered = self._task, self._entered, None, None
        if task is None or entered is None or self._closing is None:
            return
        import asyncio

        if entered.done():
            self._closing.set()
        else:
            task.cancel()
        await asyncio.wait([task])

    async def _live(self, entered: asyncio.Future[tuple[object, ...]], closing: asyncio.Event) -> None:
        import asyncio

        try:
            async with self._manager() as state:
                entered.set_result(_objects(state))
                await closing.wait()
        except asyncio.CancelledError:
            entered.cancel()
            raise
        except Exception as error:  # noqa: BLE001  it goes to the waiting calls, or to the log
            if entered.done():
                _log.error("lifespan `%s` failed while closing: %s", self._target, _line(error), exc_info=error)
            else:
                entered.set_exception(self._failure(error))
                entered.exception()  # marks it as retrieved: every waiting call may have been cancelled
        finally:
            if self._entered is entered:
                self._entered = None

    def _manager(self) -> AbstractAsyncContextManager[object]:
        module, _, function = self._target.partition(":")
        factory: Callable[[object], object] = getattr(importlib.import_module(module), function)
        manager = factory(self.options)
        if not isinstance(manager, AbstractAsyncContextManager):
            kind = type(manager).__name__
            raise TypeError(
                f"it must return an async context manager, not {kind}; decorate it with @asynccontextmanager"
            )
        return manager

    def _failure(self, error: Exception) -> ToolError:
        """Log an error of the context manager and return the one for the model; a `ToolError` is already for it."""
        if isinstance(error, ToolError):
            return error
        _log.error("lifespan `%s` failed: %s", self._target, _line(error), exc_info=error)
        return ToolError(f"The server's lifespan `{self._target}` failed", code=INTERNAL)


def _objects(state: object) -> tuple[object, ...]:
    """Return the objects that a lifespan yielded: one, or those of a tuple or list. Named tuples are one object."""
    if state is None:
        return ()
    return tuple(state) if type(state) in {tuple, list} else (state,)  # type: ignore[arg-type]  # it is one of the two


def _line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
