"""Single flight: identical calls share one operation, which survives a client's timeout."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from workbench_research.slots import MAX_PROGRAMS, Slots

if TYPE_CHECKING:
    from workbench_research.backends.question import Report

LINGER_S: Final = 15.0
"""Seconds that an operation continues, or its answer is kept, without a waiting call.

A client's timeout after 60 seconds and a cancellation by the user send the same message, but only after a timeout the
call is repeated.
"""

WAIT_S: Final = 240.0
"""Seconds after which a call returns STILL_RUNNING: Codex ends calls after 300, regardless of progress."""

HANDOVER_S: Final = 120.0
"""Minimum seconds that an operation continues after STILL_RUNNING, even if it lingers for less."""

WANTED_S: Final = 5.0
"""Seconds that an operation continues after the last look of another process."""

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


@dataclass(eq=False, kw_only=True)
class Operation:
    """A running operation. Results contain its `id`."""

    tool: str
    id: str = field(default_factory=lambda: f"op_{token_hex(4)}")
    started_at: float = field(default_factory=time.monotonic)
    listeners: list[Report] = field(default_factory=list, repr=False)
    last_progress: str = ""
    end_timer: asyncio.TimerHandle | None = field(default=None, repr=False)
    idle_since: float = 0.0
    """When the last listener left."""
    promised_until: float = 0.0
    """Time until which it continues because a call returned STILL_RUNNING."""
    wanted_until: float = 0.0
    """Time until which it continues because another process waits for its answer."""

    @property
    def age_s(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started_at

    def want(self) -> None:
        """Continue for a moment although no call of this process waits."""
        self.wanted_until = time.monotonic() + WANTED_S

    async def report(self, text: str) -> None:
        """Send progress to all listeners. A disconnected client affects neither the others nor the operation."""
        self.last_progress = text
        for listener in tuple(self.listeners):
            await self.notify(listener, text)

    async def notify(self, listener: Report, text: str) -> None:
        """Send progress to one listener, if it is connected."""
        try:
            await listener(text)
        except Exception as error:  # noqa: BLE001  a disconnected client
            _log.debug("progress of %s could not be sent: %s", self.id, type(error).__name__)


class StillRunningError(Exception):
    """The operation exceeds the time of one call, and continues."""

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation.id)
        self.operation = operation


class Operations:
    """The running operations of a server, by a key of their call.

    A call waits at most `wait_s` seconds (0: until the answer). The operation then continues for at least `HANDOVER_S`
    seconds, so that the repeated call joins it.

    After the cancellation of its last listener, an operation ends within `linger_s` seconds unless the call is
    repeated; 0 ends it at once. An answer without a listener is kept as long.

    At most `max_programs` slots are used at the same time. If a call waits for one, operations without listeners are
    ended early, the one that is idle for longest first.

    Everything runs in one event loop: state changes only between two `await`s, so it needs no locks.
    """

    def __init__(self, *, linger_s: float = LINGER_S, max_programs: int = MAX_PROGRAMS, wait_s: float = WAIT_S) -> None:
        self._linger_s = linger_s
        self._wait_s = wait_s
        self._slots = Slots(max_programs)
        self._ending: set[Operation] = set()
        self._running: dict[str, tuple[Operation, asyncio.Task[Any]]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def running(self) -> list[Operation]:
        """Return the running operations, the oldest first."""
        return [operation for operation, task in self._running.values() if not task.done()]

    async def join_or_start(
        self,
        key: str,
        tool: str,
        run: Callable[[Operation], Awaitable[Result]],
        listener: Report,
        *,
        is_task: Callable[[], bool] = lambda: False,
    ) -> Result:
        """Return the result of the running operation with this `key`, or else of `run`, which is started.

        `is_task` returns whether the call has become a task. It then waits until the answer, and its cancellation ends
        an operation without other listeners at once: it is no timeout, after which a client would repeat the call.

        Raises:
            StillRunningError: the operation exceeds the time of one call.
            Exception: the error of `run`, for all listeners.
        """
        operation, task = self._running.get(key) or self._start(key, tool, run)
        if operation.end_timer is not None:
            operation.end_timer.cancel()
            operation.end_timer = None
        is_joined = bool(operation.listeners)
        # Added before the first `await`, during which the other listeners may leave.
        operation.listeners.append(listener)
        self._evict_idle()
        try:
            if is_joined:
                message = f"joined {operation.id}, which started {operation.age_s:.0f} s ago"
                await operation.notify(listener, message)
            while not task.done():
                await asyncio.wait([task], timeout=self._wait_s or None)
                if task.done() or is_task():
                    continue
                operation.promised_until = time.monotonic() + HANDOVER_S
                raise StillRunningError(operation)
            result = task.result()
        finally:
            operation.listeners.remove(listener)
            if task.done():
                self._remove(key, task)
            elif not operation.listeners:
                if is_task():
                    self._end(key, operation, task)
                else:
                    self._start_lingering(key, operation, task)
        return cast("Result", result)

    @asynccontextmanager
    async def acquire_slot(self, operation: Operation) -> AsyncIterator[None]:
        """Reserve a slot for a program of this operation; wait until one is free."""
        # It enters the queue in its next step; only then an idle operation may have to make room.
        asyncio.get_running_loop().call_soon(self._evict_idle)
        async with self._slots.acquire(operation):
            yield

    async def aclose(self) -> None:
        """End all operations."""
        tasks = []
        for operation, task in self._running.values():
            if operation.end_timer is not None:
                operation.end_timer.cancel()
            task.cancel()
            tasks.append(task)
        self._running.clear()
        if tasks:
            await asyncio.wait(tasks)

    def _start(
        self, key: str, tool: str, run: Callable[[Operation], Awaitable[Any]]
    ) -> tuple[Operation, asyncio.Task[Any]]:
        operation = Operation(tool=tool)
        task = asyncio.ensure_future(run(operation))
        self._running[key] = (operation, task)
        task.add_done_callback(lambda done: self._on_done(key, operation, done))
        return operation, task

    def _on_done(self, key: str, operation: Operation, task: asyncio.Task[Any]) -> None:
        failed = task.cancelled() or task.exception() is not None  # retrieved, so asyncio does not log it
        if operation.listeners:
            return  # each of them gets the result
        if failed:
            self._remove(key, task)
        else:
            self._call_later(operation, self._linger_time(operation), lambda: self._remove(key, task))

    def _start_lingering(self, key: str, operation: Operation, task: asyncio.Task[Any]) -> None:
        operation.idle_since = time.monotonic()
        linger_s = self._linger_time(operation)
        if linger_s <= 0:
            self._end(key, operation, task)
        else:
            self._call_later(operation, linger_s, lambda: self._end(key, operation, task))
            self._evict_idle()

    def _linger_time(self, operation: Operation) -> float:
        return max(self._linger_s, operation.promised_until - time.monotonic())

    def _end(self, key: str, operation: Operation, task: asyncio.Task[Any]) -> None:
        if (wanted_s := operation.wanted_until - time.monotonic()) > 0:
            self._call_later(operation, wanted_s, lambda: self._end(key, operation, task))
            return
        if operation.end_timer is not None:
            operation.end_timer.cancel()
        self._ending.add(operation)
        task.add_done_callback(lambda _: self._ending.discard(operation))
        self._remove(key, task)
        task.cancel()

    def _evict_idle(self) -> None:
        """End as many operations without listeners as calls wait for a slot."""
        missing = self._slots.waiting_count - sum(map(self._slots.acquired_by, self._ending))
        idle = [
            (key, operation, task)
            for key, (operation, task) in self._running.items()
            if not (operation.listeners or task.done()) and self._slots.acquired_by(operation)
        ]
        for key, operation, task in sorted(idle, key=lambda entry: (entry[1].promised_until, entry[1].idle_since)):
            if missing <= 0:
                return
            missing -= self._slots.acquired_by(operation)
            _log.info("%s ends early: no call waits for it, and its slot is needed", operation.id)
            self._end(key, operation, task)

    def _call_later(self, operation: Operation, seconds: float, do: Callable[[], None]) -> None:
        if operation.end_timer is not None:
            operation.end_timer.cancel()
        with suppress(RuntimeError):  # the event loop is closing, and cancels all tasks
            operation.end_timer = asyncio.get_running_loop().call_later(seconds, do)

    def _remove(self, key: str, task: asyncio.Task[Any]) -> None:
        if key in self._running and self._running[key][1] is task:
            del self._running[key]
