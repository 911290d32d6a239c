"""A semaphore with a priority queue: a limited number of slots, each for one running program."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

MAX_PROGRAMS: Final = 8
"""Programs that run at the same time. Each is a Node process, and all share one quota."""


class SlotOwner(Protocol):
    """An operation that uses slots."""

    @property
    def listeners(self) -> Sequence[Any]:
        """The calls that wait for it."""

    async def report(self, text: str) -> None:
        """Send progress to these calls."""


@dataclass(eq=False)
class _Waiter:
    owner: SlotOwner
    slot: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    moved: asyncio.Event = field(default_factory=asyncio.Event)


class Slots:
    """`size` slots, assigned in the order of requests, except that owners without listeners come last.

    Among the others, owners with fewer slots come first. Invariant: no slot is free while an owner waits.
    """

    def __init__(self, size: int = MAX_PROGRAMS) -> None:
        self._size = size
        self._acquired: Counter[SlotOwner] = Counter()
        self._queue: list[_Waiter] = []

    @property
    def waiting_count(self) -> int:
        """Number of queued requests whose owner has listeners."""
        return sum(bool(waiter.owner.listeners) for waiter in self._queue)

    def acquired_by(self, owner: SlotOwner) -> int:
        """Return the number of slots of an owner."""
        return self._acquired[owner]

    @asynccontextmanager
    async def acquire(self, owner: SlotOwner) -> AsyncIterator[None]:
        """Reserve a slot for `owner`. While it waits, its position in the queue is reported."""
        if self._queue or self._acquired.total() >= self._size:
            await self._wait(owner)
        else:
            self._acquired[owner] += 1
        try:
            yield
        finally:
            self._release(owner)

    async def _wait(self, owner: SlotOwner) -> None:
        waiter = _Waiter(owner)
        self._queue.append(waiter)
        self._assign_free_slots()
        # A task of its own: a client that does not read its progress must not block the queue.
        reports = asyncio.create_task(self._report_position(waiter))
        try:
            await waiter.slot
        except asyncio.CancelledError:
            if waiter in self._queue:
                self._queue.remove(waiter)
                self._assign_free_slots()
            elif waiter.slot.done() and not waiter.slot.cancelled():
                self._release(owner)
            raise
        finally:
            reports.cancel()

    async def _report_position(self, waiter: _Waiter) -> None:
        reported = -1
        while waiter in self._queue:
            waiter.moved.clear()
            position = self._queue.index(waiter)
            if position != reported:
                await waiter.owner.report(f"waiting for a free slot ({position} ahead)")
                reported = position
            await waiter.moved.wait()

    def _release(self, owner: SlotOwner) -> None:
        self._acquired[owner] -= 1
        if not self._acquired[owner]:
            del self._acquired[owner]
        self._assign_free_slots()

    def _assign_free_slots(self) -> None:
        self._queue = [waiter for waiter in self._queue if not waiter.slot.cancelled()]
        while self._queue and self._acquired.total() < self._size:
            first = min(self._queue, key=lambda waiter: (not waiter.owner.listeners, self._acquired[waiter.owner]))
            self._queue.remove(first)
            self._acquired[first.owner] += 1
            first.slot.set_result(None)
        for waiter in self._queue:
            waiter.moved.set()
