"""The log of a server, as a person reads it on a terminal and as a program reads it."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from toolmason_runtime.server.failures import to_tool_error
from toolmason_runtime.server.logging import FIELDS, LogLines, TextLines, own_traceback


def record(message: str, *, error: BaseException | None = None, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord(
        "desk", logging.WARNING, __file__, 1, message, (), (type(error), error, None) if error else None
    )
    setattr(made, FIELDS, fields)
    return made


def failure() -> Exception:
    """Return an error that a function of the author raised while the event loop of asyncio ran it."""
    import asyncio

    async def handler() -> None:
        try:
            dict[str, str]()["missing"]
        except KeyError as error:
            raise ValueError("no such page") from error

    with pytest.raises(ValueError, match="no such page") as raised:
        asyncio.run(handler())
    frames = raised.value.__traceback__
    return raised.value.with_traceback(frames.tb_next if frames else None)  # as in a server, they begin in asyncio


def test_a_line_of_text_has_the_level_the_message_and_the_fields() -> None:
    line = TextLines().format(record("slow call", tool="add page", ms=12))

    time, _, rest = line.partition(" ")
    assert len(time.split(":")) == 3
    assert rest == "warn  slow call tool='add page' ms=12"


def test_a_traceback_as_text_begins_with_the_code_of_the_author() -> None:
    shown = own_traceback(failure())

    assert "ValueError: no such page" in shown
    assert "KeyError: 'missing'" in shown
    assert "asyncio" not in shown
    assert shown.count("in handler") == 2


def test_an_error_of_the_runtime_itself_keeps_its_traceback() -> None:
    with pytest.raises(KeyboardInterrupt) as raised:
        to_tool_error("tool", KeyboardInterrupt())
    frames = raised.value.__traceback__

    assert "failures.py" in own_traceback(raised.value.with_traceback(frames.tb_next if frames else None))


def test_a_line_of_json_has_the_whole_traceback() -> None:
    error = failure()
    line = json.loads(
        LogLines().format(logging.LogRecord("desk", 40, "", 1, "failed", (), (type(error), error, error.__traceback__)))
    )

    assert line["level"] == "error"
    assert "asyncio" in line["exception"]
