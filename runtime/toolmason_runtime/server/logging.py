"""Log to stderr: as text on a terminal, otherwise as JSON, one object a line."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Final

from toolmason_runtime.calls.secrets import mask

FIELDS: Final = "log_fields"
"""Attribute of a log record with additional fields, by name."""

_LEVELS: Final = {logging.WARNING: "warn", logging.CRITICAL: "error"}
_NOISY_LOGGERS: Final = ("mcp", "sse_starlette")
"""Loggers that on `debug` log whole requests and results."""
_CALLERS: Final = (
    *("toolmason_runtime", "asyncio", "concurrent.futures", "threading", "anyio", "mcp", "starlette"),
    "importlib",
)
"""Packages and modules whose frames precede those of a handler."""
_IMPORT_SYSTEM: Final = "<frozen importlib"
"""Beginning of the file names in frames of the import system."""


def log_to_stderr(level: str, layout: str | None) -> None:
    """Log records of at least `level` to stderr, as `text` or `json`; None: as text on a terminal, else as JSON.

    Warnings of Python are records, too.
    """
    is_terminal = sys.stderr is not None and sys.stderr.isatty()  # None: stderr is closed
    is_text = is_terminal if layout is None else layout == "text"
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextLines() if is_text else LogLines())
    logging.basicConfig(handlers=[handler], level=level.upper())
    logging.captureWarnings(capture=True)
    for name in _NOISY_LOGGERS:
        logging.getLogger(name).setLevel(max(logging.INFO, logging.getLogger().getEffectiveLevel()))


class LogLines(logging.Formatter):
    """Formats a record as one line of JSON: time, level, logger, message and the fields of the record."""

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
        return mask(json.dumps(line, ensure_ascii=False, default=str))


class TextLines(logging.Formatter):
    """Formats a record for a terminal: local time, level, message, fields, and the traceback of the author's code."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines without the last end of line."""
        timestamp = time.strftime("%H:%M:%S", time.localtime(record.created))
        level = _LEVELS.get(record.levelno, record.levelname.lower())
        fields = "".join(f" {name}={_shown(value)}" for name, value in getattr(record, FIELDS, {}).items())
        line = f"{timestamp} {level:5} {record.getMessage()}{fields}"
        if record.exc_info and record.exc_info[1]:
            line += "\n" + own_traceback(record.exc_info[1])
        return mask(line)


def own_traceback(error: BaseException) -> str:
    """Return the traceback of `error` and its causes without the frames before the first one of the author's code.

    A traceback without such a frame keeps all of them.
    """
    shown = traceback.TracebackException.from_exception(error)
    callers = (_IMPORT_SYSTEM, *(_directory(name) for name in _CALLERS if name in sys.modules))
    chain: traceback.TracebackException | None = shown
    while chain is not None:
        first = next((i for i, frame in enumerate(chain.stack) if not frame.filename.startswith(callers)), 0)
        chain.stack = traceback.StackSummary.from_list(chain.stack[first:])
        chain = chain.__cause__ or chain.__context__
    return "".join(shown.format()).rstrip()


def _directory(name: str) -> str:
    """Return the path with which the files of a loaded package begin; the file of a module that is no package."""
    path = Path(sys.modules[name].__file__ or "")
    return f"{path.parent}{os.sep}" if path.name == "__init__.py" else str(path)


def _shown(value: object) -> str:
    text = str(value)
    return repr(text) if not text or any(char.isspace() for char in text) else text
