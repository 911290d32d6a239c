"""The synchronous phase of the lean engine: lists, searches and errors, without an event loop or a thread."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from toolmason_runtime.audit import events
from toolmason_runtime.calls.dispatcher import KnownClient
from toolmason_runtime.shared.errors import INTERNAL_ERROR, MethodError
from toolmason_runtime.transports.messages import CHUNK_BYTES, LineBuffer, MalformedError, Wire, decode
from toolmason_runtime.transports.shutdown import Shutdown, leave
from toolmason_runtime.transports.stdio.descriptors import write_all
from toolmason_runtime.transports.stdio.encoding import encode, encode_error, encode_result

if TYPE_CHECKING:
    from toolmason_runtime.calls.dispatcher import DispatcherProtocol
    from toolmason_runtime.transports.stdio.idle_time import IdleTime
    from toolmason_runtime.transports.stdio.session import Session

_METHODS: Final = frozenset({"tools/list", "tools/call", "prompts/list", "resources/list", "resources/templates/list"})
"""The methods that may be answered without the context of the request."""
_AUDITED: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The methods with a line in the audit log for each request."""
_log = logging.getLogger(__package__)


class NeedsLoopError(BaseException):
    """A handler has to run. Not an `Exception`, so that it is not converted to the error of a tool."""


class SyncPhase:
    """Answers the messages of a client one by one, until a handler has to run.

    No handler runs, so a signal ends the process between two responses.
    """

    def __init__(
        self,
        dispatcher: DispatcherProtocol,
        session: Session,
        source: int,
        sink: int,
        idle_time: IdleTime,
    ) -> None:
        self._dispatcher = dispatcher
        self._session = session
        self._source = source
        self._sink = sink
        self._idle_time = idle_time
        self._writing = threading.Lock()
        self.buffer = LineBuffer()
        """The beginning of the next line."""

    def serve(self, shutdown: Shutdown, unread: bytes = b"") -> list[bytes] | None:
        """Answer until a handler has to run, and return the lines from that request on.

        Return None at the end of the input, or if the client has closed the output. `unread` was read before.
        """
        shutdown.serve(self._leave)
        self._dispatcher.before_handler = _need_loop
        try:
            if rest := self._answer_all(self.buffer.feed(unread)):
                return rest
            while chunk := self._read():
                if rest := self._answer_all(self.buffer.feed(chunk)):
                    return rest
            return self._answer_all(self.buffer.feed(b"\n")) or None
        except OSError:
            return None
        finally:
            self._dispatcher.before_handler = None

    def _read(self) -> bytes:
        """Return the next bytes of input; empty at its end."""
        self._idle_time.wait_for_input(self._source)
        return os.read(self._source, CHUNK_BYTES)

    def _leave(self) -> None:
        with self._writing:
            leave()

    def _answer_all(self, lines: Iterable[bytes]) -> list[bytes]:
        """Answer lines; return those from the first one that needs an event loop."""
        rest = list(lines)
        while rest:
            try:
                response = self._response(rest[0])
            except NeedsLoopError:
                return rest
            del rest[0]
            if response is not None:
                self._write(response)
        return []

    def _write(self, response: bytes) -> None:
        with self._writing:
            if not write_all(self._sink, response):
                raise BrokenPipeError

    def _response(self, line: bytes) -> bytes | None:
        """Return the response to one line.

        Raises:
            NeedsLoopError: it needs an event loop.
        """
        try:
            message = decode(line)
        except MalformedError as malformed:
            _log.warning("ignored invalid input line: %s", malformed)
            return encode(malformed.answer) if malformed.answer else None
        if "method" in message and "id" in message:
            return self._answer(message)
        if message.get("method") == "notifications/initialized":
            self._session.is_ready = True
        return None

    def _answer(self, message: Wire) -> bytes:
        identity, method, params = message["id"], message["method"], message.get("params") or {}
        if method in _AUDITED and events.active() is not None:
            raise NeedsLoopError  # the audit log needs the context of the request, also of a refused one
        try:
            self._session.check(method, message.get("params"))
            result = self._session.answer(method, params)
            if result is None:
                result = self._session.complete(method, self._dispatched(method, params))
            return encode_result(identity, result)
        except MethodError as error:
            return encode_error(identity, self._session.convert(error))
        except Exception:  # noqa: BLE001  its text is not for the client
            _log.exception("%s failed", method)
            return encode_error(identity, MethodError(INTERNAL_ERROR, "Internal server error"))

    def _dispatched(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if (
            method not in _METHODS
            or "requestState" in params
            or self._session.client_capabilities(params).get("extensions")
        ):
            raise NeedsLoopError
        client = KnownClient(self._session.client_name(params))
        work = self._dispatcher.dispatch(method, params, client)  # type: ignore[arg-type]  # no handler runs
        try:
            work.send(None)
        except StopIteration as done:
            result: dict[str, Any] = done.value
            return result
        work.close()
        raise NeedsLoopError


def _need_loop() -> None:
    raise NeedsLoopError
