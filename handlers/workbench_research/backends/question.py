"""A question to a model, and its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

TIMEOUT_S: Final = 900.0
"""Maximum seconds of one attempt: hard questions about large projects take minutes."""

Report = Callable[[str], Awaitable[None]]
"""Sends a short progress message without secrets and without parts of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One complete question; backends keep no history.

    Only files in `directory`, the root of the project, may be read. `models` are tried in order; with an empty name the
    program chooses. With `searches_web` the model may only search the web, and reads no file.
    """

    prompt: str = field(repr=False)
    directory: Path
    models: tuple[str, ...] = ("",)
    timeout_s: float = TIMEOUT_S
    searches_web: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one attempt, as the provider counts them.

    `sent` includes `cached`, the tokens that were read from a cache, and `cached_now`, those that were written to one.
    `cost` is in US dollars; None if the price is not known.
    """

    sent: int = 0
    cached: int = 0
    cached_now: int = 0
    written: int = 0
    cost: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """Return the sum; its cost is not known if one is not."""
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            sent=self.sent + other.sent,
            cached=self.cached + other.cached,
            cached_now=self.cached_now + other.cached_now,
            written=self.written + other.written,
            cost=cost,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The model's answer and its cost.

    `model` is the provider's name for it. `files` are the files that were sent, relative to the question's directory
    with forward slashes, each once, in order. `web_searches` counts successful searches, `attempts` all questions to a
    model. `is_cut`: the answer exceeded the limit. `usage` is that of the last attempt.
    `has_temperature`: the model takes one. `left_out` are files that were not sent or cut, each with the reason,
    and `parts` those that were sent, if the model chose some.
    """

    text: str = field(repr=False)
    model: str
    files: tuple[str, ...] = ()
    tokens: int = 0
    tool_calls: int = 0
    web_searches: int = 0
    latency_ms: int = 0
    attempts: int = 1
    is_cut: bool = False
    usage: Usage = Usage()
    has_temperature: bool = False
    left_out: tuple[str, ...] = ()
    parts: tuple[Any, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()


Ask = Callable[[str], Awaitable[Answer]]
"""Asks the model a prompt about the directory of the current call."""
