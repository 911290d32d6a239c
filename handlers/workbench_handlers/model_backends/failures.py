"""What a failed attempt was: worth another try, another model, or the end.

Exit codes, HTTP statuses and the API's own names of errors are believed first, and words only where there is nothing
better.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from toolmason_runtime import ToolError

from workbench_handlers.model_backends import failure_kinds
from workbench_handlers.model_backends.failure_kinds import Kind
from workbench_handlers.model_backends.messages import (
    api_errors,
    denied_path,
    named_path,
    plain,
    retry_after,
    says,
    statuses,
    without_files,
    without_stack,
)
from workbench_handlers.model_backends.redaction import excerpt, redact

__all__ = [
    "LAUNCH",
    "MAX_EXCERPT",
    "NOT_READ_ONLY",
    "WORDLESS",
    "AttemptError",
    "Failure",
    "Kind",
    "classify",
    "retry_after",
    "tool_error",
]

MAX_EXCERPT: Final = 2_000
"""Characters of what the program said that an error's details hold."""

LAUNCH: Final = "launch"
"""`AttemptError.error_type` of a program that was not even started."""

NOT_READ_ONLY: Final = "not_read_only"
"""`AttemptError.error_type` of a program that was ended since it did more than read."""

WORDLESS: Final = "wordless"
"""`AttemptError.error_type` of a program that ended as if all were well, said nothing and complained of nothing."""

_MAX_REASON: Final = 100
_NO_NAMES: Final = {"", "error", "unknown"}
_NAMES: Final = {"gemini": "Gemini CLI", "agy": "Antigravity CLI"}


class AttemptError(Exception):
    """One run of the program gave no answer.

    `status` is that of HTTP and `error_type` what the API or the program calls the error, as `RESOURCE_EXHAUSTED`.
    `text` is what it said, without secrets and bounded. `retry_after_s` is how long to wait if it said so, and
    `answered` whether a part of an answer had already come.
    """

    def __init__(
        self,
        text: str = "",
        *,
        exit_code: int | None = None,
        status: int | None = None,
        error_type: str = "",
        timed_out: bool = False,
        retry_after_s: float | None = None,
        answered: bool = False,
    ) -> None:
        super().__init__(text)
        self.text = text
        self.exit_code = exit_code
        self.status = status
        self.error_type = error_type
        self.timed_out = timed_out
        self.retry_after_s = retry_after_s
        self.answered = answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed attempt, judged.

    `reason` says in a few words what decided. `is_repeatable` tells whether the same model may answer if asked again,
    and `needs_model` whether another one may at once. `path` is the file that was not found, was ignored or may not
    be used, and `advice` what to do if that is more than the kind says.
    """

    kind: Kind
    reason: str
    error: AttemptError = field(repr=False)
    is_repeatable: bool = False
    needs_model: bool = False
    retry_after_s: float | None = None
    path: str = ""
    advice: str = ""


_NAMED: Final = re.compile(rf"(?<![A-Za-z_])({'|'.join(failure_kinds.BY_NAME)})(?![A-Za-z_])")
_IGNORED_HELP: Final = (
    "Your Gemini CLI respects .gitignore by default. To analyze git-ignored files, disable this setting: "
    "gemini → /settings → fileFiltering.respectGitIgnore = false"
)
_AUTH_MESSAGES: Final = {
    "gemini": (
        "Gemini CLI authentication failed. Please run 'gemini' and select 'Login with Google', or set GEMINI_API_KEY "
        "if using API key authentication."
    ),
    "agy": "Antigravity CLI authentication failed. Please run 'agy' and sign in.",
}
_MODEL_SETTINGS: Final = "WORKBENCH_FLASH_MODELS or WORKBENCH_PRO_MODELS"
_ENDED: Final = {
    52: "its settings cannot be used: run it once by hand in a terminal and mend what it complains about",
    53: "it needed more turns than its settings allow: ask about less at a time, or raise its turn limit",
    130: "it was cancelled",
}


def classify(error: AttemptError) -> Failure:
    """Judge a failed attempt."""
    sort, reason = _sorted(error)
    return Failure(
        kind=sort.kind,
        reason=reason,
        error=error,
        is_repeatable=sort.is_repeatable,
        needs_model=sort.needs_model,
        retry_after_s=retry_after(error.text) if error.retry_after_s is None else error.retry_after_s,
        path=_path(sort.kind, error.text),
        advice=sort.advice,
    )


def tool_error(
    failure: Failure,
    *,
    program: str = "gemini",
    attempts: int = 1,
    models: tuple[str, ...] = (),
    environ: Mapping[str, str] | None = None,
) -> ToolError:
    """Say to the model what happened and what to do. `models` are those that were tried, the last one last."""
    error, environ = failure.error, os.environ if environ is None else environ
    said = excerpt(without_stack(error.text), environ, MAX_EXCERPT)
    details: dict[str, Any] = {
        "kind": str(failure.kind),
        "reason": redact(failure.reason, environ),
        "attempts": attempts,
        "models": [model or "auto" for model in models],
        "exitCode": error.exit_code,
        "status": error.status,
        "retryAfterSeconds": None if failure.retry_after_s is None else math.ceil(failure.retry_after_s),
        "stderr": said,
        "troubleshooting": _IGNORED_HELP if failure.kind is Kind.IGNORED else "",
    }
    message, code = _message(failure, program, attempts, models)
    filled = {name: value for name, value in details.items() if value not in (None, "", [])}
    return ToolError(redact(message, environ), code=code, details=filled)


def _path(kind: Kind, text: str) -> str:
    if kind is Kind.PERMISSION:
        return denied_path(text)
    return named_path(text) if kind in (Kind.IGNORED, Kind.NOT_FOUND) else ""


def _sorted(error: AttemptError) -> tuple[failure_kinds.Sort, str]:
    """Give what sort of failure it was and what decided."""
    if error.timed_out:
        return failure_kinds.AGAIN, "timeout"
    if error.error_type.lower() == LAUNCH:
        return failure_kinds.LAUNCH, "it could not be started"
    if error.error_type == NOT_READ_ONLY:
        return failure_kinds.OTHER, "it was stopped, since it did more than read"
    text = plain(f"{error.error_type}\n{error.text}")
    exact = _by_words(failure_kinds.EXACT_WORDS, text)
    if error.exit_code in failure_kinds.BY_EXIT_CODE:
        sort = failure_kinds.BY_EXIT_CODE[error.exit_code]
        is_advised = exact is not None and exact[0].kind is sort.kind and exact[0].advice
        return exact if exact is not None and is_advised else (sort, f"exit code {error.exit_code}")
    structured = _structured(error)
    if exact is not None and (structured is None or _refines(exact[0], structured[0])):
        return exact
    if structured is not None:
        return structured
    if system := _by_words(failure_kinds.SYSTEM_WORDS, text):
        return system
    if denied_path(error.text):
        return failure_kinds.PERMISSION, "permission denied"
    for status in statuses(text):
        if status in failure_kinds.BY_STATUS:
            return failure_kinds.BY_STATUS[status], f"HTTP {status}"
    if text in failure_kinds.BY_WHOLE_TEXT:
        return failure_kinds.BY_WHOLE_TEXT[text], text
    return _by_words(failure_kinds.WORDS, text) or _unknown(error)


def _structured(error: AttemptError) -> tuple[failure_kinds.Sort, str] | None:
    if error.error_type.upper() in failure_kinds.BY_NAME:
        return failure_kinds.BY_NAME[error.error_type.upper()], error.error_type.upper()
    if error.status in failure_kinds.BY_STATUS:
        # A name is more exact, if it is that of the same error.
        names = (name for name, status in api_errors(error.text) if status == error.status)
        name = next((each for each in names if each in failure_kinds.BY_NAME), "")
        return failure_kinds.BY_NAME.get(name, failure_kinds.BY_STATUS[error.status]), f"HTTP {error.status}"
    for name, status in api_errors(error.text):
        if name in failure_kinds.BY_NAME:
            return failure_kinds.BY_NAME[name], name
        if status in failure_kinds.BY_STATUS:
            return failure_kinds.BY_STATUS[status], f"HTTP {status}"
    named = _NAMED.search(without_files(error.text))
    return (failure_kinds.BY_NAME[named[1]], named[1]) if named else None


def _refines(exact: failure_kinds.Sort, structured: failure_kinds.Sort) -> bool:
    """Tell whether words say more exactly what a status says; else they are about something else."""
    if exact is failure_kinds.SPENT:
        return structured is failure_kinds.QUOTA
    if exact is failure_kinds.BUSY:
        return structured.is_repeatable
    if exact.kind is Kind.AUTH:
        return structured in (failure_kinds.INPUT, failure_kinds.AUTH, failure_kinds.OTHER)
    return structured in (failure_kinds.INPUT, failure_kinds.AUTH, failure_kinds.MODEL, failure_kinds.OTHER)


def _by_words(
    table: tuple[tuple[failure_kinds.Sort, tuple[str, ...]], ...], text: str
) -> tuple[failure_kinds.Sort, str] | None:
    for sort, phrases in table:
        for words in phrases:
            if says(words, text):
                return sort, words
    return None


def _unknown(error: AttemptError) -> tuple[failure_kinds.Sort, str]:
    if error.error_type == WORDLESS:
        return failure_kinds.TOO_MUCH, "no answer"
    if error.error_type.lower() not in _NO_NAMES:
        return failure_kinds.OTHER, error.error_type[:_MAX_REASON]
    return failure_kinds.OTHER, "no answer" if error.exit_code in (None, 0) else f"exit code {error.exit_code}"


def _message(failure: Failure, program: str, attempts: int, models: tuple[str, ...]) -> tuple[str, str]:
    """Give the text and the code."""
    cli = _NAMES.get(program, program)
    asked = ", ".join(model or "the automatic choice" for model in dict.fromkeys(models)) or "the model"
    match failure.kind:
        case Kind.QUOTA:
            return f"Gemini API quota exceeded for {asked}: {_advice(failure)}", "QUOTA_EXCEEDED"
        case Kind.AUTH:
            if failure.advice:
                return f"{cli} cannot use this account: {failure.advice}", "AUTH_MISSING"
            return _AUTH_MESSAGES.get(program, _AUTH_MESSAGES["gemini"]), "AUTH_MISSING"
        case Kind.IGNORED:
            text = f"{cli} could not access requested files (likely blocked by .gitignore)"
        case Kind.NOT_FOUND:
            text = f"File not found: {failure.path or 'the details say which'}"
        case Kind.PERMISSION:
            what = failure.path or "something that the details name"
            text = f"{cli} failed, as the system does not permit it to use {what}: correct its permissions"
        case Kind.MODEL:
            text = f"{cli} cannot use {asked}: name models that this account has in {_MODEL_SETTINGS}"
            text += "" if "" in models else ", or leave the choice to the program"
        case Kind.INPUT:
            advice = failure.advice or "ask about fewer or smaller files"
            text = f"{cli} did not accept the request ({failure.reason}): {advice}"
        case Kind.LAUNCH:
            text = f"{cli} could not be started: run it once by hand in a terminal"
        case Kind.TRANSIENT:
            times = "" if attempts == 1 else f" {attempts} times"
            text = f"{cli} failed{times}, at last with {failure.reason}: ask again later"
        case _:
            text = f"{cli} failed: {failure.advice or _ended(failure)}"
    return text, "GEMINI_CLI_ERROR"


def _advice(failure: Failure) -> str:
    if failure.retry_after_s is None:
        return "wait for its reset, or use another plan"
    return f"try again in {_spoken(failure.retry_after_s)}, or use another plan"


def _ended(failure: Failure) -> str:
    code = failure.error.exit_code
    if code in _ENDED:
        return _ENDED[code]
    if code is not None and code < 0:
        return f"it was ended by signal {-code} before its answer was complete"
    if failure.reason == "no answer":
        more = "; what it said is in the details" if failure.error.text else ""
        return f"it ended without an answer that can be read{more}"
    return f"{failure.reason}; what it said is in the details"


def _spoken(seconds: float) -> str:
    if seconds < 120:
        return f"{math.ceil(seconds)} s"
    return f"{math.ceil(seconds / 60)} minutes" if seconds < 7_200 else f"{math.ceil(seconds / 3_600)} hours"
