"""The part of `Context` that does not depend on the engine: log levels, capabilities, answers carried by a client."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast, get_args
from uuid import uuid4

from toolmason_runtime.calls.call import InputRequired, Level, can_elicit
from toolmason_runtime.shared.errors import MethodError, ToolError
from toolmason_runtime.wire.answers import is_answer_to
from toolmason_runtime.wire.requests import LOG_LEVEL, TASKS, meta_of

if TYPE_CHECKING:
    from toolmason_runtime.calls.principal import Principal

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
MISSING_CAPABILITY: Final = -32021
"""Code of the error for a client that has not declared a required capability (2026-07-28)."""


class RequestContext(ABC):
    """One request of a client. `level` is the log level of the connection (2025-11-25 and earlier)."""

    principal: Principal | None = None
    """The owner of the access token; None without one."""

    def __init__(self, params: Mapping[str, Any] | None, level: Level, *, is_modern: bool) -> None:
        self._params = params or {}
        self._level = level
        self.is_modern = is_modern

    @cached_property
    def operation_id(self) -> str:
        """Identity of this request within the process."""
        return uuid4().hex

    @property
    @abstractmethod
    def capabilities(self) -> Mapping[str, Any]:
        """The client's capabilities, as sent."""

    @property
    def origin(self) -> Mapping[str, Any]:
        """The transport, the client's version and address, the session and the request's id, for the audit log."""
        return {}

    async def log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send a log message if its level is at least that of the request, or of the connection (2025-11-25)."""
        min_level = meta_of(self._params).get(LOG_LEVEL) if self.is_modern else self._level
        if min_level in LEVELS and LEVELS.index(level) >= LEVELS.index(min_level):
            await self._send_log(level, data, logger)

    async def request(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to the client and return its response.

        Raises:
            InputRequired: the client must respond before the handler can continue (2026-07-28).
            MethodError: it has not declared the capability (2026-07-28).
            ToolError: it has not declared the capability, or responded with an error (2025-11-25 and earlier).
        """
        missing = _missing_capability(method, params, self.capabilities)
        if self.is_modern:
            if missing:
                data = {"requiredCapabilities": missing}
                reason = f"This tool needs the client capability {_capability_name(missing)}"
                raise MethodError(MISSING_CAPABILITY, reason, data)
            return self._carried_response(key, method, params)
        if missing:
            raise ToolError(f"This tool needs a client with {_capability_name(missing)}", code="CAPABILITY_MISSING")
        return await self._send_request(method, params)

    @property
    def answered(self) -> Collection[str]:
        """Keys of the responses of this call."""
        return self._responses.keys()

    def responses_so_far(self) -> str:
        """Return all responses of this call as JSON for `requestState`: the client repeats only the latest itself."""
        return json.dumps(self._responses)

    @cached_property
    def _responses(self) -> dict[str, Any]:
        carried = self._params.get("requestState")  # unsealed by the engine, so the client cannot have changed it
        return {**(json.loads(carried) if carried else {}), **(self._params.get("inputResponses") or {})}

    def _carried_response(self, key: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        response = self._responses.get(key)
        if response is None or not is_answer_to(method, response):
            self._responses.pop(key, None)
            raise InputRequired({key: {"method": method, "params": dict(params)}})
        return cast("dict[str, Any]", response)

    @abstractmethod
    async def _send_log(self, level: Level, data: Any, logger: str | None) -> None:
        """Send a log message."""

    @abstractmethod
    async def _send_request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to the client and wait for its response (2025-11-25 and earlier).

        Raises:
            ToolError: the response is an error or malformed.
        """


def refused_by_client(method: str, reason: str) -> ToolError:
    """Return the error for an answer that is an error."""
    return ToolError(f"The client did not answer {method}: {reason}", code="CLIENT_REFUSED")


def malformed_answer(method: str) -> ToolError:
    """Return the error for an answer with another shape than MCP defines."""
    return ToolError(f"The client's answer to {method} is malformed", code="CLIENT_REFUSED")


def missing_tasks(subject: str) -> MethodError:
    """Return the error for a request without the extension for tasks, which `subject` needs."""
    data: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    return MethodError(MISSING_CAPABILITY, f"{subject} needs the client capability extensions.{TASKS}", data)


def _missing_capability(method: str, params: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the capabilities that `method` requires and the client has not declared."""
    if method == "elicitation/create":
        mode = params.get("mode", "form")
        return {} if can_elicit(declared, mode) else {"elicitation": {mode: {}}}
    if method == "sampling/createMessage":
        required: dict[str, Any] = {"tools": {}} if {"tools", "toolChoice"} & params.keys() else {}
        has_all = "sampling" in declared and required.keys() <= declared["sampling"].keys()
        return {} if has_all else {"sampling": required}
    return {} if "roots" in declared else {"roots": {}}


def _capability_name(missing: Mapping[str, Any]) -> str:
    return ", ".join(".".join([name, *parts]) for name, parts in missing.items())
