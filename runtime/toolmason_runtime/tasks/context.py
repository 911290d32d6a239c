"""The context of a call that may become a task: it outlives the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolmason_runtime.calls.request_context import RequestContext

if TYPE_CHECKING:
    from toolmason_runtime.calls.call import Context, Level


class TaskContext(RequestContext):
    """The context of a call, from its request, and of its task after that.

    A handler runs again from its start after each answer of the user (2026-07-28). So no process keeps anything for a
    task that waits for a person.

    Args:
        outer: the request that started or continued the call.
        capabilities: those of the client.
        client_name: the client's `clientInfo.name`.
        answers: JSON of the client's answers so far, by the handler's keys.
        on_progress: receives the progress messages of a task.
    """

    has_progress_token = True
    may_be_task = True
    """Whether a tool that needs a task may run."""

    def __init__(
        self,
        outer: Context,
        *,
        capabilities: Mapping[str, Any],
        client_name: str,
        answers: str,
        on_progress: Callable[[str], None],
    ) -> None:
        super().__init__({"requestState": answers}, "info", is_modern=True)
        self._outer: Context | None = outer
        self._declared = capabilities
        self._on_progress = on_progress
        self._origin: Mapping[str, Any] = getattr(outer, "origin", {})
        self.client_name = client_name
        self.is_local = outer.is_local
        self.principal = outer.principal
        self.operation_id = outer.operation_id
        self.call_timeout_s: float | None = getattr(outer, "call_timeout_s", None)
        """Maximum seconds of the call; None for no limit."""

    @property
    def is_task(self) -> bool:
        """Whether the call has become a task, so that no request waits for its result."""
        return self._outer is None

    def detach(self) -> None:
        """Separate the call from its request: it becomes a task, and sends no more notifications of the request."""
        self._outer = None

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities, as sent."""
        return self._declared

    @property
    def origin(self) -> Mapping[str, Any]:
        """See `RequestContext`."""
        return self._origin

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Send progress of a request, or set the status message of a task."""
        if self._outer is not None:
            await self._outer.progress(progress, total, message)
        if message or total:
            self._on_progress(message or f"{progress:g} of {total:g}")

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send a log message of a request; a task has none (SEP-2663)."""
        await self._send_log(level, data, logger)

    async def _send_log(self, level: Level, data: Any, logger: str | None) -> None:
        if self._outer is not None:
            await self._outer.log(level, data, logger)

    async def _send_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        raise AssertionError(method, params)  # a request of 2026-07-28 carries its answers
