"""Completion of the arguments of prompts and of URI templates."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from toolmason_runtime.calls.call import ToolCall

MAX_VALUES: Final = 100
"""Maximum number of values in one answer (MCP)."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a person has typed: the start of `value`, and the other arguments so far."""

    argument: str
    value: str
    arguments: Mapping[str, str]


class Completer(Protocol):
    """A handler that returns the values to offer for an argument."""

    def __call__(self, params: Completion, call: ToolCall, /) -> Sequence[str] | Awaitable[Sequence[str]]:
        """Return the values, best first: `async def`, or `def`, which runs in a worker thread."""
        ...


def matching(values: Sequence[str], typed: str) -> list[str]:
    """Return the `values` that contain `typed` in any case, those that start with it first."""
    wanted = typed.casefold()
    hits = [value for value in values if wanted in value.casefold()]
    return sorted(hits, key=lambda value: not value.casefold().startswith(wanted))


def wire_completion(values: Sequence[str]) -> dict[str, Any]:
    """Return the result of `completion/complete`."""
    shown = [str(value) for value in values[:MAX_VALUES]]
    return {"completion": {"values": shown, "total": len(values), "hasMore": len(values) > MAX_VALUES}}
