"""The context of a call by a program that embeds the server, without a transport."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from toolmason_runtime.calls.call import Level
from toolmason_runtime.calls.request_context import RequestContext, malformed_answer
from toolmason_runtime.shared.client_profiles import TOOLMASON

Answer = Mapping[str, Any] | bool | None
"""The answers by name, or True to agree; False or None to decline."""
OnQuestion = Callable[[str, Mapping[str, Any]], Answer | Awaitable[Answer]]
"""Answers a question to a person: its text and the schema of the answers."""
OnProgress = Callable[[float, float | None, str], object]
"""Called with the progress, its total and a message."""


class InProcessContext(RequestContext):
    """One call. Questions and progress go to functions of the caller; without them, nobody can answer."""

    client_name = TOOLMASON
    is_local = True
    may_be_task = True
    """Tools that need a task run as well: the caller has no timeout."""

    def __init__(
        self, params: Mapping[str, Any], *, on_question: OnQuestion | None = None, on_progress: OnProgress | None = None
    ) -> None:
        super().__init__(params, "error", is_modern=False)
        self._on_question = on_question
        self._on_progress = on_progress

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Elicitation, if there is somebody to ask."""
        return {} if self._on_question is None else {"elicitation": {"form": {}}}

    @property
    def has_progress_token(self) -> bool:
        """Whether somebody receives progress."""
        return self._on_progress is not None

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress."""
        if self._on_progress is not None:
            told = self._on_progress(progress, total, message or "")
            if inspect.isawaitable(told):
                await told

    async def _send_log(self, level: Level, data: Any, logger: str | None) -> None:
        """Drop the message: the server logs it."""

    async def _send_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method != "elicitation/create" or self._on_question is None:
            raise malformed_answer(method)
        answer = self._on_question(str(params.get("message", "")), params.get("requestedSchema") or {})
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is None or answer is False:
            return {"action": "decline"}
        return {"action": "accept", "content": {} if answer is True else dict(answer)}
