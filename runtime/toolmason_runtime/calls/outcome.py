"""The error of a call, for a caller in the same process: the result on the wire has its text alone."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from toolmason_runtime.shared.errors import ToolError


@dataclass(slots=True)
class Outcome:
    """The code of the error of one call; empty without an error."""

    code: str = ""


_outcome: ContextVar[Outcome | None] = ContextVar("outcome of a call", default=None)


def watch() -> Outcome:
    """Return the outcome of the call that runs in this context from now on."""
    outcome = Outcome()
    _outcome.set(outcome)
    return outcome


def note_error(error: ToolError) -> None:
    """Set the code of the call that runs in this context, if anyone watches it."""
    if (outcome := _outcome.get()) is not None:
        outcome.code = error.code
