"""Interface of a backend: one question, the files that belong to it, and the parts of the answer as they arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from workbench_research.backends.question import Usage

__all__ = ["Backend", "End", "Event", "Options", "Part", "Progress", "Text", "Usage"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file, or a piece of one, that is sent with a question.

    `path` is relative to the root of the project, with forward slashes. `text` has numbered lines. `digest` is the
    SHA-256 of `text`; parts with equal digests are sent in equal bytes, so that a provider can cache them.
    """

    path: str
    text: str = field(repr=False)
    digest: str
    first_line: int = 1
    is_cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of one attempt. `model` is the provider's name; `max_output` is in tokens, 0 for the provider's own.

    With `searches_web` the model may search the web, if the provider can.
    """

    model: str
    timeout_s: float
    max_output: int = 0
    temperature: float | None = None
    searches_web: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer."""

    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Progress:
    """A short message without secrets and without parts of the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The end of an answer. `model` is the name that the provider returned. `is_cut`: the output limit was reached.

    `searches` counts the searches of the web, and `sources` are the addresses of their pages.
    """

    model: str
    usage: Usage
    is_cut: bool = False
    searches: int = 0
    sources: tuple[str, ...] = ()


Event: TypeAlias = Text | Progress | End


class Backend(Protocol):
    """One provider. Its library is imported when the first question is asked."""

    @property
    def name(self) -> str:
        """The name in settings and results, such as `anthropic`."""
        ...

    def ask(self, question: str, parts: tuple[Part, ...], options: Options) -> AsyncIterator[Event]:
        """Send the question once, and return its answer; the last event is `End`.

        `parts` come before the question, in their order.

        Raises:
            AttemptError: the provider refused, failed or broke off; `failure_kinds` decides what follows.
        """
        ...

    async def count_tokens(self, question: str, parts: tuple[Part, ...], model: str) -> int:
        """Return the tokens of a question by the provider's counter, else an estimate that is not too low."""
        ...
