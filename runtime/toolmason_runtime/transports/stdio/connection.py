"""The connection to a client: answers requests that need no handler, and passes on all other messages."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolmason_runtime.audit import events
from toolmason_runtime.shared.errors import MethodError
from toolmason_runtime.transports.messages import MalformedError, Wire
from toolmason_runtime.transports.stdio.calls import Call, Calls
from toolmason_runtime.transports.stdio.client_requests import ClientRequests
from toolmason_runtime.transports.stdio.context import LeanContext
from toolmason_runtime.transports.stdio.encoding import encode, encode_error, encode_result
from toolmason_runtime.transports.stdio.request_state import RequestStates
from toolmason_runtime.transports.stdio.subscriptions import LISTEN, SUBSCRIBE, Subscriptions

if TYPE_CHECKING:
    from toolmason_runtime.calls.dispatcher import DispatcherProtocol
    from toolmason_runtime.transports.stdio.input import Received
    from toolmason_runtime.transports.stdio.output import Output
    from toolmason_runtime.transports.stdio.session import Session

_log = logging.getLogger(__package__)


class Connection:
    """Answers the messages of one client. All methods are called in the event loop.

    Responses, cancellations and pings are handled at once, even if the client does not read and calls have to wait.
    """

    def __init__(self, dispatcher: DispatcherProtocol, session: Session, output: Output) -> None:
        self._dispatcher = dispatcher
        self._session = session
        self._output = output
        self._states = RequestStates()
        self._requests = ClientRequests(output)
        self._subscriptions = Subscriptions(dispatcher, self._requests)
        self._calls = Calls(output, self._run, on_refused=self._on_refused)
        output.on_room.append(self._calls.start_next)
        self.received = 0
        """Number of messages."""
        self.has_called = False
        """Whether the client has called a tool."""

    def receive(self, received: Received) -> None:
        """Handle one message, or the error for an invalid line."""
        self.received += 1
        message, size = received
        if isinstance(message, MalformedError):
            self._malformed(message)
        elif "method" not in message:
            self._requests.resolve(message)
        elif "id" in message:
            self._request(message, size)
        else:
            self._notification(message["method"], message.get("params") or {})

    def is_busy(self) -> bool:
        """Return whether a response is missing; those of subscriptions come at their end."""
        return self._calls.are_running()

    async def close(self) -> None:
        """Cancel all calls, and wait for their end."""
        await self._calls.close()

    def _on_refused(self, call: Call) -> None:
        self._record_refusal(call.identity, call.method, call.params, "TOO_MANY_REQUESTS")

    def _malformed(self, malformed: MalformedError) -> None:
        _log.warning("ignored invalid input line: %s", malformed)
        if malformed.answer is not None:
            self._output.write(encode(malformed.answer))
        if malformed.response_error is not None:
            self._requests.resolve(malformed.response_error)

    def _request(self, message: Wire, size: int) -> None:
        identity, method, params = message["id"], message["method"], message.get("params")
        try:
            self._session.check(method, params)
            result = self._session.answer(method, params or {})
        except MethodError as error:
            self._record_refusal(identity, method, params or {}, "INVALID_REQUEST")
            self._output.write(encode_error(identity, error))
            return
        if result is None:
            self.has_called = self.has_called or method == "tools/call"
            self._calls.add(Call(identity, method, params or {}, size, is_stream=method == LISTEN))
        else:
            self._output.write(encode_result(identity, result))

    def _notification(self, method: str, params: dict[str, Any]) -> None:
        match method, params:
            case "notifications/cancelled", {"requestId": int() | str() as identity} if identity is not True:
                self._calls.cancel(identity)
            case "notifications/initialized", _:
                self._session.is_ready = True

    def _unsealed(self, call: Call) -> Mapping[str, Any]:
        """Return the parameters with the verified answers of earlier rounds.

        Raises:
            MethodError: the answers belong to another call, were changed, or are too old.
        """
        try:
            return self._states.unseal(call.method, call.params)
        except MethodError:
            self._record_refusal(call.identity, call.method, call.params, "REQUEST_STATE")
            raise

    def _record_refusal(self, identity: Any, method: str, params: Mapping[str, Any], rule: str) -> None:
        if events.active() is None:
            return
        from toolmason_runtime.audit.protocol_refusals import record_refusal

        about = {"transport": "stdio", "client_version": self._session.client_version(params), "request": identity}
        record_refusal(method, params, rule, origin=about, client=self._session.client_name(params))

    async def _run(self, call: Call) -> dict[str, Any]:
        """Return the result of a call.

        Raises:
            MethodError: the request is invalid.
        """
        method = call.method
        try:
            params = self._unsealed(call)
            context = LeanContext(call, params, self._session, self._requests)
            if method == LISTEN:
                return self._session.complete(method, await self._subscriptions.listen(call, context))
            result = await self._dispatcher.dispatch(method, params, context)
        except MethodError as error:
            raise self._session.convert(error) from error
        if method in SUBSCRIBE:
            self._subscriptions.update(method, params["uri"])
        if result.get("resultType") == "input_required":
            sealed = self._states.seal(method, params, context.responses_so_far())
            result = {**result, "requestState": sealed}
        return self._session.complete(method, result)
