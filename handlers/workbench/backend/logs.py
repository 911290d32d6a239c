"""What the server logs of its work: one JSON object a line on stderr, without secrets and without prompts.

The level is the one the command line chose for the whole server. Records of other packages keep their format, and are
freed of secrets as well, since an exception's text may hold anything.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from workbench.backend.redaction import HIDDEN, is_secret_name, redact

NAME: Final = "workbench"
"""The logger whose records become JSON, with all below it."""

_LEVELS: Final = {logging.WARNING: "warn", logging.CRITICAL: "error"}
_UNSAID: Final = {"prompt", "question", "answer", "stdin"}
"""Fields whose length is logged in place of their text."""
_FIELDS: Final = "workbench_fields"
_DEEPEST: Final = 6


def install(environ: Mapping[str, str] | None = None, *, stream: TextIO | None = None) -> None:
    """Log to stderr in the way of this module. A second time changes nothing but the stream."""
    redacting = Redacting(os.environ if environ is None else environ)
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.set_name(NAME)
    handler.setFormatter(Lines())
    handler.addFilter(redacting)
    own = logging.getLogger(NAME)
    for each in [each for each in own.handlers if each.get_name() == NAME]:
        own.removeHandler(each)
    own.addHandler(handler)
    own.propagate = False
    for each in logging.getLogger().handlers:
        if not any(isinstance(kept, Redacting) for kept in each.filters):
            each.addFilter(redacting)


def record(logger: logging.Logger, level: int, message: str, /, **fields: Any) -> None:
    """Log something with its numbers and names. A prompt may be given: only its length is logged."""
    if logger.isEnabledFor(level):
        logger.log(level, "%s", message, extra={_FIELDS: fields}, stacklevel=2)


class Redacting(logging.Filter):
    """Takes the secrets out of records: of their message, their fields and the exception they tell of."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__()
        self._environ = environ

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record, and let it pass."""
        record.msg, record.args = redact(_message(record), self._environ), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text, self._environ)
        if record.stack_info:
            record.stack_info = redact(record.stack_info, self._environ)
        if fields := getattr(record, _FIELDS, None):
            setattr(record, _FIELDS, _shown(fields, self._environ))
        return True


class Lines(logging.Formatter):
    """One JSON object a line: when, how bad, who, what, and the fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line, without its end."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": _LEVELS.get(record.levelno, record.levelname.lower()),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in getattr(record, _FIELDS, {}).items():
            line.setdefault(name, value)
        if record.exc_text or record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info or (None, None, None))
        return json.dumps(line, ensure_ascii=False, default=str)


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        # A record with the wrong arguments must not take the call down that made it.
        return f"{record.msg} {record.args}"


def _shown(value: Any, environ: Mapping[str, str], name: str = "", depth: int = _DEEPEST) -> Any:
    """Give a field's value as it may be logged."""
    if name in _UNSAID:
        return f"{len(value):,} characters" if isinstance(value, str) else HIDDEN
    if isinstance(value, bool | int | float | None):
        return value
    if is_secret_name(name) and isinstance(value, str):
        return HIDDEN
    if isinstance(value, Mapping) and depth:
        return {redact(str(key), environ): _shown(each, environ, str(key), depth - 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_shown(each, environ, "", depth - 1) for each in value]
    return redact(str(value), environ)
