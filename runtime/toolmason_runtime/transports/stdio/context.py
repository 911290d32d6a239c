"""The lean engine's implementation of `Context`: one request of a client."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolmason_runtime.calls.request_context import RequestContext, malformed_answer, refused_by_client
from toolmason_runtime.transports.stdio.client_requests import ClientRequests, RefusedError
from toolmason_runtime.wire.answers import is_answer_to
from toolmason_runtime.wire.requests import progress_token

if TYPE_CHECKING:
    from toolmason_runtime.calls.call import Level
    from toolmason_runtime.transports.stdio.calls import Call
    from toolmason_runtime.transports.stdio.session import Session


class LeanContext(RequestContext):
    """One request. Notifications are dropped after its end, and if the client reads too slowly."""

    def __init__(self, call: Call, params: Mapping[str, Any], session: Session, requests: ClientRequests) -> None:
        super().__init__(params, session.level, is_modern=bool(session.is_modern))
        self._call = call
        self._session = session
        self._requests = requests
        self.is_local = True
        self._token = progress_token(params)
        self.has_progress_token = self._token is not None

    @cached_property
    def capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities, as sent."""
        return self._session.client_capabilities(self._params)

    @property
    def client_name(self) -> str:
        """The name in `clientInfo`."""
        return self._session.client_name(self._params)

    @property
    def origin(self) -> Mapping[str, Any]:
        """The transport, the client's version and the request's id, for the audit log."""
        version = self._session.client_version(self._params)
        return {"transport": "stdio", "client_version": version, "request": self._call.identity}

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Send progress if the request has a token."""
        if self._token is None:
            return
        optional = {"total": total, "message": message}
        params = {"progressToken": self._token, "progress": progress}
        await self._notify("notifications/progress", params | _present(optional))

    async def _send_log(self, level: Level, data: Any, logger: str | None) -> None:
        await self._notify("notifications/message", {"level": level, "data": data} | _present({"logger": logger}))

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


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
