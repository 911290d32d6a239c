"""Failure kinds of a model's command line: one table of their signs and remedies, its classifier and its messages."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_research.backends.error_text import (
    contains,
    denied_path,
    missing_path,
    object_statuses,
    plain,
    retry_after,
    statuses,
    without_files,
    without_stack,
)
from workbench_research.redaction import excerpt, redact

MAX_EXCERPT_CHARS: Final = 2_000
"""Characters of the program's messages in the details of an error."""

NOT_READ_ONLY: Final = "not_read_only"
"""`AttemptError.error_type` of a program that was stopped because it used a tool that can write."""

NO_OUTPUT: Final = "no_output"
"""`AttemptError.error_type` of a program that reported success, but neither an answer nor a problem."""


class Kind(StrEnum):
    """The failure kinds in `details.kind`."""

    TRANSIENT = "transient"
    QUOTA = "quota"
    MODEL = "model"
    AUTH = "auth"
    IGNORED = "ignored"
    NOT_FOUND = "not_found"
    PERMISSION = "permission"
    INPUT = "input"
    LAUNCH = "launch"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureClass:
    """A row of the table: a kind, its remedies and its signs.

    `is_retryable` is true if the same model may answer later, `try_next_model` if another model may answer now. The
    signs are exit codes, HTTP statuses, names of Google's API errors (google.rpc.Code), and phrases, separated by `;`.
    `phrases` take precedence over a bare number in the text, and over structured evidence (exit code, status, name) of
    the kinds in `overrides`: an invalid key is a 400, a daily quota a 429. `words` count only without any other sign.
    """

    kind: Kind
    is_retryable: bool = False
    try_next_model: bool = False
    exit_codes: tuple[int, ...] = ()
    statuses: tuple[int, ...] = ()
    names: tuple[str, ...] = ()
    phrases: str = ""
    overrides: frozenset[Kind] = frozenset()
    words: str = ""
    hint: str = ""


_REFUSED: Final = frozenset({Kind.INPUT, Kind.AUTH, Kind.OTHER})
_CONTEXT_TOO_LONG: Final = FailureClass(
    kind=Kind.INPUT, hint="prompt and files may exceed the context window of the model: name fewer or smaller files"
)
_TIMEOUT: Final = FailureClass(kind=Kind.TRANSIENT, is_retryable=True)
_WROTE: Final = FailureClass(
    kind=Kind.OTHER, hint="it was stopped because it used a tool that can write; see the details"
)
_DENIED: Final = FailureClass(kind=Kind.PERMISSION, phrases="EACCES; EPERM; EROFS; operation not permitted; errno 13")
_UNKNOWN: Final = FailureClass(kind=Kind.OTHER)

FAILURE_CLASSES: Final = (
    FailureClass(
        kind=Kind.OTHER,
        words="loop detected",
        hint="the model repeated itself and was stopped: ask a narrower question, or name the files",
    ),
    FailureClass(
        kind=Kind.AUTH,
        phrases="ineligible tier error; no longer supported for gemini code assist",
        overrides=_REFUSED,
        hint="it no longer serves accounts of this plan: set GEMINI_API_KEY to a key of a paid plan",
    ),
    FailureClass(
        kind=Kind.AUTH,
        phrases="project id required error; requires setting the GOOGLE_CLOUD_PROJECT",
        overrides=_REFUSED,
        hint="it requires a project: set GOOGLE_CLOUD_PROJECT to a project id",
    ),
    FailureClass(
        kind=Kind.AUTH,
        phrases="api key not valid; api key invalid; invalid api key; api key expired; api key was reported as leaked",
        overrides=_REFUSED,
        hint="it refused the API key that is set: create another key (https://aistudio.google.com/app/apikey) and set "
        "GEMINI_API_KEY to it",
    ),
    FailureClass(
        kind=Kind.OTHER,
        phrases="location is not supported",
        overrides=_REFUSED | {Kind.MODEL},
        hint="the Gemini API is not available in your region: use Vertex AI, and set GOOGLE_CLOUD_LOCATION to a region",
    ),
    FailureClass(
        kind=Kind.QUOTA,
        try_next_model=True,
        statuses=(402,),
        phrases="per day; daily quota; daily limit; weekly quota; terminal quota error; "
        "credits balance is too low; credits are depleted",
        overrides=frozenset({Kind.QUOTA}),
    ),
    FailureClass(
        kind=Kind.IGNORED,
        phrases="is ignored by configured ignore patterns; ignored by git ignore; ignored by gemini ignore",
        overrides=frozenset({Kind.INPUT, Kind.OTHER}),
    ),
    FailureClass(kind=Kind.NOT_FOUND, phrases="no such file or directory", words="file not found"),
    FailureClass(
        kind=Kind.MODEL,
        try_next_model=True,
        statuses=(404,),
        names=("NOT_FOUND",),
        phrases="model not found; is not found for api version; is not supported for generate content; unknown model; "
        "invalid model; model is not available; not have access to the model; not have access to this model; "
        "permission denied on model",
        overrides=_REFUSED,
        words="requested entity was not found",
    ),
    _DENIED,
    FailureClass(
        kind=Kind.OTHER,
        phrases="SELF_SIGNED_CERT_IN_CHAIN; DEPTH_ZERO_SELF_SIGNED_CERT; UNABLE_TO_VERIFY_LEAF_SIGNATURE; "
        "UNABLE_TO_GET_ISSUER_CERT; UNABLE_TO_GET_ISSUER_CERT_LOCALLY; CERT_HAS_EXPIRED; self-signed certificate; "
        "unable to verify the first certificate; unable to get local issuer certificate; certificate has expired",
        hint="it does not trust the server's certificate: set NODE_EXTRA_CA_CERTS to the PEM file of the issuing "
        "authority, for example of your network's proxy, and check the clock",
    ),
    FailureClass(
        kind=Kind.OTHER,
        names=("FAILED_PRECONDITION", "UNIMPLEMENTED"),
        phrases="failed precondition",
        overrides=frozenset({Kind.INPUT}),
    ),
    FailureClass(
        kind=Kind.INPUT,
        exit_codes=(42,),
        statuses=(400, 413, 422),
        names=("INVALID_ARGUMENT", "OUT_OF_RANGE"),
        words="bad request; invalid request; invalid argument",
    ),
    FailureClass(
        kind=Kind.QUOTA,
        is_retryable=True,
        try_next_model=True,
        statuses=(429,),
        names=("RESOURCE_EXHAUSTED",),
        words="resource exhausted; resource has been exhausted; rate limit; rate limited; quota; too many requests",
    ),
    FailureClass(
        kind=Kind.AUTH,
        exit_codes=(41,),
        statuses=(401, 403),
        names=("UNAUTHENTICATED", "PERMISSION_DENIED"),
        phrases="api key not found; set an auth method; invalid auth method; must specify the gemini api key; "
        "invalid authentication credentials; authentication required; authentication failed; invalid grant; "
        "not logged in; not signed in; please sign in",
        overrides=_REFUSED,
        words="unauthenticated; unauthorized; permission denied; forbidden; authentication",
    ),
    FailureClass(
        kind=Kind.TRANSIENT,  # the service works, but the model is overloaded
        is_retryable=True,
        try_next_model=True,
        statuses=(503, 529),
        names=("UNAVAILABLE",),
        phrases="overloaded; model capacity exhausted; no capacity available; currently experiencing high demand",
        overrides=frozenset({Kind.TRANSIENT, Kind.QUOTA}),
        words="service unavailable; temporarily unavailable; unavailable",
    ),
    FailureClass(
        kind=Kind.TRANSIENT,
        is_retryable=True,
        statuses=(408, 425, 500, 502, 504),
        names=("DEADLINE_EXCEEDED", "INTERNAL", "ABORTED"),
        # "error: terminated" is the whole message of undici, Node's HTTP client, about a lost connection.
        words="ETIMEDOUT; ECONNRESET; ECONNREFUSED; ECONNABORTED; EPIPE; EAI_AGAIN; ENOTFOUND; ENETUNREACH; ENETDOWN; "
        "EHOSTUNREACH; UND_ERR_SOCKET; socket hang up; fetch failed; network error; other side closed; "
        "error: terminated; error terminated; ERR_INTERNET_DISCONNECTED; ERR_NETWORK_CHANGED; ERR_NAME_NOT_RESOLVED; "
        "premature close; timeout; time out; timed out; deadline exceeded; connection; bad gateway; "
        "internal server error; internal error",
    ),
    FailureClass(kind=Kind.LAUNCH, exit_codes=(126, 127)),
    FailureClass(
        kind=Kind.OTHER,
        exit_codes=(52,),
        hint="its settings are invalid: run it once in a terminal and correct what it reports",
    ),
    FailureClass(
        kind=Kind.OTHER,
        exit_codes=(53,),
        hint="it needed more turns than its settings allow: ask a narrower question, or raise its turn limit",
    ),
    FailureClass(kind=Kind.OTHER, exit_codes=(130,), hint="it was cancelled"),
)
"""The first matching row wins."""

_BY_EXIT_CODE: Final = {code: row for row in FAILURE_CLASSES for code in row.exit_codes}
_BY_STATUS: Final = {status: row for row in FAILURE_CLASSES for status in row.statuses}
_BY_NAME: Final = {name: row for row in FAILURE_CLASSES for name in row.names}
_NAME: Final = re.compile(rf"(?<![A-Za-z_])({'|'.join(_BY_NAME)})(?![A-Za-z_])")

ERROR_CODES: Final = dict.fromkeys(Kind, "GEMINI_CLI_ERROR") | {
    Kind.QUOTA: "QUOTA_EXCEEDED",
    Kind.AUTH: "AUTH_MISSING",
}
_MESSAGES: Final = {
    Kind.QUOTA: "{api} quota exceeded for {models}: {wait}, or use another plan",
    Kind.AUTH: "{cli} cannot use this account: {hint}",
    Kind.IGNORED: "{cli} could not access requested files (likely blocked by .gitignore)",
    Kind.NOT_FOUND: "File not found: {path}",
    Kind.PERMISSION: "{cli} failed: the operating system denied access to {path}; correct its permissions",
    Kind.MODEL: "{cli} cannot use {models}: set WORKBENCH_FLASH_MODELS or WORKBENCH_PRO_MODELS to models of this "
    "account{auto}",
    Kind.INPUT: "{cli} did not accept the request ({reason}): {hint}",
    Kind.LAUNCH: "{cli} could not be started: run it once in a terminal",
    Kind.TRANSIENT: "{cli} failed{times}, at last with {reason}: ask again later",
    Kind.OTHER: "{cli} failed: {hint}",
}
_SIGN_IN: Final = (
    "Gemini CLI authentication failed. Please run 'gemini' and select 'Login with Google', or set GEMINI_API_KEY "
    "if using API key authentication."
)
_GITIGNORE_HINT: Final = (
    "Your Gemini CLI respects .gitignore by default. To analyze git-ignored files, disable this setting: "
    "gemini → /settings → fileFiltering.respectGitIgnore = false"
)
_MAX_REASON_CHARS: Final = 100


@dataclass(eq=False)
class AttemptError(Exception):
    """One run of the program returned no answer.

    `status` is an HTTP status, `error_type` the name of the error in the API or the program, such as
    `RESOURCE_EXHAUSTED`. `text` is bounded and has no secrets. `retry_after_s` is the requested wait, if any. An API's
    library states `decided`, so that no text is searched, and `source`, the name of the API.
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
    """Return the failure of the first row that matches."""
    row, reason = _find(error)
    return Failure(
        kind=row.kind,
        reason=reason,
        error=error,
        is_retryable=row.is_retryable,
        try_next_model=row.try_next_model,
        retry_after_s=_wait_of(error),
        hint=row.hint,
    )


def class_of_status(status: int) -> FailureClass | None:
    """Return the row of an HTTP status; None if it is in none."""
    return _BY_STATUS.get(status)


def _wait_of(error: AttemptError) -> float | None:
    if error.retry_after_s is not None or error.decided is not None:
        return error.retry_after_s
    return retry_after(error.text)


_Evidence = tuple[FailureClass, str]
"""A row and the sign that it matched."""


def _find(error: AttemptError) -> _Evidence:
    if error.timed_out:
        return _TIMEOUT, "timeout"
    if error.decided is not None:
        return error.decided, error.error_type or f"HTTP {error.status}"
    if error.error_type == NOT_READ_ONLY:
        return _WROTE, "used a tool that can write"
    text = plain(f"{error.error_type or 'error'}:\n{error.text}")
    structured = _structured(error)
    return (
        _by_phrase(text, structured)
        or structured
        or ((_DENIED, "permission denied") if denied_path(error.text) else None)
        or _by_status(statuses(text))
        or _by_word(text)
        or _unknown(error)
    )


def _structured(error: AttemptError) -> _Evidence | None:
    if error.exit_code in _BY_EXIT_CODE:
        return _BY_EXIT_CODE[error.exit_code], f"exit code {error.exit_code}"
    name = error.error_type.upper()
    if name not in _BY_NAME:
        status = () if error.status is None else (error.status,)
        if evidence := _by_status(status or object_statuses(error.text)):
            return evidence
        named = _NAME.search(without_files(error.text))
        name = named[1] if named else ""
    return (_BY_NAME[name], name) if name else None


def _by_phrase(text: str, structured: _Evidence | None) -> _Evidence | None:
    for row in FAILURE_CLASSES:
        if structured is None or structured[0].kind in row.overrides:
            for phrase in filter(None, row.phrases.split("; ")):
                if contains(phrase, text):
                    return row, phrase
    return None


def _by_status(candidates: tuple[int, ...]) -> _Evidence | None:
    return next(((_BY_STATUS[status], f"HTTP {status}") for status in candidates if status in _BY_STATUS), None)


def _by_word(text: str) -> _Evidence | None:
    words = ((row, word) for row in FAILURE_CLASSES for word in row.words.split("; ") if word)
    return next(((row, word) for row, word in words if contains(word, text)), None)


def _unknown(error: AttemptError) -> _Evidence:
    if error.error_type == NO_OUTPUT:
        return _CONTEXT_TOO_LONG, "no answer"
    if error.error_type.lower() not in ("", "error", "unknown"):
        return _UNKNOWN, error.error_type[:_MAX_REASON_CHARS]
    return _UNKNOWN, "no answer" if error.exit_code in (None, 0) else f"exit code {error.exit_code}"


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
        "troubleshooting": _GITIGNORE_HINT if failure.kind is Kind.IGNORED else "",
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
        path=(denied_path if failure.kind is Kind.PERMISSION else missing_path)(error.text) or "a file in the details",
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
