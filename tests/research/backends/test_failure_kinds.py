from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_research.backends.error_text import object_statuses, retry_after, without_stack
from workbench_research.backends.failure_kinds import (
    MAX_EXCERPT_CHARS,
    NO_OUTPUT,
    AttemptError,
    FailureClass,
    Kind,
    classify,
    tool_error,
)

KEY = "AIzaSyD-0123456789abcdefghijklmnopqrstu"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        *((AttemptError(status=status), "transient retry") for status in (408, 425, 500, 502, 504)),
        *((AttemptError(status=status), "transient retry next") for status in (503, 529)),
        (AttemptError(status=429), "quota retry next"),
        (AttemptError(status=402), "quota next"),
        (AttemptError(status=404), "model next"),
        *((AttemptError(status=status), "auth") for status in (401, 403)),
        *((AttemptError(status=status), "input") for status in (400, 413, 422)),
        (AttemptError("HTTP 404", timed_out=True), "transient retry"),
        (AttemptError(error_type=NO_OUTPUT), "input"),
        (AttemptError("timeout 503"), "other"),
        (AttemptError(status=500, decided=FailureClass(kind=Kind.AUTH)), "auth"),
    ],
    ids=repr,
)
def test_a_failure_has_the_remedies_of_its_status(error: AttemptError, expected: str) -> None:
    failure = classify(error)

    assert f"{failure.kind}{' retry' * failure.is_retryable}{' next' * failure.try_next_model}" == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ('"retryDelay": "34s"', 34.0),
        ('{\\"retryDelay\\": \\"34.074824224s\\"}', 34.074824224),
        ("Please retry in 34.07s.", 34.07),
        ("Please retry in 4h53m5.5s.", 17585.5),
        ("Please retry in 500ms", 0.5),
        ("Retry-After: 120", 120.0),
        ('"retry-after":"7"', 7.0),
        ("Your quota will reset. Resets in 2h18m58s", 8338.0),
        ("Your quota will reset after 12h59m26s.", 46_766.0),
        ("try again after 30s", 30.0),
        ("Please try again in about 5 minutes.", 300.0),
        ("Please try again in 5 minutes or use another plan", 300.0),
        ("try again in 1 minute 30 seconds", 90.0),
        ("try again in 1 hour, 2 mins and 3 secs", 3_723.0),
        ("retry after 1.5 min", 90.0),
        ("resets in 3 days", 259_200.0),
        ("resets in 2 weeks", 1_209_600.0),
        ("Retry after 500 milliseconds", 0.5),
        ("retry in 30 S", 30.0),
        ("Please retry in 34. Thank you.", 34.0),
        ("retry-after 99999999999", 99_999_999_999.0),
        ("Retry-After: 120\nVary: Origin", 120.0),
        ("retry-after: 7 vary: origin", 7.0),
        ("resets in 2 fortnights", None),
        ("resets in 1month", None),
        ("Attempt 1 failed. Retrying with backoff...", None),
        ("please try again later", None),
    ],
)
def test_the_stated_wait_is_parsed_from_headers_json_and_words(text: str, seconds: float | None) -> None:
    assert retry_after(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ('[API Error: {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}]', (429,)),
        ('{"error": {"message": "{\\"error\\": {\\"code\\": 503}}", "code": 500}}', (503, 500)),
        ("ModelNotFoundError: oh\n    at chunk-A.js:429:12 {\n  code: 404\n}", (404,)),
        ("  status: 502,", (502,)),
        ("read 503 files, code 404 of pages/404.tsx", ()),
        ('"code": 4290', ()),
    ],
)
def test_statuses_are_read_from_json_and_printed_objects(text: str, statuses: tuple[int, ...]) -> None:
    assert object_statuses(text) == statuses


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (AttemptError(status=429), "QUOTA_EXCEEDED", ["Gemini API quota exceeded for pro, the automatic choice"]),
        (AttemptError(status=429, retry_after_s=3.2), "QUOTA_EXCEEDED", ["in 4 s,"]),
        (AttemptError(status=429, retry_after_s=700), "QUOTA_EXCEEDED", ["in 12 minutes"]),
        (AttemptError(status=429, retry_after_s=86_400), "QUOTA_EXCEEDED", ["in 24 hours"]),
        (AttemptError(status=429, source="OpenAI"), "QUOTA_EXCEEDED", ["OpenAI quota exceeded"]),
        (AttemptError(status=401), "AUTH_MISSING", ["Please run 'gemini' and select 'Login with Google'"]),
        (
            AttemptError(decided=FailureClass(kind=Kind.AUTH, hint="set KEY"), source="OpenAI"),
            "AUTH_MISSING",
            ["OpenAI cannot use this account: set KEY"],
        ),
        (AttemptError(status=404), "GEMINI_CLI_ERROR", ["cannot use pro, the automatic choice"]),
        (AttemptError(status=404), "GEMINI_CLI_ERROR", ["WORKBENCH_FLASH_MODELS"]),
        (AttemptError(status=502), "GEMINI_CLI_ERROR", ["failed 3 times, at last with HTTP 502"]),
        (AttemptError(status=400), "GEMINI_CLI_ERROR", ["ask about fewer or smaller files"]),
        (AttemptError(error_type=NO_OUTPUT), "GEMINI_CLI_ERROR", ["fewer or smaller files"]),
        (AttemptError(exit_code=-9), "GEMINI_CLI_ERROR", ["ended by signal 9"]),
        (AttemptError("oh dear", exit_code=7), "GEMINI_CLI_ERROR", ["exit code 7", "in the details"]),
        (AttemptError(error_type="FatalOddityError"), "GEMINI_CLI_ERROR", ["FatalOddityError"]),
        (AttemptError(), "GEMINI_CLI_ERROR", ["it ended without a readable answer"]),
    ],
    ids=repr,
)
def test_a_failure_has_its_code_and_its_advice(error: AttemptError, code: str, words: list[str]) -> None:
    final = tool_error(classify(error), attempts=3, models=("pro", ""), environ={})

    assert final.code == code
    assert [word for word in words if word not in final.message] == []
    assert ("Login with Google" in final.message) == (error.status == 401)
    assert (final.details["attempts"], final.details["models"]) == (3, ["pro", "auto"])


def test_the_automatic_choice_is_suggested_only_if_it_was_not_tried() -> None:
    failure = classify(AttemptError(status=404))
    suggested = [
        "leave the choice" in tool_error(failure, models=models, environ={}).message
        for models in (("pro",), ("",), ("pro", ""))
    ]

    assert suggested == [True, False, False]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at line 404: 429 Too Many Requests", "at line 404: 429 Too Many Requests"),
        ("at run (x.js:4:2)\n    at node:internal/x:5:3", "at run (x.js:4:2)\n    at node:internal/x:5:3"),
        (f"oh {KEY} hunter2hunter2\n    at a.js:1:2", "oh [redacted] [redacted]"),
    ],
    ids=["not a stack line", "only a stack", "secrets"],
)
def test_the_details_show_error_output_without_stack_lines_and_secrets(text: str, shown: str) -> None:
    final = tool_error(classify(AttemptError(text, exit_code=1)), environ={"MY_TOKEN": "hunter2hunter2"})

    assert final.details["stderr"] == shown
    assert KEY not in final.message


def test_the_details_have_a_bounded_excerpt() -> None:
    details: dict[str, Any] = tool_error(classify(AttemptError("x " * 10_000)), environ={}).details

    assert len(details["stderr"]) <= MAX_EXCERPT_CHARS


@given(st.text() | st.text(alphabet='{}[]":,\\429errostatuc '), st.integers(-15, 255) | st.none())
def test_every_text_gives_a_message(text: str, exit_code: int | None) -> None:
    assert tool_error(classify(AttemptError(text, exit_code=exit_code)), environ={}).message


@pytest.mark.parametrize(
    "piece", ["a{[4\\", '{"code":', " at ", "(:1:1", "1s ", "retry in 1 ", "at <anonymous>", "\x1b["]
)
def test_a_long_text_takes_no_quadratic_time(piece: str) -> None:
    text = piece * 50_000

    without_stack(text)
    object_statuses(text)
    retry_after(text)
