"""The places in which programs run: there are only so many, and who comes when all are taken waits in line."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

MAX_PROGRAMS: Final = 8
"""Programs that run at the same time. Each is a whole Node, and all use up the same quota."""


class Owner(Protocol):
    """What a place is for. Its `listeners` are those who wait for it."""

    @property
    def listeners(self) -> Sequence[Any]:
        """Who waits for it."""

    async def report(self, text: str) -> None:
        """Tell them."""


@dataclass(eq=False)
class _Waiting:
    owner: Owner
    place: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    moved: asyncio.Event = field(default_factory=asyncio.Event)


class Places:
    """So many places, which are given in the order of asking.

    But work that nobody waits for comes last, and what has a place already comes after what has none.
    """

    def __init__(self, most: int = MAX_PROGRAMS) -> None:
        self._most = most
        self._held: Counter[Owner] = Counter()
        self._line: list[_Waiting] = []

    @property
    def wanted(self) -> int:
        """How many wait in line for whom somebody waits."""
        return sum(bool(each.owner.listeners) for each in self._line)

    def held(self, owner: Owner) -> int:
        """Give how many places are held for it."""
        return self._held[owner]

    @asynccontextmanager
    async def place(self, owner: Owner) -> AsyncIterator[None]:
        """Hold a place for `owner`, which is told how many are before it as long as there is none."""
        if self._line or self._held.total() >= self._most:
            await self._stand_in_line(owner)
        else:
            self._held[owner] += 1
        try:
            yield
        finally:
            self._leave(owner)

    async def _stand_in_line(self, owner: Owner) -> None:
        waiting = _Waiting(owner)
        self._line.append(waiting)
        self._move_up()
        # Telling may take long where a client does not listen, and must not hold a place.
        telling = asyncio.create_task(self._tell(waiting))
        try:
            await waiting.place
        except asyncio.CancelledError:
            if waiting in self._line:
                self._line.remove(waiting)
                self._move_up()
            elif waiting.place.done() and not waiting.place.cancelled():
                self._leave(owner)
            raise
        finally:
            telling.cancel()

    async def _tell(self, waiting: _Waiting) -> None:
        told = -1
        while waiting in self._line:
            waiting.moved.clear()
            before = self._line.index(waiting)
            if before != told:
                await waiting.owner.report(f"waiting for a free place ({before} before)")
                told = before
            await waiting.moved.wait()

    def _leave(self, owner: Owner) -> None:
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]
        self._move_up()

    def _move_up(self) -> None:
        self._line = [each for each in self._line if not each.place.cancelled()]
        while self._line and self._held.total() < self._most:
            first = min(self._line, key=lambda each: (not each.owner.listeners, self._held[each.owner]))
            self._line.remove(first)
            self._held[first.owner] += 1
            first.place.set_result(None)
        for each in self._line:
            each.moved.set()
