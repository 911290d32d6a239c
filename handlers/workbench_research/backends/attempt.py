"""One attempt with a backend, for `ask_with_retries`: events become an answer."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Final, cast

import anyio

from workbench_research.backends.failure_kinds import NO_OUTPUT, AttemptError
from workbench_research.backends.protocol import Backend, End, Event, Options, Part, Progress, Text
from workbench_research.backends.question import Answer, Report

REPORT_INTERVAL_S: Final = 0.4
"""Minimum seconds between two progress reports."""
MAX_CHARS: Final = 16 * 1024 * 1024
"""Maximum characters of an answer."""


async def ask_once(
    backend: Backend, question: str, parts: tuple[Part, ...], options: Options, *, title: str, report: Report
) -> Answer:
    """Ask a model once. `title` is the name of the API in messages.

    Raises:
        AttemptError: there was no complete answer within `options.timeout_s`.
    """
    started = time.monotonic()
    texts: list[str] = []
    length, reported = 0, 0.0
    end: End | None = None
    await _send(report, f"asking {options.model}")
    events = cast("AsyncGenerator[Event]", backend.ask(question, parts, options))
    try:
        with anyio.fail_after(options.timeout_s):
            async with aclosing(events):
                async for event in events:
                    match event:
                        case Text(text):
                            texts.append(text)
                            length += len(text)
                            if length > MAX_CHARS:
                                raise AttemptError(f"the answer exceeded {MAX_CHARS:,} characters", source=title)
                            if time.monotonic() - reported >= REPORT_INTERVAL_S:
                                reported = time.monotonic()
                                await _send(report, f"{options.model} is answering: {length:,} characters")
                        case Progress(message):
                            await _send(report, message)
                        case End():
                            end = event
    except TimeoutError:
        raise AttemptError("", timed_out=True, source=title) from None
    if end is None or not any(texts):
        raise AttemptError("", error_type=NO_OUTPUT, source=title)
    return Answer(
        text="".join(texts) + _sources(end.sources),
        model=end.model or options.model,
        files=tuple(dict.fromkeys(part.path for part in parts)),
        tokens=end.usage.sent + end.usage.written,
        web_searches=end.searches,
        latency_ms=round((time.monotonic() - started) * 1000),
        is_cut=end.is_cut,
        usage=end.usage,
    )


def _sources(addresses: tuple[str, ...]) -> str:
    return "".join(["\n\nPages that were found:\n", *(f"- {address}\n" for address in addresses)]) if addresses else ""


async def _send(report: Report, message: str) -> None:
    with suppress(Exception):  # the client may be gone while others wait for the same answer
        await report(message)
