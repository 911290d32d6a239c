"""The store in this process: the newest answers, in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from cachetools import TTLCache

from workbench_handlers.answers.store import (
    LIFE_S,
    MAX_ANSWER_BYTES,
    Kept,
    Part,
    decoded,
    encoded,
    expired,
    moment,
    new_key,
    no_such_part,
)

MAX_ANSWERS: Final = 256


@dataclass(frozen=True, slots=True)
class _Answer:
    parts: list[bytes] = field(repr=False)
    size: int
    expires: float


class MemoryStore:
    """Keeps at most `most_answers`, with at most `most_bytes` in all; those not asked for the longest make room.

    `clock` gives seconds since 1970: what a client is told of the end of an answer is when it ends. `problem` says why
    there is no better store, if one was asked for.
    """

    def __init__(
        self,
        *,
        life_s: float = LIFE_S,
        most_answers: int = MAX_ANSWERS,
        most_bytes: int = MAX_ANSWER_BYTES,
        clock: Callable[[], float] = time.time,
        problem: str = "",
    ) -> None:
        self._life_s = life_s
        self._most_answers = most_answers
        self._clock = clock
        self._problem = problem
        self._answers: TTLCache[str, _Answer] = TTLCache(most_bytes, life_s, clock, lambda answer: answer.size)

    async def put(self, parts: Sequence[str]) -> Kept:
        """See `AnswerStore.put`."""
        data = encoded(parts)
        key, expires = new_key(), self._clock() + self._life_s
        while len(self._answers) >= self._most_answers:
            self._answers.popitem()
        self._answers[key] = _Answer(data, sum(map(len, data)), expires)
        warnings = (self._problem,) if self._problem else ()
        return Kept(key=key, total=len(data), expires_at=moment(expires), warnings=warnings)

    async def get(self, key: str, index: int) -> Part:
        """See `AnswerStore.get`."""
        answer = self._answers.get(key)
        if answer is None:
            raise expired(key)
        total = len(answer.parts)
        if not 1 <= index <= total:
            raise no_such_part(index, total)
        content = decoded(answer.parts[index - 1])
        return Part(content=content, index=index, total=total, expires_at=moment(answer.expires))

    async def check(self) -> str:
        """See `AnswerStore.check`."""
        return self._problem

    async def aclose(self) -> None:
        """See `AnswerStore.aclose`."""
        self._answers.clear()

    def has(self, key: str) -> bool:
        """Whether an answer is kept under `key`."""
        return key in self._answers
