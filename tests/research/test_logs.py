from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from workbench_research.logs import LOGGERS, RedactingFilter, install, record

OURS = logging.getLogger("workbench_research")
KEY = "AIzaSyD-0123456789abcdefghijklmnopqrstu"
ENVIRON = {"GEMINI_API_KEY": "a-key-without-a-form", "HOME": "/home/someone"}


class Log:
    """What was logged by the server's own loggers, and by those of others."""

    def __init__(self) -> None:
        self.ours, self.others = io.StringIO(), io.StringIO()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.ours.getvalue().splitlines()]

    @property
    def text(self) -> str:
        return self.ours.getvalue() + self.others.getvalue()


@pytest.fixture
def log() -> Iterator[Log]:
    log = Log()
    root, loggers = logging.getLogger(), [logging.getLogger(name) for name in LOGGERS]
    handler = logging.StreamHandler(log.others)
    root.addHandler(handler)
    for own in loggers:
        own.setLevel(logging.DEBUG)
    install(ENVIRON, stream=log.ours)
    yield log
    root.removeHandler(handler)
    for each in root.handlers:
        each.filters[:] = [kept for kept in each.filters if not isinstance(kept, RedactingFilter)]
    for own in loggers:
        for each in list(own.handlers):
            own.removeHandler(each)
        own.propagate = True
        own.setLevel(logging.NOTSET)


@pytest.mark.parametrize("name", ["workbench_handlers.files.x", "workbench_research.backends.x"])
def test_a_record_is_one_line_of_json_with_its_fields(log: Log, name: str) -> None:
    record(
        logging.getLogger(name),
        logging.INFO,
        "answered\nwell",
        model="flash",
        tokens=12,
        ok=True,
    )

    [line] = log.lines
    assert datetime.fromisoformat(line.pop("time")).tzinfo is not None
    assert line == {
        "level": "info",
        "logger": name,
        "message": "answered\nwell",
        "model": "flash",
        "tokens": 12,
        "ok": True,
    }
    assert log.others.getvalue() == ""


@pytest.mark.parametrize(
    ("level", "name"),
    [(logging.DEBUG, "debug"), (logging.INFO, "info"), (logging.WARNING, "warn"), (logging.ERROR, "error")],
)
def test_levels_have_the_names_of_the_specification(log: Log, level: int, name: str) -> None:
    record(OURS, level, "x")

    assert [line["level"] for line in log.lines] == [name]


def test_messages_below_the_level_of_the_server_are_not_logged(log: Log) -> None:
    OURS.setLevel(logging.ERROR)
    record(logging.getLogger("workbench_research.y"), logging.WARNING, "x")

    assert log.lines == []


def test_a_prompt_in_any_field_is_logged_as_its_length(log: Log) -> None:
    record(OURS, logging.INFO, "x", prompt="why " * 500, params={"question": "why?", "answer": ["a"]})

    [line] = log.lines
    assert line["prompt"] == "2,000 characters"
    assert line["params"] == {"question": "4 characters", "answer": "[redacted]"}


@pytest.mark.parametrize("secret", [KEY, ENVIRON["GEMINI_API_KEY"], "ya29.abcdefghijkl"])
def test_no_secret_is_logged_however_it_gets_there(log: Log, secret: str) -> None:
    logger = logging.getLogger("workbench_handlers.z")
    record(
        logger, logging.INFO, f"said {secret}", text=secret, deep=[{"a": {secret: (secret,)}}], error=OSError(secret)
    )
    logger.warning("said %s", secret)
    logger.warning("wrong arguments %d", secret)
    logging.getLogger("another.package").warning("said %r", {"x": secret}, stack_info=True)
    for each in (logger, logging.getLogger("another.package")):
        try:
            raise OSError(secret)  # noqa: TRY301  it is to have a traceback
        except OSError:
            each.exception("oh")

    assert secret not in log.text
    assert len(log.lines) == 4
    assert "OSError: [redacted]" in log.lines[-1]["exception"]
    assert "OSError: [redacted]" in log.others.getvalue()


def test_a_field_named_like_a_secret_is_not_logged(log: Log) -> None:
    record(OURS, logging.INFO, "x", api_key="plain", tokensUsed=5, nested={"password": "plain"})

    assert "plain" not in log.text
    assert log.lines[0]["tokensUsed"] == 5


def test_a_field_cannot_replace_a_standard_field(log: Log) -> None:
    record(OURS, logging.INFO, "x", level="fatal", time="never")

    assert log.lines[0]["level"] == "info"
    assert log.lines[0]["time"] != "never"


def test_installing_twice_logs_once(log: Log) -> None:
    install(ENVIRON, stream=log.ours)
    record(OURS, logging.INFO, "x")

    assert len(log.lines) == 1
    assert all(
        sum(isinstance(each, RedactingFilter) for each in kept.filters) == 1 for kept in logging.getLogger().handlers
    )
