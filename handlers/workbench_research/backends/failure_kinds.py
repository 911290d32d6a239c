"""Failures of a question: their kinds with the remedies, and the error for the calling model."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_research.backends.error_text import without_stack
from workbench_research.redaction import excerpt, redact

MAX_EXCERPT_CHARS: Final = 2_000
"""Characters of the program's messages in the details of an error."""

NO_OUTPUT: Final = "no_output"
"""`AttemptError.error_type` of an attempt that reported success, but neither an answer nor a problem."""


class Kind(StrEnum):
    """The failure kinds in `details.kind`."""

    TRANSIENT = "transient"
    QUOTA = "quota"
    MODEL = "model"
    AUTH = "auth"
    INPUT = "input"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """A kind with its remedies: the same model may answer later (`is_retryable`), or another now (`try_next_model`)."""

    kind: Kind
    is_retryable: bool = False
    try_next_model: bool = False
    hint: str = ""


_CONTEXT_TOO_LONG: Final = FailureClass(
    kind=Kind.INPUT, hint="prompt and files may exceed the context window of the model: name fewer or smaller files"
)
_INPUT: Final = FailureClass(kind=Kind.INPUT)
_AUTH: Final = FailureClass(kind=Kind.AUTH)
_TRANSIENT: Final = FailureClass(kind=Kind.TRANSIENT, is_retryable=True)
_OVERLOADED: Final = FailureClass(kind=Kind.TRANSIENT, is_retryable=True, try_next_model=True)
_OTHER: Final = FailureClass(kind=Kind.OTHER)

_BY_STATUS: Final[Mapping[int, FailureClass]] = {
    **dict.fromkeys((400, 413, 422), _INPUT),
    **dict.fromkeys((401, 403), _AUTH),
    402: FailureClass(kind=Kind.QUOTA, try_next_model=True),
    404: FailureClass(kind=Kind.MODEL, try_next_model=True),
    **dict.fromkeys((408, 425, 500, 502, 504), _TRANSIENT),
    429: FailureClass(kind=Kind.QUOTA, is_retryable=True, try_next_model=True),
    **dict.fromkeys((503, 529), _OVERLOADED),
}

ERROR_CODES: Final = dict.fromkeys(Kind, "GEMINI_CLI_ERROR") | {
    Kind.QUOTA: "QUOTA_EXCEEDED",
    Kind.AUTH: "AUTH_MISSING",
}
_MESSAGES: Final = {
    Kind.QUOTA: "{api} quota exceeded for {models}: {wait}, or use another plan",
    Kind.AUTH: "{cli} cannot use this account: {hint}",
    Kind.MODEL: "{cli} cannot use {models}: set WORKBENCH_FLASH_MODELS or WORKBENCH_PRO_MODELS to models of this "
    "account{auto}",
    Kind.INPUT: "{cli} did not accept the request ({reason}): {hint}",
    Kind.TRANSIENT: "{cli} failed{times}, at last with {reason}: ask again later",
    Kind.OTHER: "{cli} failed: {hint}",
}
_SIGN_IN: Final = (
    "Gemini CLI authentication failed. Please run 'gemini' and select 'Login with Google', or set GEMINI_API_KEY "
    "if using API key authentication."
)
_MAX_REASON_CHARS: Final = 100


@dataclass(eq=False)
class AttemptError(Exception):
    """One attempt returned no answer.

    `status` is an HTTP status, `error_type` the name of the error in the API or the program, such as
    `RESOURCE_EXHAUSTED`. `text` is bounded and has no secrets. `retry_after_s` is the requested wait, if any. `source`
    is the name of the API. `decided` is the failure class; without it, the status decides.
    """

    text: str = ""
    exit_code: int | None = field(default=None, kw_only=True)
    status: int | None = field(default=None, kw_only=True)
    error_type: str = field(default="", kw_only=True)
    timed_out: bool = field(default=False, kw_only=True)
    retry_after_s: float | None = field(default=None, kw_only=True)
    decided: FailureClass | None = field(default=None, kw_only=True)
    source: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A classified error. `reason` is the sign that decided, `hint` the advice (empty: that of the kind)."""

    kind: Kind
    reason: str
    error: AttemptError = field(repr=False)
    is_retryable: bool = False
    try_next_model: bool = False
    retry_after_s: float | None = None
    hint: str = ""


def classify(error: AttemptError) -> Failure:
    """Return the failure of an attempt."""
    row, reason = _find(error)
    return Failure(
        kind=row.kind,
        reason=reason,
        error=error,
        is_retryable=row.is_retryable,
        try_next_model=row.try_next_model,
        retry_after_s=error.retry_after_s,
        hint=row.hint,
    )


def class_of_status(status: int) -> FailureClass | None:
    """Return the failure class of an HTTP status; None if it has none."""
    return _BY_STATUS.get(status)


def _find(error: AttemptError) -> tuple[FailureClass, str]:
    """Return the failure class and the sign that decided."""
    if error.timed_out:
        return _TRANSIENT, "timeout"
    row = error.decided or (class_of_status(error.status) if error.status else None)
    if row is not None:
        return row, error.error_type or f"HTTP {error.status}"
    if error.error_type == NO_OUTPUT:
        return _CONTEXT_TOO_LONG, "no answer"
    if error.error_type:
        return _OTHER, error.error_type[:_MAX_REASON_CHARS]
    return _OTHER, "no answer" if error.exit_code in (None, 0) else f"exit code {error.exit_code}"


def tool_error(
    failure: Failure,
    *,
    attempts: int = 1,
    models: tuple[str, ...] = (),
    environ: Mapping[str, str] | None = None,
) -> ToolError:
    """Return the error for the calling model. `models` are the ones that were tried, in order."""
    error, environ = failure.error, os.environ if environ is None else environ
    details: dict[str, Any] = {
        "kind": str(failure.kind),
        "reason": redact(failure.reason, environ),
        "attempts": attempts,
        "models": [model or "auto" for model in models],
        "exitCode": error.exit_code,
        "status": error.status,
        "retryAfterSeconds": None if failure.retry_after_s is None else math.ceil(failure.retry_after_s),
        "stderr": excerpt(without_stack(error.text), environ, MAX_EXCERPT_CHARS),
    }
    message = _MESSAGES[failure.kind].format(
        cli=error.source or "Gemini CLI",
        api=error.source or "Gemini API",
        models=", ".join(model or "the automatic choice" for model in dict.fromkeys(models)) or "the model",
        auto="" if "" in models else ", or leave the choice to the program",
        reason=failure.reason,
        times="" if attempts == 1 else f" {attempts} times",
        wait=_wait(failure.retry_after_s),
        hint=failure.hint or _default_hint(failure),
    )
    if failure.kind is Kind.AUTH and not failure.hint:
        message = _SIGN_IN
    filled = {name: value for name, value in details.items() if value not in (None, "", [])}
    return ToolError(redact(message, environ), code=ERROR_CODES[failure.kind], details=filled)


def _default_hint(failure: Failure) -> str:
    if failure.kind is Kind.INPUT:
        return "ask about fewer or smaller files"
    code = failure.error.exit_code
    if code is not None and code < 0:
        return f"it was ended by signal {-code} before its answer was complete"
    more = "; its messages are in the details" if failure.error.text or failure.reason != "no answer" else ""
    return f"{failure.reason}{more}" if failure.reason != "no answer" else f"it ended without a readable answer{more}"


def _wait(seconds: float | None) -> str:
    if seconds is None:
        return "wait for its reset"
    if seconds < 120:
        return f"try again in {math.ceil(seconds)} s"
    number, unit = (seconds / 60, "minutes") if seconds < 7_200 else (seconds / 3_600, "hours")
    return f"try again in {math.ceil(number)} {unit}"
