"""What the server logs of its work: one JSON object a line on stderr, without secrets and without prompts.

The level is the one the command line chose for the whole server. Records of other packages are freed of secrets as
well, since an exception's text may hold anything.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO

from toolmason_runtime import FIELDS, LogLines

from workbench_handlers.model_backends.redaction import HIDDEN, is_secret_name, redact

NAME: Final = "workbench"
"""The logger of the server's own code, with all below it."""

_UNSAID: Final = {"prompt", "question", "answer", "stdin"}
"""Fields whose length is logged in place of their text."""
_MAX_DEPTH: Final = 6


def install(environ: Mapping[str, str] | None = None, *, stream: TextIO | None = None) -> None:
    """Log to stderr in the way of this module. A second time changes nothing but the stream."""
    redacting = Redacting(os.environ if environ is None else environ)
    handler = logging.StreamHandler(sys.stderr if stream is None else stream)
    handler.set_name(NAME)
    handler.setFormatter(LogLines())
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
        logger.log(level, "%s", message, extra={FIELDS: fields}, stacklevel=2)


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
        if fields := getattr(record, FIELDS, None):
            setattr(record, FIELDS, _shown(fields, self._environ))
        return True


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):
        # A record with the wrong arguments must not take the call down that made it.
        return f"{record.msg} {record.args}"


def _shown(value: Any, environ: Mapping[str, str], name: str = "", depth: int = _MAX_DEPTH) -> Any:
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
