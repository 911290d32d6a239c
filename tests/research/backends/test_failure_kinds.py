from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_research.backends.error_text import retry_after, statuses
from workbench_research.backends.failure_kinds import (
    MAX_EXCERPT_CHARS,
    NO_OUTPUT,
    NOT_READ_ONLY,
    AttemptError,
    classify,
    tool_error,
)

KEY = "AIzaSyD-0123456789abcdefghijklmnopqrstu"


def api_error(code: int, status: str, message: str = "It went wrong.") -> str:
    """Return an API error as the CLI prints it."""
    return f"[API Error: {json.dumps({'error': {'code': code, 'message': message, 'status': status}})}]"


def nested(code: int, status: str, message: str) -> str:
    """Return an API error inside the message of another error, as the CLI prints those of its own client."""
    inner = json.dumps({"error": {"code": code, "message": message, "status": status}}, indent=2)
    return (
        f"_ApiError: {json.dumps({'error': {'message': inner, 'code': code, 'status': 'Whatever'}})}\n    at x.js:4:2"
    )


def verdict(error: AttemptError | str) -> str:
    """Return kind and remedies, for example `quota retry next`. A text is the error output of exit code 1."""
    failure = classify(AttemptError(error, exit_code=1) if isinstance(error, str) else error)
    return f"{failure.kind}{' retry' * failure.is_retryable}{' next' * failure.try_next_model}"


BY_TEXT = {
    "transient retry": [
        "ETIMEDOUT",
        "ECONNRESET",
        "500",
        "socket hang up",
        "fetch failed",
        "TypeError: fetch failed",
        "timed out; see log line 400",
        "connect ECONNREFUSED 127.0.0.1:404",
        "getaddrinfo EAI_AGAIN generativelanguage.googleapis.com",
        "TimeoutError: the operation was aborted",
        "HTTP/1.1 502 Bad Gateway",
        "status: 504, took 400 ms",
        "upstream connect error: connection reset at 12:04:04",
        "[API Error: terminated]",
        "TypeError: terminated",
        "terminated",
        "net::ERR_INTERNET_DISCONNECTED",
    ],
    "transient retry next": [
        "model overloaded",
        "503 … id 1404xyz",
        "The model is overloaded. Please try again later.",
        "the model is overloaded.try again",
        "\x1b[31m503 Service Unavailable\x1b[0m",
        "This model is currently experiencing high demand. Try again later.",
        "at capacity (gaxios.js:404:11): 503 Service Unavailable",
    ],
    "quota retry next": [
        "429",
        "RESOURCE_EXHAUSTED",
        "429 Too Many Requests at gaxios.js:404:11",
        "oh\n    at file.js:404:12 RESOURCE_EXHAUSTED",
        f"[API Error: {json.dumps([{'error': {'code': 429, 'status': 'Whatever'}}], indent=2)}]\nPlease wait.",
    ],
    "quota next": [
        "402: Your prepayment credits are depleted.",
        "HTTP 402 Payment Required",
        "RESOURCE_EXHAUSTED: your prepayment credits are depleted",
        api_error(402, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
        api_error(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
        api_error(429, "RESOURCE_EXHAUSTED", "Quota exceeded for 'Requests per day per user per tier'"),
        "TerminalQuotaError: You have exhausted your daily quota on this model.",
    ],
    "model next": [
        "[API Error: models/X is not found for API version v1beta]",
        "[API Error: Requested entity was not found.]",
        "ModelNotFoundError: models/X is not found\n    at chunk-A.js:429:12 {\n  code: 404\n}",
        "error: invalid model selection: gemini-9",
        api_error(403, "PERMISSION_DENIED", "You do not have access to the model gemini-3-pro-preview."),
    ],
    "auth": [
        "401 Unauthorized",
        "HTTP 403 Forbidden",
        "Permission denied on resource project x",
        api_error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    ],
    "input": ["400 Bad Request", api_error(400, "INVALID_ARGUMENT")],
    "other": [
        "something odd happened",
        "the run was terminated by its user",
        "the connections pool is fine, requota is not a word",
        api_error(400, "FAILED_PRECONDITION", "Please enable billing."),
        "self-signed certificate in certificate chain; SELF_SIGNED_CERT_IN_CHAIN; fetch failed",
        "TypeError: fetch failed { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }",
        "request to https://x.example.org failed, reason: certificate has expired, CERT_HAS_EXPIRED",
        # Numbers and words in positions, stack lines, amounts and file names are not signs.
        "worker.py:503: nothing to see",
        "read 503 files in 429 ms, then stopped at line 500",
        "listening on localhost:429",
        "TypeError: x is undefined\n    at run (chunk-JDPZ4CE3.js:307292:12)\n    at 503 (x.js:5:3)",
        "TypeError: x\n  at new UNAVAILABLE (file:///home/u/a (b)/503 x.js:4:2) {\n  x: 1\n}",
        "TypeError: x\n  at async Promise.timeout (index 429)\n  at Map.quota [as timeout] (<anonymous>)",
        "SyntaxError: cannot parse /home/u/p/pages/429.tsx",
        "SyntaxError: cannot parse pages/429.tsx",
        "TypeError: bad thing in 503.html",
        "503.html is no page",
        "error 503.html",
        "error in (404.tsx)",
        "error in chunk-429.js",
        "cannot parse C:\\p\\pages\\503",
        "cannot parse '/home/u/my pages/429 of all.tsx'",
        "cannot parse pages/503 error",
        "/429 is no page",
        "error 503/index",
        "SyntaxError: cannot parse src/quota.ts",
        "SyntaxError: cannot parse notes/INTERNAL/UNAVAILABLE.md",
        "cannot parse posts/about-404",
    ],
    "not_found": [
        *(f"Error: ENOENT: no such file or directory, open '{name}'" for name in ("/home/u/404.tsx", "429.ts", "503")),
        "File not found: src/a b.ts",
    ],
    "permission": [
        "Error: listen EACCES: permission denied 127.0.0.1:80",
        "open /home/u/.gemini/cli.log: permission denied",
    ],
    "ignored": ["File path 'dist/app.js' is ignored by configured ignore patterns."],
}


@pytest.mark.parametrize(
    ("text", "expected"), [(text, expected) for expected, texts in BY_TEXT.items() for text in texts]
)
def test_error_output_is_classified_by_its_words_and_statuses(text: str, expected: str) -> None:
    assert verdict(text) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AttemptError("", exit_code=41), "auth"),
        (AttemptError("HTTP 429", exit_code=42), "input"),
        (AttemptError("sh: gemini: not found", exit_code=127), "launch"),
        (AttemptError("HTTP 404", timed_out=True), "transient retry"),
        (AttemptError("fetch failed", error_type=NOT_READ_ONLY), "other"),
        (AttemptError("fetch failed", error_type=NO_OUTPUT), "transient retry"),
        (AttemptError("", exit_code=0, error_type=NO_OUTPUT), "input"),
        (AttemptError("certificate has expired", status=503), "transient retry next"),
        (AttemptError("EACCES: permission denied, open '/x'", status=403), "auth"),
        (AttemptError("API key not valid.", status=400), "auth"),
        (AttemptError(api_error(429, "RESOURCE_EXHAUSTED"), status=400), "input"),
        (AttemptError("Please enable billing.", status=400, error_type="FAILED_PRECONDITION"), "other"),
        *((AttemptError("", exit_code=code), "other") for code in (-9, 0, 52, 53, 130, None)),
    ],
    ids=repr,
)
def test_exit_codes_and_reported_statuses_come_before_words(error: AttemptError, expected: str) -> None:
    assert verdict(error) == expected


@pytest.mark.parametrize(
    ("status", "name", "expected"),
    [
        (429, "RESOURCE_EXHAUSTED", "quota retry next"),
        (503, "UNAVAILABLE", "transient retry next"),
        (500, "INTERNAL", "transient retry"),
        (502, "UNKNOWN", "transient retry"),
        (504, "DEADLINE_EXCEEDED", "transient retry"),
        (401, "UNAUTHENTICATED", "auth"),
        (403, "PERMISSION_DENIED", "auth"),
        (404, "NOT_FOUND", "model next"),
        (400, "INVALID_ARGUMENT", "input"),
    ],
)
def test_a_status_decides_in_every_shape(status: int, name: str, expected: str) -> None:
    text = "Not found: 503 words of the prompt speak of a timeout and 429 files"
    errors = [
        AttemptError(text, status=status),
        AttemptError(api_error(status, name, text)),
        AttemptError(nested(status, name, text)),
        AttemptError(f"Attempt 1 failed with status {status}. Retrying with backoff... {nested(status, name, 'Oh.')}"),
        *([AttemptError(text, error_type=name), AttemptError(f"{name}: oh")] if name != "UNKNOWN" else []),
    ]

    assert [verdict(error) for error in errors] == [expected] * len(errors)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("error in chunk-404.js: 429", 429),
        ("503 while reading /home/u/p/pages/404.tsx", 503),
        ("GET /v1beta/models/x:generate 429", 429),
        ("https://example.org/v1/404: 503", 503),
        ("Request failed with 503.", 503),
        ("gave up after 429.Try again", 429),
        ("after 404 words: status 503", 503),
        ("some 404 of these, then (429) at last", 429),
        ("boom\nat line 404: 429 Too Many Requests", 429),
    ],
)
def test_a_status_is_found_beside_files_and_other_numbers(text: str, status: int) -> None:
    assert classify(AttemptError(text, exit_code=1)).reason == f"HTTP {status}"


def test_a_labelled_status_has_precedence_over_bare_numbers() -> None:
    assert statuses("404 of all, 429 of some; status 503") == (404, 503)
    assert statuses("some 404 of all; status: 503") == (503,)
    assert statuses("some 404 and 429 of all") == (404, 429)


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


def test_a_wait_that_the_run_reported_has_precedence_over_the_text() -> None:
    assert classify(AttemptError("Retry-After: 120", status=429, retry_after_s=3.0)).retry_after_s == 3.0
    assert classify(AttemptError("Retry-After: 120", status=429)).retry_after_s == 120.0


INVALID_KEY = ["it refused the API key that is set", "GEMINI_API_KEY"]


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (AttemptError("429"), "QUOTA_EXCEEDED", ["Gemini API quota exceeded for pro, the automatic choice"]),
        (AttemptError("429", retry_after_s=3.2), "QUOTA_EXCEEDED", ["in 4 s,"]),
        (AttemptError("429", retry_after_s=700), "QUOTA_EXCEEDED", ["in 12 minutes"]),
        (AttemptError("429", retry_after_s=86_400), "QUOTA_EXCEEDED", ["in 24 hours"]),
        (AttemptError("", exit_code=41), "AUTH_MISSING", ["Please run 'gemini' and select 'Login with Google'"]),
        (AttemptError("IneligibleTierError: oh", exit_code=1), "AUTH_MISSING", ["GEMINI_API_KEY", "paid"]),
        (
            AttemptError("This client is no longer supported for Gemini Code Assist for individuals.", exit_code=41),
            "AUTH_MISSING",
            ["GEMINI_API_KEY", "paid"],
        ),
        (AttemptError("ProjectIdRequiredError: oh", exit_code=1), "AUTH_MISSING", ["GOOGLE_CLOUD_PROJECT"]),
        (
            AttemptError("requires setting the GOOGLE_CLOUD_PROJECT", exit_code=41),
            "AUTH_MISSING",
            ["GOOGLE_CLOUD_PROJECT"],
        ),
        (AttemptError(api_error(400, "INVALID_ARGUMENT", "API key not valid.")), "AUTH_MISSING", INVALID_KEY),
        (AttemptError(api_error(400, "INVALID_ARGUMENT", "API key expired.")), "AUTH_MISSING", INVALID_KEY),
        (
            AttemptError(api_error(403, "PERMISSION_DENIED", "Your API key was reported as leaked.")),
            "AUTH_MISSING",
            INVALID_KEY,
        ),
        (AttemptError("404 model not found"), "GEMINI_CLI_ERROR", ["cannot use pro, the automatic choice"]),
        (AttemptError("404 model not found"), "GEMINI_CLI_ERROR", ["WORKBENCH_FLASH_MODELS"]),
        (AttemptError("fetch failed"), "GEMINI_CLI_ERROR", ["failed 3 times, at last with fetch failed"]),
        (AttemptError("400 bad request"), "GEMINI_CLI_ERROR", ["ask about fewer or smaller files"]),
        (AttemptError("", error_type=NO_OUTPUT), "GEMINI_CLI_ERROR", ["fewer or smaller files"]),
        (AttemptError("", exit_code=127), "GEMINI_CLI_ERROR", ["could not be started"]),
        (AttemptError("", exit_code=-9), "GEMINI_CLI_ERROR", ["ended by signal 9"]),
        (AttemptError("", exit_code=52), "GEMINI_CLI_ERROR", ["settings are invalid"]),
        (AttemptError("", exit_code=53), "GEMINI_CLI_ERROR", ["turn limit"]),
        (AttemptError("", exit_code=130), "GEMINI_CLI_ERROR", ["it was cancelled"]),
        (AttemptError("oh dear", exit_code=7), "GEMINI_CLI_ERROR", ["exit code 7", "in the details"]),
        (AttemptError("", error_type="FatalOddityError"), "GEMINI_CLI_ERROR", ["FatalOddityError"]),
        (AttemptError("loop detected"), "GEMINI_CLI_ERROR", ["the model repeated itself"]),
        (AttemptError("unable to get local issuer certificate"), "GEMINI_CLI_ERROR", ["NODE_EXTRA_CA_CERTS"]),
        *(
            (error, "GEMINI_CLI_ERROR", ["not available in your region", "Vertex AI"])
            for error in (
                AttemptError(api_error(400, "FAILED_PRECONDITION", "User location is not supported."), status=400),
                AttemptError("User location is not supported.", status=400, error_type="FAILED_PRECONDITION"),
                AttemptError("[API Error: User location is not supported for the API use.]", status=400),
            )
        ),
        (AttemptError("File not found: src/a b.ts", exit_code=1), "GEMINI_CLI_ERROR", ["File not found: src/a b.ts"]),
        (
            AttemptError("ENOENT: no such file or directory, open 'pages/500 error.html'", exit_code=1),
            "GEMINI_CLI_ERROR",
            ["File not found: pages/500 error.html"],
        ),
        *(
            (AttemptError(text, exit_code=1), "GEMINI_CLI_ERROR", ["denied access to", path])
            for text, path in (
                ("Error: EACCES: permission denied, open '/home/u/.gemini/x.json'", "/home/u/.gemini/x.json"),
                ("Error: EPERM: operation not permitted, rename '/x/a' -> '/x/b'", "/x/a;"),
                ("Error: EROFS: read-only file system, mkdir '/home/u/401'", "/home/u/401"),
                ("PermissionError: [Errno 13] Permission denied: '/x/403.json'", "/x/403.json"),
                ("open /home/u/.gemini/cli.log: permission denied", "/home/u/.gemini/cli.log"),
                ("Error: listen EACCES: permission denied 127.0.0.1:80", "in the details"),
            )
        ),
    ],
    ids=repr,
)
def test_a_failure_has_its_code_and_its_advice(error: AttemptError, code: str, words: list[str]) -> None:
    final = tool_error(classify(error), attempts=3, models=("pro", ""), environ={})

    assert final.code == code
    assert [word for word in words if word not in final.message] == []
    assert ("Login with Google" in final.message) == (error.exit_code == 41 and error.text == "")
    assert (final.details["attempts"], final.details["models"]) == (3, ["pro", "auto"])


def test_the_automatic_choice_is_suggested_only_if_it_was_not_tried() -> None:
    failure = classify(AttemptError("404 model not found"))
    suggested = [
        "leave the choice" in tool_error(failure, models=models, environ={}).message
        for models in (("pro",), ("",), ("pro", ""))
    ]

    assert suggested == [True, False, False]


def test_a_file_blocked_by_gitignore_gets_the_troubleshooting_text() -> None:
    text = "File path 'dist/app.js' is ignored by configured ignore patterns."
    final = tool_error(classify(AttemptError(text, exit_code=1)), environ={})

    assert final.message == "Gemini CLI could not access requested files (likely blocked by .gitignore)"
    assert final.details["stderr"] == text
    assert final.details["troubleshooting"].startswith("Your Gemini CLI respects .gitignore by default.")


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
def test_any_text_is_classified(text: str, exit_code: int | None) -> None:
    assert tool_error(classify(AttemptError(text, exit_code=exit_code)), environ={}).message


PIECES = [*"a{[4\\", '{"error":', "a.a", "a:1", " at ", "a/", "/a", "'/", "4.a", "a-", "EACCES", "open /a ", ":1"]


@pytest.mark.parametrize("piece", [*PIECES, "(:1:1", "1 ", "1s ", "retry in 1 ", '\\"code\\"', "at <anonymous>"])
def test_no_long_text_makes_an_expression_backtrack_without_end(piece: str) -> None:
    classify(AttemptError(piece * 50_000, exit_code=1))
