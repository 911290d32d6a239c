"""The handlers of the book. Their parameter models are generated when the tests run."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from toolmason_runtime import Completion, Content, Message, PromptContent, ResourceContent, Text, ToolCall, ToolError

PAGES = {"2026-11-21": "Read the book.", "2026-11-22": "Call the library."}
UNLUCKY = 13
EXIT = 14
MAX_DAYS = 30
WRONG: dict[int, Any] = {21: 7, 22: ["Plan", 7], 23: None}
"""Results of a wrong type."""


class Note(Protocol):
    """Parameters of `add_note`."""

    day: str
    text: str


class Plan(Protocol):
    """Arguments of `plan`."""

    days: int
    start: str | None


class Day(Protocol):
    """The variable of a page."""

    day: str


class Search(Protocol):
    """The variables of a search."""

    path: str
    limit: int


async def add_note(params: Note, call: ToolCall) -> Content:
    """Add a note and announce the change."""
    PAGES[params.day] = params.text
    await call.resource_updated(f"notes://pages/{params.day}")
    return "Added."


def plan(params: Plan, call: ToolCall) -> PromptContent:  # noqa: ARG001  a handler gets both
    """Return messages of both roles.

    Raises:
        ToolError: the plan is too long.
    """
    if params.days == UNLUCKY:
        raise RuntimeError("internal detail")
    if params.days == EXIT:
        sys.exit("goodbye")
    if params.days in WRONG:
        wrong: PromptContent = WRONG[params.days]
        return wrong
    if params.days > MAX_DAYS:
        raise ToolError(f"plan at most {MAX_DAYS} days")
    first = f"Plan {params.days + 1 - 1} days from {params.start}."
    return [first, Message("With pleasure.", role="assistant"), Text("Begin.")]


async def interview(params: object, call: ToolCall) -> PromptContent:  # noqa: ARG001
    """Ask a person for the subject."""
    schema = {"type": "object", "properties": {"topic": {"type": "string"}}}
    answer = await call.elicit("What about?", schema, key="topic")
    return f"Write about {answer['content']['topic']}."


async def complete_day(params: Completion, call: ToolCall) -> Sequence[str]:  # noqa: ARG001
    """Return the days of the book, or many of them for `*`."""
    if params.value == "*":
        return [str(number) for number in range(1000)]
    if params.value == "!":
        raise RuntimeError("internal detail")
    if params.value == "?":
        return "a text"
    return [f"{day}{params.arguments.get('days', '')}" for day in sorted(PAGES) if day.startswith(params.value)]


async def read_page(params: Day, call: ToolCall) -> ResourceContent:  # noqa: ARG001
    """Return the notes of one day, or None."""
    return PAGES.get(params.day)


async def find(params: Search, call: ToolCall) -> ResourceContent:  # noqa: ARG001
    """Return the variables as bytes."""
    if params.path == "exit":
        sys.exit(1)
    if params.path == "number":
        number: ResourceContent = WRONG[21]
        return number
    return json.dumps([params.path, params.limit]).encode()
