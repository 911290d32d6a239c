"""The lean engine's implementation of `Context`: one request of a client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolmason_runtime.calls.request_context import malformed_answer, refused_by_client
from toolmason_runtime.transports.session_context import SessionContext
from toolmason_runtime.transports.stdio.client_requests import ClientRequests, RefusedError
from toolmason_runtime.wire.answers import is_answer_to

if TYPE_CHECKING:
    from toolmason_runtime.transports.stdio.calls import Call
    from toolmason_runtime.transports.stdio.session import Session


class LeanContext(SessionContext):
    """One request. Notifications are dropped after its end, and if the client reads too slowly."""

    is_local = True

    def __init__(self, call: Call, params: Mapping[str, Any], session: Session, requests: ClientRequests) -> None:
        super().__init__(params, session, session.level, is_modern=bool(session.is_modern))
        self._call = call
        self._requests = requests

    @property
    def origin(self) -> Mapping[str, Any]:
        """The transport, the client's version and the request's id, for the audit log."""
        version = self._session.client_version(self._params)
        return {"transport": "stdio", "client_version": version, "request": self._call.identity}

    async def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        if self._call.is_open:
            self._requests.notify(method, params, may_drop=True)
        # A handler that only sends notifications must not block the event loop.
        await asyncio.sleep(0)

    async def _send_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = await self._requests.send(method, params)
        except RefusedError as error:
            raise refused_by_client(method, str(error)) from error
        if not is_answer_to(method, answer):
            raise malformed_answer(method)
        return answer
