"""Exceptions of the libraries as failures: from statuses and names of the API, not from texts.

The libraries are recognised by the names of their classes, because they are imported only when they are used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any, Final

from workbench_research.backends.failure_kinds import (
    MAX_EXCERPT_CHARS,
    AttemptError,
    FailureClass,
    Kind,
    class_of_status,
)
from workbench_research.backends.keys import Environ, Key
from workbench_research.redaction import excerpt

BLOCKED: Final = FailureClass(
    kind=Kind.OTHER,
    hint="the provider's filter blocked the question or its answer: ask differently, or ask about other files",
)
BROKEN: Final = FailureClass(kind=Kind.TRANSIENT, is_retryable=True)
"""The connection was lost, or the answer ended before its end."""
TOO_LONG: Final = FailureClass(
    kind=Kind.INPUT, hint="the files exceed the context window of the model: name fewer or smaller files"
)
SPENT: Final = FailureClass(kind=Kind.QUOTA, try_next_model=True)
"""A quota that no wait of minutes gives back: of a day, or of credits."""
_REFUSED: Final = FailureClass(
    kind=Kind.INPUT,
    hint="`details.stderr` has its message; if that is about too many tokens, name fewer or smaller files",
)
_REDIRECT: Final = FailureClass(
    kind=Kind.OTHER,
    hint="it answered with a redirect, which is not followed: correct the base URL, such as WORKBENCH_RESEARCH_URL",
)
_UNREADABLE: Final = FailureClass(
    kind=Kind.OTHER,
    hint="its answer was not in the format of its API: check the base URL, such as WORKBENCH_RESEARCH_URL",
)
_SECONDS: Final = 1e-3

_STATUS_OF_NAME: Final = {
    # Anthropic: the type of an error, also in the middle of a stream
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
    # OpenAI and compatible servers: the code, or the type
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "billing_hard_limit_reached": 402,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    # Google: the status of google.rpc.Code, and reasons of its details
    "api_key_invalid": 401,
    "api_key_expired": 401,
    # Amazon: the code of an error, also in the middle of a stream
    "accessdeniedexception": 403,
    "expiredtokenexception": 401,
    "internalserverexception": 500,
    "invalidsignatureexception": 401,
    "modelerrorexception": 500,
    "modelnotreadyexception": 503,
    "modelstreamerrorexception": 500,
    "modeltimeoutexception": 504,
    "resourcenotfoundexception": 404,
    "servicequotaexceededexception": 402,
    "serviceunavailableexception": 503,
    "throttlingexception": 429,
    "unrecognizedclientexception": 401,
    "validationexception": 400,
}
"""HTTP status of a name in lower case."""
_CLASS_OF_NAME: Final = {
    "context_length_exceeded": TOO_LONG,
    "exceed_context_size_error": TOO_LONG,  # llama.cpp
    "string_above_max_length": TOO_LONG,
    "content_filter": BLOCKED,
    "content_policy_violation": BLOCKED,
    "insufficient_quota": SPENT,
}


class _Evidence:
    """The facts of an exception: its HTTP status, its names, its message and its headers."""

    def __init__(self, error: BaseException) -> None:
        self.error = error
        response = getattr(error, "response", None)
        self.headers: Mapping[str, str] = getattr(response, "headers", None) or {}
        self.body: Any = getattr(error, "body", None) or getattr(error, "details", None) or {}
        self.status = _number(getattr(error, "status_code", None) or getattr(error, "code", None))
        if isinstance(response, Mapping):  # botocore
            about = response.get("ResponseMetadata", {})
            self.body = response.get("Error", {})
            self.headers = about.get("HTTPHeaders", {})
            self.status = _number(about.get("HTTPStatusCode"))
        if isinstance(self.body, list) and len(self.body) == 1:
            self.body = self.body[0]
        if isinstance(self.body, Mapping) and isinstance(self.body.get("error"), Mapping):
            self.body = self.body["error"]
        if not isinstance(self.body, Mapping):
            self.body = {}

    @property
    def message(self) -> str:
        found = self.body.get("message") or self.body.get("Message") or getattr(self.error, "message", "")
        return str(found or self.error or type(self.error).__name__)

    def names(self) -> Iterator[str]:
        """Yield the names of the error, the most exact first."""
        for detail in self._details():
            yield str(detail.get("reason", ""))
        for name in ("code", "type", "status", "Code"):
            value = self.body.get(name)
            if isinstance(value, str):
                yield value

    def is_daily(self) -> bool:
        """Return whether Google names a quota of a day."""
        violations = (item for detail in self._details() for item in detail.get("violations", ()))
        return any("PerDay" in str(item.get("quotaId", "")) for item in violations if isinstance(item, Mapping))

    def retry_after_s(self) -> float | None:
        """Return the wait that headers or Google's `RetryInfo` request."""
        if (number := _float(self.headers.get("retry-after-ms"))) is not None:
            return number * _SECONDS
        if text := self.headers.get("retry-after", ""):
            return _float(text) if _float(text) is not None else _until(text)
        delays = (str(detail.get("retryDelay", "")) for detail in self._details())
        return next((number for delay in delays if (number := _float(delay.removesuffix("s"))) is not None), None)

    def _details(self) -> Iterator[Mapping[str, Any]]:
        details = self.body.get("details")
        yield from (detail for detail in details if isinstance(detail, Mapping)) if isinstance(details, list) else ()


def attempt_error(error: BaseException, *, source: str, key: Key, environ: Environ) -> AttemptError:
    """Return the failure of an exception of a library. `source` is the name of the API.

    An exception that is not of a library and not of the network is a bug: it is raised again.
    """
    facts = _Evidence(error)
    classes = {base.__name__ for base in type(error).__mro__}
    text = excerpt(key.redact(facts.message, environ), environ, MAX_EXCERPT_CHARS)
    if classes & _TIMEOUTS or isinstance(error, TimeoutError):
        return AttemptError(text, timed_out=True, source=source)
    name, decided = _decide(facts)
    if decided is None and (classes & _LOST or isinstance(error, OSError)):
        name, decided = "connection lost", BROKEN
    if decided is None and classes & _UNPARSED:
        name, decided = "an answer that cannot be read", _UNREADABLE
    if decided is None and classes & _IN_STREAM:
        name, decided = "an error within the answer", BROKEN
    if decided is None:
        raise error
    if decided.kind is Kind.AUTH:
        decided = replace(decided, hint=key_hint(key, source))
    status = facts.status if facts.status and facts.status >= 300 else None
    return AttemptError(
        text, status=status, error_type=name, retry_after_s=facts.retry_after_s(), decided=decided, source=source
    )


_TIMEOUTS: Final = {"TimeoutException", "APITimeoutError", "ReadTimeoutError", "ConnectTimeoutError"}
_LOST: Final = {
    "APIConnectionError",  # openai, anthropic
    "TransportError",  # httpx, httpx2
    "StreamError",
    "ConnectionError",  # botocore
    "HTTPClientError",
    "ConnectionClosedError",
    "EndpointConnectionError",
    "ResponseStreamingError",
    "ProtocolError",  # urllib3
    "EventStreamError",
    "InvalidHeadersLength",
    "ChecksumMismatch",
}
_IN_STREAM: Final = {"APIError", "InStreamError"}
"""Errors without a status, in place of a piece of an answer."""
_UNPARSED: Final = {
    "APIResponseValidationError",
    "UnknownApiResponseError",
    "JSONDecodeError",
    "ValidationError",
    "ResponseParserError",
}


def _decide(facts: _Evidence) -> tuple[str, FailureClass | None]:
    """Return the name of the sign that decides, and its failure class."""
    status = facts.status
    for name in facts.names():
        lowered = name.lower()
        if lowered in _CLASS_OF_NAME:
            return name, _CLASS_OF_NAME[lowered]
        if lowered in _STATUS_OF_NAME and (status in (None, 200) or lowered.startswith("api_key_")):
            return name, class_of_http(_STATUS_OF_NAME[lowered])
    code = _number(facts.body.get("code")) if status in (None, 200) else status  # OpenRouter, within a stream
    if code is None or code < 300:
        return "", None
    if code == 429 and facts.is_daily():
        return "the quota of a day", SPENT
    return f"HTTP {code}", class_of_http(code)


def class_of_http(status: int) -> FailureClass:
    """Return the failure class of a status from 300 on."""
    if status < 400:
        return _REDIRECT
    if status == 413:
        return TOO_LONG
    row = class_of_status(status)
    if row is not None:
        return _REFUSED if row.kind is Kind.INPUT else row
    return BROKEN if status >= 500 else _REFUSED


def key_hint(key: Key, source: str) -> str:
    """Return the advice about a key that was refused."""
    if not key.variable:
        return f"{source} needs a key: set WORKBENCH_RESEARCH_KEY"
    return f"it refused the key in {key.variable}: set {key.variable} to a valid key that may use this model"


def broken(source: str, reason: str = "the answer broke off") -> AttemptError:
    """Return the failure of an answer without an end."""
    return AttemptError("", error_type=reason, decided=BROKEN, source=source)


def blocked(source: str, reason: str) -> AttemptError:
    """Return the failure of an answer that the provider's filter stopped."""
    return AttemptError("", error_type=reason, decided=BLOCKED, source=source)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _float(text: object) -> float | None:
    try:
        number = float(str(text))
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _until(date: str) -> float | None:
    """Return the seconds until a date of HTTP."""
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except ValueError:
        return None
