"""The server's log: one JSON object a line on stderr, without secrets and prompts.

The lifespan imports this module for the calls of all tools, so it imports `redaction` at the first record.

The server's options set the level. Records of other packages are redacted as well, since an exception's text may
contain a secret.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO

from toolmason_runtime import FIELDS, LogLines

LOGGERS: Final = ("workbench_handlers", "workbench_research")
"""The parents of the loggers of Workbench."""

_LENGTH_ONLY_FIELDS: Final = {"prompt", "question", "answer", "stdin"}
"""Fields that are logged as their length."""
_MAX_DEPTH: Final = 6


def install(environ: Mapping[str, str] | None = None, *, stream: TextIO | None = None) -> None:
    """Log to stderr as JSON lines. A second call only changes the stream."""
    redacting = RedactingFilter(os.environ if environ is None else environ)
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.set_name(LOGGERS[0])
    handler.setFormatter(LogLines())
    handler.addFilter(redacting)
    for own in map(logging.getLogger, LOGGERS):
        for previous in [previous for previous in own.handlers if previous.get_name() == handler.get_name()]:
            own.removeHandler(previous)
        own.addHandler(handler)
        own.propagate = False
    for other in logging.getLogger().handlers:
        if not any(isinstance(present, RedactingFilter) for present in other.filters):
            other.addFilter(redacting)


def record(logger: logging.Logger, level: int, message: str, /, **fields: Any) -> None:
    """Log a message with fields. Of a `prompt`, only the length is logged."""
    if logger.isEnabledFor(level):
        logger.log(level, "%s", message, extra={FIELDS: fields}, stacklevel=2)


class RedactingFilter(logging.Filter):
    """Removes secrets from the message, fields and exception of a record."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__()
        self._environ = environ

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record, and accept it."""
        from workbench_research.redaction import redact

        record.msg, record.args = redact(_message(record), self._environ), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text, self._environ)
        if record.stack_info:
            record.stack_info = redact(record.stack_info, self._environ)
        if fields := getattr(record, FIELDS, None):
            setattr(record, FIELDS, _loggable(fields, self._environ))
        return True


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        # A log call with wrong arguments must not fail.
        return f"{record.msg} {record.args}"


def _loggable(value: Any, environ: Mapping[str, str], name: str = "", depth: int = _MAX_DEPTH) -> Any:
    """Return a field's value as it may be logged."""
    from workbench_research.redaction import REDACTED, is_secret_name, redact

    if name in _LENGTH_ONLY_FIELDS:
        return f"{len(value):,} characters" if isinstance(value, str) else REDACTED
    if isinstance(value, bool | int | float | None):
        return value
    if is_secret_name(name) and isinstance(value, str):
        return REDACTED
    if isinstance(value, Mapping) and depth:
        return {redact(str(key), environ): _loggable(item, environ, str(key), depth - 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_loggable(item, environ, "", depth - 1) for item in value]
    return redact(str(value), environ)
