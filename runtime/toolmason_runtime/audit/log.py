"""An open audit log: adds the identity of the process to each event, and writes it."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Protocol

from toolmason_runtime.audit.errors import AuditError
from toolmason_runtime.audit.lines import encode_fields, timestamp
from toolmason_runtime.audit.log_file import LogFile, load_key
from toolmason_runtime.shared.errors import ToolError

UNAVAILABLE: Final = "AUDIT_UNAVAILABLE"
"""Code of the error for a call while the log cannot be written."""
DIGEST_CHARS: Final = 32
MAX_HTTP_REFUSALS: Final = 600
"""Maximum lines a minute for HTTP requests that were refused: strangers must not push calls out of the log."""
_MINUTE_S: Final = 60.0
_STOP_S: Final = 0.5
"""Seconds that the line of a stop may wait for another thread."""
_log = logging.getLogger(__name__)


class Output(Protocol):
    """The destination of a log."""

    def append(self, line: bytes) -> None:
        """Write one line, or raise OSError."""
        ...

    def close(self) -> None:
        """Close the destination."""
        ...


class AuditLog:
    """Writes events to `output`. It may be used by several threads.

    Args:
        output: the destination.
        key: key of the digests.
        identity: fields of every line: `server` and `version`.
        path: path of the file; empty for another destination.
    """

    def __init__(self, output: Output, key: bytes, identity: Mapping[str, Any], *, path: str = "") -> None:
        self._output = output
        self._key = key
        self._identity = encode_fields({**identity, "pid": os.getpid(), "instance": token_hex(4)})
        self._lock = threading.Lock()
        self._number = 0
        self._lost = 0
        self._reported_at = 0.0
        self._reason = ""
        self._refusals = _Budget()
        self.path = path
        self.running = 0
        """Number of calls without a line yet."""

    def digest(self, data: bytes) -> str:
        """Return the keyed digest (HMAC-SHA-256, 128 bits) of some bytes."""
        return hmac.digest(self._key, data, hashlib.sha256).hex()[:DIGEST_CHARS]

    def is_available(self) -> bool:
        """Return whether lines can be written; after a failure, try to write the number of lost lines."""
        if self._lost:
            with self._lock:
                if self._lost:
                    self._write_gap()
        return not self._lost

    def check(self) -> None:
        """Refuse a call while lines cannot be written: it would leave no trace.

        Raises:
            ToolError: the log is not available.
        """
        if not self.is_available():
            message = (
                "Not run: the audit log of this server cannot be written, and calls without a record are refused. "
                "Ask the user to look at the server's log; do not retry"
            )
            raise ToolError(message, code=UNAVAILABLE)

    def require_available(self) -> None:
        """Raise AuditError if the last line was not written."""
        if self._lost:
            raise AuditError(f"the audit log `{self.path}` cannot be written: {self._reason}")

    def write(self, event: str, fields: Mapping[str, Any]) -> None:
        """Write an event. A failure is logged to stderr, and `check` refuses calls until a line can be written."""
        with self._lock:
            self._write(event, fields)

    def refuse_request(self, fields: Mapping[str, Any]) -> None:
        """Write the refusal of an HTTP request, up to `MAX_HTTP_REFUSALS` a minute; the next line has their number."""
        with self._lock:
            is_shown, suppressed = self._refusals.take()
            if is_shown:
                self._write("refusal", {**fields, "suppressed": suppressed or None})

    def stop(self) -> None:
        """Write that the process ends."""
        if self._lock.acquire(timeout=_STOP_S):
            try:
                self._write("stop", {"running": self.running or None, "suppressed": self._refusals.suppressed or None})
            finally:
                self._lock.release()
        self._output.close()

    def _write(self, event: str, fields: Mapping[str, Any]) -> None:
        self._number += 1
        line = self._line(event, fields, self._number)
        if self._lost:
            self._write_gap()
        if self._lost:
            self._lost += 1
            return
        try:
            self._output.append(line)
        except (OSError, AuditError) as error:
            self._fail(error)

    def _write_gap(self) -> None:
        """Write the number of lost lines; if that succeeds, none is missing silently."""
        try:
            self._output.append(self._line("gap", {"lost": self._lost}, None))
        except (OSError, AuditError) as error:
            self._report(error)
        else:
            _log.warning("the audit log can be written again; %d lines are missing", self._lost)
            self._lost = 0

    def _fail(self, error: Exception) -> None:
        self._lost += 1
        self._report(error)

    def _report(self, error: Exception) -> None:
        self._reason = getattr(error, "strerror", None) or str(error)
        if not self._reported_at or time.monotonic() - self._reported_at > _MINUTE_S:
            self._reported_at = time.monotonic()
            _log.error("the audit log cannot be written, so calls are refused: %s", self._reason)

    def _line(self, event: str, fields: Mapping[str, Any], number: int | None) -> bytes:
        head = encode_fields({"time": timestamp(), "event": event})
        rest = encode_fields({"seq": number, **fields})
        return f"{{{head},{self._identity}{',' if rest else ''}{rest}}}\n".encode("ascii")


class _Budget:
    """Counts the lines of one minute."""

    def __init__(self) -> None:
        self._since = 0.0
        self._count = 0
        self.suppressed = 0

    def take(self) -> tuple[bool, int]:
        """Return whether one more line may be written, and the number of those that were not."""
        now = time.monotonic()
        if now - self._since >= _MINUTE_S:
            self._since, self._count = now, 0
        self._count += 1
        if self._count > MAX_HTTP_REFUSALS:
            self.suppressed += 1
            return False, 0
        suppressed, self.suppressed = self.suppressed, 0
        return True, suppressed


_others: dict[str, AuditLog] = {}
_others_lock = threading.Lock()


def record_to(path: str, event: str, fields: Mapping[str, Any]) -> None:
    """Write an event to the log that another process has opened at `path`; a failure is logged to stderr."""
    from toolmason_runtime.audit.settings import DEFAULT_KEEP, MAX_MB, MB

    with _others_lock:
        log = _others.get(path)
        if log is None:
            file = Path(path)
            if not file.is_absolute():
                return
            try:
                # The server that began the work has created both files and rotates them.
                key = load_key(file, may_create=False)
                output = LogFile(file, max_bytes=MAX_MB * MB, keep=DEFAULT_KEEP)
            except AuditError as error:
                _log.error("%s", error)
                return
            log = _others[path] = AuditLog(output, key, {"command": Path(sys.argv[0]).name}, path=path)
    log.write(event, fields)
