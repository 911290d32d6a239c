from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench_research.redaction import REDACTED, excerpt, redact

KEY = "AIzaSyD-0123456789abcdefghijklmnopqrstu"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize("name", ["GEMINI_API_KEY", "MY_TOKEN", "client_secret", "DB_PASSWORD"])
def test_the_value_of_a_variable_named_like_a_secret_is_taken_out(name: str) -> None:
    assert redact("it said hunter2hunter2!", {name: "hunter2hunter2"}) == f"it said {REDACTED}!"


def test_short_values_and_other_variables_stay() -> None:
    assert redact("true at /home/someone", {"USE_TOKEN": "true", "HOME": "/home/someone"}) == "true at /home/someone"


def test_the_place_of_a_secret_is_none() -> None:
    assert redact("in /home/someone/.keys", {"KEY_DIR": "/home/someone/.keys"}) == "in /home/someone/.keys"
    assert redact("it is hunter2hunter2", {"KEY_FILE": "hunter2hunter2"}) == f"it is {REDACTED}"


def test_a_secret_that_holds_another_is_taken_out_whole() -> None:
    environ = {"A_KEY": "abcdefgh", "B_KEY": "abcdefgh-ijklmnop"}

    assert redact("<abcdefgh-ijklmnop>", environ) == f"<{REDACTED}>"


@given(st.text(min_size=8).filter(lambda text: len(text.strip()) >= 8))
def test_a_secret_is_found_in_its_forms_in_json_and_urls(secret: str) -> None:
    secret = secret.strip()
    for form in (secret, json.dumps(secret)[1:-1], quote(secret, safe="")):
        assert redact(f"<{form}>", {"THE_KEY": secret}) == f"<{REDACTED}>"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"key {KEY} refused", KEY),
        (f"https://x.example/v1?alt=sse&key={KEY}", KEY),
        ("https://x.example/?key=plainsecret&a=b", "plainsecret"),
        ("token ya29.a0AfH6SMBx-verysecret_123.x", "ya29.a0AfH6SMBx-verysecret_123.x"),
        ("refresh 1//0gabcdefghijklmnopqrstuvwxyz", "1//0gabcdefghijklmnopqrstuvwxyz"),
        ("Authorization: Bearer abcdefgh.ijkl-mnop", "abcdefgh.ijkl-mnop"),
        ("authorization: Token abcdef123456 x", "abcdef123456"),
        ("Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA=="),
        ("GOCSPX-abcdefghijklmnop", "GOCSPX-abcdefghijklmnop"),
        ('{"client_secret": "shhh-shhh-shhh"}', "shhh-shhh-shhh"),
        (json.dumps({"m": json.dumps({"refresh_token": "shhh-shhh-shhh"})}), "shhh-shhh-shhh"),
        ("OTHER_API_KEY=shhh-shhh-shhh", "shhh-shhh-shhh"),
        ("SOME_TOKEN=shhh-shhh-shhh", "shhh-shhh-shhh"),
        ("x-api-key: shhh-shhh-shhh", "shhh-shhh-shhh"),
        ("http://someone:shhh-shhh@proxy.example:8080", "shhh-shhh"),
        ("eyJhbGciOiJSUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl", "eyJzdWIiOiIxMjM0"),
        ("redis://:p4ss@tailAT@host/0", "tailAT"),
        ("http://someone:pa/rest-of-it@proxy.example:8080", "rest-of-it"),
        ("redis://host/0?password=shhh-shhh", "shhh-shhh"),
        ("Cookie: a=b; session=shhh-shhh", "shhh-shhh"),
        ("set-cookie: session=shhh-shhh; Secure", "shhh-shhh"),
        (json.dumps({"cookie": "session=shhh-shhh"}), "shhh-shhh"),
        ("AQ.Ab8RN6abcdefghijklmnopqrstuvwx refused", "AQ.Ab8RN6abcdefghijklmnopqrstuvwx"),
        (PEM, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
        (PEM[:50], PEM[28:50]),
        (json.dumps({"private_key": PEM}), "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"),
    ],
)
def test_a_text_that_looks_like_a_secret_is_redacted(text: str, secret: str) -> None:
    shown = redact(text, {})

    assert secret not in shown
    assert REDACTED in shown


@pytest.mark.parametrize(
    "text",
    [
        "HTTP 429: Resource has been exhausted (e.g. check quota).",
        "API key not valid. Please pass a valid API key.",
        "set GEMINI_API_KEY if using API key authentication",
        'Error: Unexpected token: something at {"total_tokens": 123456}',
        "http://localhost:8080/path@here",
        "http://localhost:8080?to=someone@example.com",
        "see FAQ.Something-that-is-long-enough_to-be-one",
        "input_tokens=1234567 Basic authentication",
    ],
)
def test_a_text_about_secrets_is_unchanged(text: str) -> None:
    assert redact(text, {}) == text


@given(st.text(max_size=300), st.integers(0, 100))
def test_an_excerpt_is_bounded_and_holds_no_piece_of_a_secret(text: str, most: int) -> None:
    shown = excerpt(f"{text}{KEY}{text}", {}, most)

    assert len(shown) <= max(most, 5)
    assert KEY[:12] not in shown


def test_redacting_much_text_without_spaces_takes_no_time_to_speak_of() -> None:
    for piece in ("a", "eyJ", "://", "sk-", "-----BEGIN ", "token=", "?key=", "a:", "password:"):
        redact(piece * 20_000, {"THE_KEY": "abcdefghij"})


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("HTTPS_PROXY", "http://someone:correct-horse@proxy.example:8080", "correct-horse"),
        ("WORKBENCH_STORE", "redis://:correct@horse-battery@h/0", "correct@horse-battery"),
        ("DATABASE_URL", "postgresql://u:correct/horse?battery@db.example/x", "correct/horse?battery"),
        ("DATABASE_URL", "postgresql://u:correct%2Fhorse@db.example/x", "correct/horse"),
        ("DATABASE_URL", "postgresql://u:correct%2Fhorse@db.example/x", "correct%2Fhorse"),
        ("WORKBENCH_STORE", "redis://h/0?password=correct-horse", "correct-horse"),
        ("INDEX_URL", "https://a-token-of-a-registry@pypi.example/simple", "a-token-of-a-registry"),
        ("REGISTRY_AUTH", "correct-horse", "correct-horse"),
        ("HTTP_AUTHORIZATION", "correct-horse", "correct-horse"),
        ("SOME_CREDENTIALS", "correct-horse", "correct-horse"),
        ("GEMINI_CLI_CUSTOM_HEADERS", "Accept: text/plain, Authorization: Bearer correct-horse", "correct-horse"),
        ("GEMINI_CLI_CUSTOM_HEADERS", "X-Api-Key: correct-horse", "correct-horse"),
        ("SITE_COOKIE", "a=b; session=correct-horse", "correct-horse"),
    ],
)
def test_a_secret_within_the_value_of_another_variable_is_taken_out_where_it_stands_alone(
    name: str, value: str, secret: str
) -> None:
    assert redact(f"<{secret}>", {name: value}) == f"<{REDACTED}>"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GIT_AUTHOR_NAME", "Ada Lovelace"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-1234/agent.1"),
        ("XAUTHORITY", "/home/ada/.Xauthority"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/ada/service.json"),
        ("GEMINI_DEFAULT_AUTH_TYPE", "oauth-personal"),
        ("PROXY_URL", "http://proxy.example:8080/path"),
    ],
)
def test_what_such_a_variable_names_that_is_no_secret_stays(name: str, value: str) -> None:
    assert redact(f"<{value}>", {name: value}) == f"<{value}>"
