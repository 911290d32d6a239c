"""Format log records as JSON, one object a line: time, level, logger, message and the fields of the record."""

from __future__ import annotations

import json
import logging
import time
from typing import Any, Final

FIELDS: Final = "log_fields"
"""Attribute of a log record with additional fields, by name."""

_LEVELS: Final = {logging.WARNING: "warn", logging.CRITICAL: "error"}


class LogLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        timestamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{timestamp}.{int(record.msecs):03d}+00:00",
            "level": _LEVELS.get(record.levelno, record.levelname.lower()),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in getattr(record, FIELDS, {}).items():
            line.setdefault(name, value)
        if record.exc_text or record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return json.dumps(line, ensure_ascii=False, default=str)
