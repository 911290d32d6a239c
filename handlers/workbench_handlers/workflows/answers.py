"""Recent answers of the model to `generate_feature_workflow`, so that a repeated call costs nothing.

A call is repeated after the user's approval in the current revision of MCP, after a refusal, and with another path.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

MAX_ANSWERS: Final = 100
"""Maximum number of stored answers; the oldest is removed."""


@dataclass(slots=True)
class RecentAnswers:
    """Answers by question, for CONTEXT_CACHE_TTL_MINUTES. `clock` returns seconds."""

    clock: Callable[[], float] = time.monotonic
    _answers: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)

    def get(self, question: str) -> dict[str, Any] | None:
        """Return the answer to a question, None if there is none or it is too old."""
        from workbench_handlers.workflows.settings import ttl_minutes

        stored_at, answer = self._answers.get(question, (0.0, None))
        return answer if answer is not None and self.clock() - stored_at < ttl_minutes() * 60 else None

    def store(self, question: str, answer: dict[str, Any]) -> None:
        """Store an answer."""
        self._answers.pop(question, None)
        self._answers[question] = (self.clock(), answer)
        if len(self._answers) > MAX_ANSWERS:
            del self._answers[next(iter(self._answers))]
