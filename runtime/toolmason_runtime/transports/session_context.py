"""The part of `Context` that the lean engines of both transports share: what the session knows, and notifications."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolmason_runtime.calls.request_context import RequestContext
from toolmason_runtime.wire.requests import progress_token

if TYPE_CHECKING:
    from toolmason_runtime.calls.call import Level
    from toolmason_runtime.transports.stdio.session import Session


class SessionContext(RequestContext):
    """One request of a client in `session`. `level` is the log level of the connection."""

    def __init__(self, params: Mapping[str, Any] | None, session: Session, level: Level, *, is_modern: bool) -> None:
        super().__init__(params, level, is_modern=is_modern)
        self._session = session
        self._token = progress_token(params)
        self.has_progress_token = self._token is not None

    @cached_property
    def capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities, as sent."""
        return self._session.client_capabilities(self._params)

    @property
    def client_name(self) -> str:
        """The name in `clientInfo`: of the handshake, or of this request (2026-07-28)."""
        return self._session.client_name(self._params)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Send progress if the request has a token."""
        if self._token is None:
            return
        optional = {"total": total, "message": message}
        params = {"progressToken": self._token, "progress": progress}
        await self._notify("notifications/progress", params | _present(optional))

    async def _send_log(self, level: Level, data: Any, logger: str | None) -> None:
        await self._notify("notifications/message", {"level": level, "data": data} | _present({"logger": logger}))

    @abstractmethod
    async def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification about the request."""


def _present(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
