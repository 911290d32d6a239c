"""Session ids in the log, shortened: whoever has a whole id could use the session."""

from __future__ import annotations

import logging
import re
from typing import Final

SHOWN_CHARACTERS: Final = 8
"""Characters of an id that are logged, enough to find other lines about it."""
_LOGGERS: Final = ("mcp.server.streamable_http_manager", "mcp.server.streamable_http")
"""Loggers of the SDK whose messages contain session ids."""
_ID: Final = re.compile(rf"(?<![\w.~-])(?=[A-Za-z_.~-]*\d)([\w.~-]{{{SHOWN_CHARACTERS}}})[\w.~-]{{12,}}")
"""A long word with a digit: ids of the SDK, sealed ids of several processes, and what clients send instead."""


def shorten_ids(record: logging.LogRecord) -> bool:
    """Shorten the session ids in the message of a record; return true, so that it is logged."""
    message = record.getMessage()
    shortened = _ID.sub(r"\1...", message)
    if shortened != message:
        record.msg, record.args = shortened, ()
    return True


def shorten_logged_ids() -> None:
    """Shorten the session ids in all messages of the SDK, wherever they are logged."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(shorten_ids)
