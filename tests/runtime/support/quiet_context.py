"""A client that listens to nothing and answers nothing, for what needs no carrier."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from toolmason_runtime import MethodError
from toolmason_runtime.calls.call import InputRequired


class QuietContext:
    """One request of a client without capabilities; `answers` are what it has answered already, by key."""

    operation_id = "1"
    is_local = True
    principal = None
    client_name = "toolmason"
    is_modern = False
    answered = ()
    has_progress_token = False

    def __init__(self, answers: Mapping[str, dict[str, Any]] | None = None) -> None:
        self.capabilities: Mapping[str, Any] = {}
        self._answers = dict(answers or {})
        self.progressed = asyncio.Event()

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG002  it only counts
        self.progressed.set()

    async def log(self, level: str, data: Any, logger: str | None) -> None:
        pass

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "sampling/createMessage":
            raise MethodError(-32021, "no sampling")
        if key not in self._answers:
            raise InputRequired({key: {"method": method, "params": dict(params)}})
        return self._answers[key]
