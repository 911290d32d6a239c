"""Long work that outlives the patience of who asked for it: to ask the same again is to wait for the same answer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Final, TypeVar, cast

from workbench_handlers.model_backends.question import Report
from workbench_handlers.research.slots import MAX_PROGRAMS, Places

LINGER_S: Final = 15.0
"""Seconds that work goes on, or that its answer is kept, when nobody waits for it.

A client that gives up after its own 60 seconds sends the same cancellation as a person who changed their mind, and only
the first of them comes back.
"""

WAIT_S: Final = 240.0
"""Seconds after which one call is told to come back: Codex ends calls after 300, whatever progress it is sent."""

HANDOVER_S: Final = 120.0
"""Seconds that work goes on for a caller who was told to come back, however short it lingers otherwise."""

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class Operation:
    """One piece of work. `id` is what a person sees of it."""

    tool: str
    id: str = field(default_factory=lambda: f"op_{token_hex(4)}")
    began: float = field(default_factory=time.monotonic)
    listeners: list[Report] = field(default_factory=list, repr=False)
    said: str = ""
    """What was last told of it."""
    end: asyncio.TimerHandle | None = field(default=None, repr=False)
    left: float = 0.0
    """When the last who waited for it left."""
    promised_until: float = 0.0
    """Until when it goes on because a caller was told to come back."""

    @property
    def age_s(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began

    async def report(self, text: str) -> None:
        """Tell all who wait. One who cannot be told does not stop the others, nor the work."""
        self.said = text
        for listener in tuple(self.listeners):
            await self.tell(listener, text)

    async def tell(self, listener: Report, text: str) -> None:
        """Tell one of those who wait, if that can be done."""
        try:
            await listener(text)
        except Exception as error:  # noqa: BLE001  a client that has gone
            _log.debug("could not tell of %s: %s", self.id, type(error).__name__)


class StillRunningError(Exception):
    """A call has waited long enough; the work goes on."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation.id)
        self.operation = operation


class Operations:
    """The work that is going on, by what was asked.

    A call waits at most `wait_s` seconds (0: as long as it takes). The work then goes on for `HANDOVER_S` seconds at
    least, so that the same call, sent again, continues.

    When the last who waits for a piece of work is cancelled, it ends after `linger_s` seconds unless somebody asks the
    same again; 0 ends it at once. An answer that came while nobody waited is kept as long.

    At most `most_programs` places are held at the same time. When somebody waits for one, work that nobody waits for
    any more ends early, what was left first before the rest.
    """

    def __init__(
        self, *, linger_s: float = LINGER_S, most_programs: int = MAX_PROGRAMS, wait_s: float = WAIT_S
    ) -> None:
        self._linger_s = linger_s
        self._wait_s = wait_s
        self._places = Places(most_programs)
        self._ending: set[Operation] = set()
        self._running: dict[str, tuple[Operation, asyncio.Task[Any]]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def running(self) -> list[Operation]:
        """Give what is going on, oldest first."""
        return [operation for operation, task in self._running.values() if not task.done()]

    async def share(
        self, key: str, tool: str, work: Callable[[Operation], Awaitable[Result]], listener: Report
    ) -> Result:
        """Give the answer to `key`: of the work that is going on for it, or else of `work`, which is begun.

        Raises:
            StillRunningError: it takes longer than one call may wait.
            Exception: what the work raised, to all who wait.
        """
        operation, task = self._running.get(key) or self._begun(key, tool, work)
        if operation.end is not None:
            operation.end.cancel()
            operation.end = None
        is_joined = bool(operation.listeners)
        # First of all: the others may leave while this one is being told.
        operation.listeners.append(listener)
        self._make_room()
        try:
            if is_joined:
                await operation.tell(listener, f"joined {operation.id}, which began {operation.age_s:.0f} s ago")
            await asyncio.wait([task], timeout=self._wait_s or None)
            if not task.done():
                operation.promised_until = time.monotonic() + HANDOVER_S
                raise StillRunningError(operation)
            result = task.result()
        finally:
            operation.listeners.remove(listener)
            if task.done():
                self._forget(key, task)
            elif not operation.listeners:
                self._leave(key, operation, task)
        return cast("Result", result)

    @asynccontextmanager
    async def place(self, operation: Operation) -> AsyncIterator[None]:
        """Hold a place in which a program may run for this piece of work; as long as there is none, it waits."""
        # It is in line from its first step, which is the next one: then there may have to be room.
        asyncio.get_running_loop().call_soon(self._make_room)
        async with self._places.place(operation):
            yield

    async def aclose(self) -> None:
        """End all work."""
        tasks = []
        for operation, task in self._running.values():
            if operation.end is not None:
                operation.end.cancel()
            task.cancel()
            tasks.append(task)
        self._running.clear()
        if tasks:
            await asyncio.wait(tasks)

    def _begun(
        self, key: str, tool: str, work: Callable[[Operation], Awaitable[Any]]
    ) -> tuple[Operation, asyncio.Task[Any]]:
        operation = Operation(tool=tool)
        task = asyncio.ensure_future(work(operation))
        self._running[key] = (operation, task)
        task.add_done_callback(lambda done: self._finished(key, operation, done))
        return operation, task

    def _finished(self, key: str, operation: Operation, task: asyncio.Task[Any]) -> None:
        failed = task.cancelled() or task.exception() is not None  # looking at it marks it as seen
        if operation.listeners:
            return  # each of them takes the answer along
        if failed:
            self._forget(key, task)
        else:
            self._after(operation, self._linger_of(operation), lambda: self._forget(key, task))

    def _leave(self, key: str, operation: Operation, task: asyncio.Task[Any]) -> None:
        operation.left = time.monotonic()
        linger_s = self._linger_of(operation)
        if linger_s <= 0:
            self._end(key, operation, task)
        else:
            self._after(operation, linger_s, lambda: self._end(key, operation, task))
            self._make_room()

    def _linger_of(self, operation: Operation) -> float:
        return max(self._linger_s, operation.promised_until - time.monotonic())

    def _end(self, key: str, operation: Operation, task: asyncio.Task[Any]) -> None:
        if operation.end is not None:
            operation.end.cancel()
        self._ending.add(operation)
        task.add_done_callback(lambda _: self._ending.discard(operation))
        self._forget(key, task)
        task.cancel()

    def _make_room(self) -> None:
        """End as much of what nobody waits for as is needed for those who wait for a place."""
        wanted = self._places.wanted - sum(map(self._places.held, self._ending))
        lingering = [
            (key, operation, task)
            for key, (operation, task) in self._running.items()
            if not (operation.listeners or task.done()) and self._places.held(operation)
        ]
        for key, operation, task in sorted(lingering, key=lambda each: (each[1].promised_until, each[1].left)):
            if wanted <= 0:
                return
            wanted -= self._places.held(operation)
            _log.info("%s ends early: nobody waits for it, and its place is needed", operation.id)
            self._end(key, operation, task)

    def _after(self, operation: Operation, seconds: float, do: Callable[[], None]) -> None:
        if operation.end is not None:
            operation.end.cancel()
        with suppress(RuntimeError):  # the loop is closing, and ends all tasks itself
            operation.end = asyncio.get_running_loop().call_later(seconds, do)

    def _forget(self, key: str, task: asyncio.Task[Any]) -> None:
        if key in self._running and self._running[key][1] is task:
            del self._running[key]
