"""The stored state of one task, and its forms on the wire: `CreateTaskResult` and `DetailedTask` of SEP-2663."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from toolmason_runtime.tasks.limits import RESULT_S, TTL_S, poll_interval_ms

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]
TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
INTERRUPTED: Final = "The server process that ran this task has ended, and its result is lost: repeat the call"


@dataclass(slots=True, kw_only=True)
class Record:
    """One task. `params` are those of its `tools/call`, without `_meta`."""

    id: str
    owner: str
    """The owner: the transport, and the identity of the owner of the access token."""
    params: dict[str, Any]
    capabilities: dict[str, Any]
    client_name: str
    created: float
    updated: float
    expires: float
    process: str = ""
    """Identity of the process that runs it; empty if none does."""
    status: Status = "working"
    message: str = ""
    is_cancelling: bool = False
    """Whether the process that runs it must end it."""
    answers: dict[str, Any] = field(default_factory=dict)
    """The client's answers, by the key that the handler gave its question."""
    asked: dict[str, str] = field(default_factory=dict)
    """The handler's keys of all questions so far, by their key on the wire."""
    requests: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Unanswered questions, by their key on the wire."""
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether the task has ended."""
        return self.status in TERMINAL

    def ask(self, requests: Mapping[str, dict[str, Any]]) -> None:
        """Wait for answers to `requests`. A key on the wire is never used twice (SEP-2663)."""
        self._set("input_required", "Waiting for input")
        self.process = ""
        self.requests = {}
        for key, request in requests.items():
            wire_key = key if key not in self.asked else f"{key}#{len(self.asked) + 1}"
            self.asked[wire_key] = key
            self.requests[wire_key] = request
        self._keep()

    def answer(self, responses: Mapping[str, Any], process: str) -> None:
        """Add answers to unanswered questions; `process` continues the work after the last one."""
        for key, response in responses.items():
            del self.requests[key]
            self.answers[self.asked[key]] = response
        if self.requests:
            self._set("input_required", self.message)
        else:
            self.process = process
            self._set("working", "")

    def report(self, message: str) -> None:
        """Set the message of a running task."""
        self._set(self.status, message)

    def complete(self, result: Mapping[str, Any]) -> None:
        """End the task with the result of its call, which may be an error for the model."""
        self._end("completed", "")
        self.result = {"resultType": "complete", **result}

    def fail(self, code: int, message: str, data: Any = None) -> None:
        """End the task with a JSON-RPC error."""
        self._end("failed", message)
        self.error = {"code": code, "message": message, **({} if data is None else {"data": data})}

    def cancel(self) -> None:
        """End the task without a result."""
        self._end("cancelled", "Cancelled by the client")

    def _end(self, status: Status, message: str) -> None:
        self._set(status, message)
        self.process = ""
        self.requests = {}
        # The arguments and answers are no longer needed.
        self.params = {}
        self.answers = {}
        self._keep()

    def _set(self, status: Status, message: str) -> None:
        self.status = status
        self.message = message
        self.updated = time.time()

    def _keep(self) -> None:
        self.expires = max(self.expires, self.updated + RESULT_S)

    def created_wire(self) -> dict[str, Any]:
        """Return the `CreateTaskResult`."""
        message = {"statusMessage": self.message} if self.message else {}
        return {
            "resultType": "task",
            "taskId": self.id,
            "status": self.status,
            **message,
            "createdAt": _iso(self.created),
            "lastUpdatedAt": _iso(self.updated),
            "ttlMs": round((self.expires - self.created) * 1000),
            "pollIntervalMs": poll_interval_ms(time.time() - self.created),
        }

    def wire(self) -> dict[str, Any]:
        """Return the `DetailedTask`."""
        task = {**self.created_wire(), "resultType": "complete"}
        if self.status == "input_required":
            task["inputRequests"] = self.requests
        if self.result is not None:
            task["result"] = self.result
        if self.error is not None:
            task["error"] = self.error
        return task


def new_record(
    params: Mapping[str, Any], *, owner: str, capabilities: Mapping[str, Any], client_name: str, process: str
) -> Record:
    """Return the record of a task that `process` runs."""
    now = time.time()
    return Record(
        id=f"task_{secrets.token_hex(16)}",
        owner=owner,
        params={name: value for name, value in params.items() if name in {"name", "arguments"}},
        capabilities=dict(capabilities),
        client_name=client_name,
        created=now,
        updated=now,
        expires=now + TTL_S,
        process=process,
    )


def encode(record: Record) -> bytes:
    """Return a record as JSON. A nonce makes every version different."""
    members = {name: getattr(record, name) for name in Record.__dataclass_fields__}
    return json.dumps({**members, "nonce": secrets.token_hex(8)}).encode()


def decode(body: bytes) -> Record:
    """Return a record from its JSON.

    Raises:
        ValueError: another version of the server has written it.
    """
    members = json.loads(body)
    try:
        return Record(**{name: value for name, value in members.items() if name != "nonce"})
    except (AttributeError, TypeError) as error:
        raise ValueError(str(error)) from None


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
